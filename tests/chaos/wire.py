"""What is no HTTP, or nearly, with hypothesis: sent as raw bytes to the real server."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.properties import Property, tried
from tests.chaos.report import Finding
from tests.support.databases import fresh_database
from tests.support.server import Server, running_server

EXAMPLES = 5_000  # at scale 1
REQUEST = (
    b"POST /v1/studies HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
    b"Idempotency-Key: k\r\nConnection: close\r\n\r\n{}"
)
http_pieces = st.sampled_from(
    [
        *(
            b"\r\n",
            b"\n",
            b"\r",
            b"\0",
            b" ",
            b":",
            b"Content-Length: 5\r\n",
            b"Transfer-Encoding: chunked\r\n",
            b"\xff",
        ),
        *(
            b"HTTP/0.9",
            b"HTTP/9.9",
            b"%",
            b"%00",
            b"//",
            b"?",
            b"#",
            b"\t",
            b"Expect: 100-continue\r\n",
            b"Upgrade: x\r\n",
        ),
    ]
)


@contextmanager
def http_is_answered_or_closed(server: Server) -> Iterator[Property]:
    """Any bytes get an answer below 500 or an end of the connection, and the next client is served."""
    host, port = server.url.removeprefix("http://").split(":")

    @given(st.lists(st.tuples(st.integers(0, len(REQUEST)), http_pieces | st.binary(max_size=4)), max_size=4))
    def property_(changes: list[tuple[int, bytes]]) -> None:
        request = REQUEST
        for at, piece in changes:
            request = request[:at] + piece + request[at:]
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            answer = _received(connection)
        assert all(status < b"5" for status in re.findall(rb"HTTP/1\.1 (\d)", answer)), answer

    yield property_


def _received(connection: socket.socket) -> bytes:
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass  # it does not read to the end what it has refused
    return received


def findings(scale: float) -> Iterator[Finding]:
    with (
        fresh_database("sqlite") as url,
        running_server(url) as server,
        http_is_answered_or_closed(server) as test,
    ):
        yield tried("raw bytes in place of HTTP", "sqlite", test, max(10, int(EXAMPLES * scale)))
