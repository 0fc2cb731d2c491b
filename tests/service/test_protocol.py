"""Clients that are slow, silent or speak no HTTP, against the real server."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.server import Server, running_server

SPEC = {
    "name": "s",
    "direction": "minimize",
    "parameters": [{"name": "x", "type": "float", "bounds": [0, 1]}],
}
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with little patience."""
    url = f"sqlite:///{tmp_path_factory.mktemp('protocol') / 'dumbo.db'}"
    with running_server(url, header_timeout=0.3, body_timeout=0.5) as server:
        yield server


@pytest.fixture
def connect(server: Server) -> Iterator[Callable[[], socket.socket]]:
    """Opens connections to the server, and closes them after the test."""
    host, port = server.url.removeprefix("http://").split(":")
    opened: list[socket.socket] = []

    def connect() -> socket.socket:
        opened.append(socket.create_connection((host, int(port)), timeout=30))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


def read_all(connection: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    return received


def problem(answer: bytes) -> dict[str, object]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    parsed: dict[str, object] = json.loads(body)
    return parsed


def test_half_sent_heads_are_closed_with_408(connect: Callable[[], socket.socket]) -> None:
    """Fifty clients that send half a head are answered and closed, and the server serves on."""
    slow = [connect() for _ in range(50)]
    for connection in slow:
        connection.sendall(GET)
    for connection in slow:
        answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert problem(answer)["code"] == "head_timeout"
    assert _get(connect()).startswith(b"HTTP/1.1 200")


def test_silent_connection_is_closed(connect: Callable[[], socket.socket]) -> None:
    """A client that connects and says nothing is closed without a word."""
    assert read_all(connect()) == b""


def test_second_head_on_a_connection_is_bounded_as_well(connect: Callable[[], socket.socket]) -> None:
    """After a good request the next may not be left half sent."""
    connection = connect()
    assert _get(connection).startswith(b"HTTP/1.1 200")
    connection.sendall(GET)
    assert read_all(connection).startswith(b"HTTP/1.1 408 ")


def _get(connection: socket.socket) -> bytes:
    """One whole answer, and not a byte of what follows it."""
    connection.sendall(GET + b"\r\n")
    with connection.makefile("rb", buffering=0) as lines:
        head = b"".join(iter(lambda: lines.readline(), b"\r\n"))
        length = int(head.lower().partition(b"content-length:")[2].split()[0])
        return head + b"\r\n" + b"".join(lines.read(1) or b"" for _ in range(length))


def test_half_sent_body_is_answered_with_408(connect: Callable[[], socket.socket]) -> None:
    """A body that does not arrive in time ends the request, not the server."""
    connection = connect()
    connection.sendall(
        b"POST /v1/studies HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
    )
    answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert problem(answer)["code"] == "body_timeout"


@pytest.mark.parametrize(
    "nonsense",
    [b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET\r\n\r\n", GET + b"Content-Length: -1\r\n\r\n"],
)
def test_what_is_no_http_is_refused(connect: Callable[[], socket.socket], nonsense: bytes) -> None:
    """A TLS hello, half a request line or a negative length is a 400 in the form of every other error."""
    connection = connect()
    connection.sendall(nonsense)
    answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert problem(answer)["code"] == "malformed_request"


def test_connections_beyond_the_limit_are_told_to_come_again(tmp_path: Path) -> None:
    """The one too many gets 503 and an end; as soon as another is closed there is room."""
    with running_server(f"sqlite:///{tmp_path / 'dumbo.db'}", max_connections=3, header_timeout=60) as server:
        host, port = server.url.removeprefix("http://").split(":")
        held = [socket.create_connection((host, int(port)), timeout=30) for _ in range(3)]
        for connection in held:
            assert _get(connection).startswith(b"HTTP/1.1 200")
        with socket.create_connection((host, int(port)), timeout=30) as extra:
            answer = read_all(extra)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in answer
        assert problem(answer)["code"] == "too_many_connections"
        assert all(_get(connection).startswith(b"HTTP/1.1 200") for connection in held)
        for connection in held:
            connection.sendall(GET + b"Connection: close\r\n\r\n")
            read_all(connection)
            connection.close()
        with socket.create_connection((host, int(port)), timeout=30) as again:
            assert _get(again).startswith(b"HTTP/1.1 200")


def test_client_that_does_not_read_is_dropped(server: Server, connect: Callable[[], socket.socket]) -> None:
    """An answer too large for the buffers, to a client that reads none of it, does not stay open for ever."""
    httpx.post(f"{server.url}/v1/studies", json=SPEC).raise_for_status()
    told = [{"parameters": {"x": i / 1000}, "value": 1.0} for i in range(1000)]
    for _ in range(3):
        httpx.post(f"{server.url}/v1/studies/s/tell", json={"results": told}, timeout=30).raise_for_status()
    connection = connect()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    request = b"GET /v1/studies/s/trials?limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n"
    connection.sendall(request * 40)
    connection.settimeout(60)
    with pytest.raises(ConnectionResetError):
        _wait_for_reset(connection)


def _wait_for_reset(connection: socket.socket) -> None:
    """Send until the kernel says that the other side is gone."""
    while True:
        connection.send(b" ")
