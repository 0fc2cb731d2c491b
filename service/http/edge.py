"""The outermost layer: a request id, the security headers, the access log, the metrics, and no error
unanswered.

An exception that nobody handled becomes a 500 with the request id and nothing else; its trace goes to the
log.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

import structlog
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import CrossOrigin, NotFound, ServiceError
from service.http import problems
from service.metrics import Metrics

log = structlog.get_logger("dumbo.http")

ACCEPTED_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
DEFAULT_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cache-control": b"no-store",
}
QUIET = {"/healthz", "/readyz", "/metrics"}


class Edge:
    """ASGI middleware around everything else."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, check_origin: bool) -> None:
        self.app = app
        self.metrics = metrics
        self.check_origin = check_origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        request_id = _request_id(headers.get(b"x-request-id"))
        scope["request_id"] = request_id
        started = time.perf_counter()
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _completed(message.get("headers", ()), request_id)
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                self._check(scope, headers)
                await self.app(scope, receive, send_with_headers)
            except Exception as error:
                answer = _answer(error, request_id)
                if status:  # part of an answer is out: end the connection rather than pretend it is whole
                    raise
                await answer(scope, receive, send_with_headers)
            finally:
                self._record(scope, status, time.perf_counter() - started)

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        if "\0" in scope["path"]:  # Postgres cannot even look for such a name
            raise NotFound("there is nothing whose name holds a NUL character")
        if self.check_origin:
            _refuse_other_origins(headers)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unmatched")
        self.metrics.request(scope["method"], route, status, seconds)
        if scope["path"] not in QUIET:
            log.info(
                "request",
                method=scope["method"],
                path=scope["path"],
                status=status,
                seconds=round(seconds, 4),
            )


def _completed(headers: Iterable[tuple[bytes, bytes]], request_id: str) -> list[tuple[bytes, bytes]]:
    """The answer's headers, with a default for each that it does not set itself."""
    own = list(headers)
    names = {name for name, _ in own}
    own += [(name, value) for name, value in DEFAULT_HEADERS.items() if name not in names]
    return [*own, (b"x-request-id", request_id.encode())]


def _request_id(given: bytes | None) -> str:
    """The caller's own id where it is harmless, so that its logs and ours can be joined."""
    if given is not None and ACCEPTED_ID.fullmatch(given):
        return given.decode()
    return secrets.token_hex(8)


def _refuse_other_origins(headers: dict[bytes, bytes]) -> None:
    """Without API keys, a page of any site could otherwise make its visitor's browser call this server."""
    origin = headers.get(b"origin")
    if origin is not None and _host(origin) != headers.get(b"host"):
        raise CrossOrigin("this server needs no API key, so it answers no page of another origin")


def _host(origin: bytes) -> bytes:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # half an IPv6 address, for one
        return b""


def _answer(error: Exception, request_id: str) -> Response:
    if isinstance(error, ServiceError):
        return problems.response(error, request_id)
    log.exception("unhandled", exc_info=error)
    return problems.internal(request_id)
