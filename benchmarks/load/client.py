"""An HTTP client that costs little: it runs on the same two cores as the server that it measures."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson


@dataclass(frozen=True)
class Reply:
    """An answer, and how long it took from the first byte sent to the last received."""

    status: int
    body: Any
    seconds: float


class Client:
    """One keep-alive connection, used by one task at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader, self._writer, self._host = reader, writer, host

    @classmethod
    async def open(cls, url: str) -> Client:
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=2**24)
        return cls(reader, writer, parts.netloc)

    async def call(self, method: str, path: str, body: Any = None) -> Reply:
        """One request. The body goes as JSON, and comes back as what JSON says."""
        payload = b"" if body is None else orjson.dumps(body)
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: {len(payload)}\r\n"
        if body is not None:
            head += "Content-Type: application/json\r\n"
        started = time.perf_counter()
        self._writer.write(f"{head}\r\n".encode() + payload)
        status, content = await self._receive()
        seconds = time.perf_counter() - started
        return Reply(status, orjson.loads(content) if content else None, seconds)

    async def _receive(self) -> tuple[int, bytes]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split(maxsplit=1)[0])
        return int(head.split(maxsplit=2)[1]), await self._reader.readexactly(length)

    async def get(self, path: str) -> Reply:
        return await self.call("GET", path)

    async def post(self, path: str, body: Any = None) -> Reply:
        return await self.call("POST", path, body)

    async def expect(self, method: str, path: str, body: Any = None) -> Any:
        """The body of an answer that must be a success."""
        reply = await self.call(method, path, body)
        if not 200 <= reply.status < 300:
            raise RuntimeError(f"{method} {path}: {reply.status} {reply.body}")
        return reply.body

    def close(self) -> None:
        self._writer.close()
