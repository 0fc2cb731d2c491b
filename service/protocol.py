"""HTTP/1.1 as uvicorn speaks it, with an end to a client's slowness.

uvicorn waits for ever for the head of a request and for a client that does not read its answer; a few
hundred such connections would use up the process. Here a head must be complete within `head_seconds` of its
first byte (or of the connection), and a client must read on within `read_seconds`. Bodies are bounded where
they are read. Beyond `max_connections` a client is told to come again, so that open files are left for the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import h11
import orjson
from uvicorn.protocols.http.h11_impl import H11Protocol

from service.errors import problem


class Timer:
    """Runs an action after some seconds, unless it is stopped before. Starting it twice changes nothing."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, action: Callable[[], None]) -> None:
        self._loop, self._seconds, self._action = loop, seconds, action
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        if self._handle is None:
            self._handle = self._loop.call_later(self._seconds, self._action)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class BoundedProtocol(H11Protocol):
    """Closes connections that take too long, or are too many. Subclassed by `bounded` with the limits."""

    head_seconds: float
    read_seconds: float
    max_connections: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = Timer(self.loop, self.head_seconds, self._head_is_late)
        self._read = Timer(self.loop, self.read_seconds, lambda: self.transport.abort())

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            detail = f"{self.max_connections} connections are open already"
            self._refuse(503, "too_many_connections", "Too many connections", detail, [("retry-after", "1")])
            self.transport.close()
        else:
            self._head.start()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head.stop()
        elif self.conn.trailing_data[0]:
            self._head.start()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head.stop()
        self._read.stop()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read.start()

    def resume_writing(self) -> None:
        self._read.stop()
        super().resume_writing()

    def _head_is_late(self) -> None:
        """Say so if a request had begun; a connection on which nothing came is just closed."""
        if self.transport.is_closing():
            return
        if self.conn.trailing_data[0]:
            detail = f"the request's head was not complete after {self.head_seconds:g} s"
            self._refuse(408, "head_timeout", "The request did not arrive in time", detail)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "malformed_request", "Not an HTTP request", msg)
        self.transport.close()

    def _refuse(
        self, status: int, code: str, title: str, detail: str, more_headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return  # part of an answer is out already
        body = orjson.dumps(problem(status, code, title, detail))
        headers = [
            ("content-type", "application/problem+json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
            *more_headers,
        ]
        for event in (h11.Response(status_code=status, headers=headers), h11.Data(body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")


def bounded(head_seconds: float, read_seconds: float, max_connections: int) -> type[BoundedProtocol]:
    """The protocol with these limits; uvicorn makes one instance for each connection."""
    limits = {"head_seconds": head_seconds, "read_seconds": read_seconds, "max_connections": max_connections}
    return type("BoundedProtocol", (BoundedProtocol,), limits)
