"""Bodies: read whole before the route runs, within a size and a time, and parsed strictly.

The parsed value goes along in the scope (`parsed_json`); `StrictRequest` gives it to FastAPI.
"""

from __future__ import annotations

import asyncio
from typing import Any

from anyio import to_thread
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import BodyTimeout, BodyTooLarge, NotJson
from service.http.strict_json import parse

WITH_BODY = {"POST", "PUT", "PATCH"}
PARSED = "dumbo.json"
# Parsing more than this on the event loop would be felt by other requests.
SMALL = 64 * 1024


class StrictRequest(Request):
    """A request whose JSON is what the strict parser made of it."""

    async def json(self) -> Any:
        return self.scope[PARSED]


class Bodies:
    """ASGI middleware: 413, 408, 415 and malformed JSON are settled here."""

    def __init__(self, app: ASGIApp, *, max_bytes: int, max_depth: int, timeout: float) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self.max_depth = max_depth
        self.timeout = timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in WITH_BODY:
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        body = await self._read(headers, receive)
        if body is None:  # the client is gone
            return
        if body:
            if headers.get(b"content-encoding", b"identity").lower() != b"identity":
                raise NotJson("send the body as it is: compressed ones are not taken")
            if not _is_json(headers.get(b"content-type", b"")):
                raise NotJson("send the body as JSON, with the header 'Content-Type: application/json'")
            scope[PARSED] = await self._parse(body)
        await self.app(scope, _replay(body, receive), send)

    async def _read(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        if int(headers.get(b"content-length", b"0")) > self.max_bytes:
            raise self._too_large()
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    if size > self.max_bytes:
                        raise self._too_large()
                    chunks.append(chunk)
                    if not message.get("more_body", False):
                        return b"".join(chunks)
        except TimeoutError:
            raise BodyTimeout(f"the body did not arrive within {self.timeout:g} s") from None

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge(f"the body may have at most {self.max_bytes} bytes")

    async def _parse(self, body: bytes) -> Any:
        if len(body) <= SMALL:
            return parse(body, max_depth=self.max_depth)
        return await to_thread.run_sync(lambda: parse(body, max_depth=self.max_depth))


def _is_json(content_type: bytes) -> bool:
    kind = content_type.split(b";")[0].strip().lower()
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the whole body once, then what the client does after it."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
