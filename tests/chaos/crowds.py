"""Clients that send half a request, read nothing, or just sit there, thousands at a time, beside one that works.

Each of them must be answered or closed within its timeout, the files they held must be free again, and the one that
works must be served again, if not all the while.
"""

from __future__ import annotations

import os
import resource
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.chaos.outage import Witness, finding, witness
from tests.chaos.report import Finding
from tests.support.databases import fresh_database
from tests.support.server import Server, running_server

# What each client of a crowd sends before it falls silent, and how many of them there are.
HEAD = b"GET /v1/studies HTTP/1.1\r\nHost: x\r\n"
BODY = b"POST /v1/studies HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"
CROWDS = {
    "idle connections": (b"", 10_000),
    "half-sent heads": (HEAD, 2_000),
    "half-sent bodies": (BODY, 2_000),
}
OWN_FILES = 256  # of this process, beside the crowd
TIMEOUT = 5  # seconds a client may take


def findings(scale: float) -> Iterator[Finding]:
    for what, (sent, count) in CROWDS.items():
        with fresh_database("sqlite") as url:
            yield crowded(what, sent, max(20, round(count * scale)), url)


def crowded(what: str, sent: bytes, count: int, url: str) -> Finding:
    """One crowd, from its coming until the last of it is gone."""
    started = time.monotonic()
    with (
        running_server(url, header_timeout=TIMEOUT, body_timeout=TIMEOUT) as server,
        witness(server.url) as client,
        room_for(count) as most,
    ):
        client.expect("a tell before", client.tell())
        before = open_files(server)
        crowd = [_join(server, sent) for _ in range(most)]
        _see_off(crowd, client)
        client.recovers()
        client.until("all its files free again", lambda: open_files(server) <= before + 8)
    found = finding(what, "sqlite", 1, started, client)
    return Finding(found.what, found.database, f"{most:,} clients at once", found.lost, found.seconds, found.detail)


def open_files(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


@contextmanager
def room_for(count: int) -> Iterator[int]:
    """Let this process open so many connections, or as many as the system allows; how many."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = count + OWN_FILES if before[1] == resource.RLIM_INFINITY else min(count + OWN_FILES, before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, before[0]), before[1]))
    try:
        yield files - OWN_FILES
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _join(server: Server, sent: bytes) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    with suppress(BrokenPipeError, ConnectionResetError):  # one too many, and closed before it could say a word
        connection.sendall(sent)
    connection.setblocking(False)
    return connection


def _see_off(crowd: list[socket.socket], client: Witness) -> None:
    """Wait until the server has closed every connection of the crowd."""
    waiting = select.poll()
    by_file = {connection.fileno(): connection for connection in crowd}
    for file in by_file:
        waiting.register(file, select.POLLIN)
    give_up = time.monotonic() + 120
    while by_file and time.monotonic() < give_up:
        for file, _ in waiting.poll(1000):
            if _is_closed(by_file[file]):
                waiting.unregister(file)
                by_file.pop(file).close()
    client.expect(f"{len(by_file)} connections were never closed", not by_file)
    for connection in by_file.values():
        connection.close()


def _is_closed(connection: socket.socket) -> bool:
    try:
        return os.read(connection.fileno(), 65536) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
