"""Every error as `application/problem+json`, whoever raised it."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from core.errors import Fault, InvalidObservation, InvalidPoint, InvalidProblem, NumericalError
from service.compute.jobs import Closed, ComputeFailed, Overloaded
from service.errors import Busy, Invalid, ModelFailed, NotReady, ServiceError, Unauthorized, problem

MEDIA_TYPE = "application/problem+json"
SHOWN_FAULTS = 50
# Tags of the two shapes a tell may have; they are how the schema tells them apart, not a place in the body.
UNION_TAGS = {"one result", "many results"}
FOREIGN = (
    InvalidProblem,
    InvalidPoint,
    InvalidObservation,
    NumericalError,
    Overloaded,
    Closed,
    ComputeFailed,
)
FRIENDLY = {"extra_forbidden": "unknown field", "missing": "missing"}


def response(error: ServiceError, request_id: str | None) -> Response:
    headers: dict[str, str] = {}
    if error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    if isinstance(error, Unauthorized):
        headers["www-authenticate"] = "Bearer"
    if error.status in (408, 413):  # the rest of the body is not read, so the connection is of no further use
        headers["connection"] = "close"
    return _render(error.status, error.problem(), request_id, headers)


def internal(request_id: str | None) -> Response:
    detail = "something went wrong on our side; the request id finds it in the server's log"
    return _render(500, problem(500, "internal_error", "Internal error", detail), request_id, {})


def _render(status: int, body: dict[str, Any], request_id: str | None, headers: Mapping[str, str]) -> Response:
    content = orjson.dumps(body | {"request_id": request_id})
    return Response(content, status, headers=headers, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Answer the exceptions of the framework, the core and the worker pool as our own."""
    app.add_exception_handler(ServiceError, _handler)
    app.add_exception_handler(RequestValidationError, _handler)
    app.add_exception_handler(HTTPException, _http_exception)
    for foreign in FOREIGN:
        app.add_exception_handler(foreign, _handler)


def _handler(request: Request, error: Exception) -> Response:
    return response(_as_service_error(error), request.scope.get("request_id"))


def _as_service_error(error: Exception) -> ServiceError:
    match error:
        case ServiceError():
            return error
        case RequestValidationError():
            return Invalid.of([_fault(e) for e in error.errors()[:SHOWN_FAULTS]])
        case InvalidProblem() | InvalidPoint() | InvalidObservation():
            return Invalid.of(error.faults[:SHOWN_FAULTS], "body")
        case Overloaded():
            return Busy(str(error), retry_after=error.retry_after)
        case ComputeFailed() | NumericalError():
            return ModelFailed(str(error), retry_after=10)
        case _:
            return NotReady(str(error))


def _fault(error: dict[str, Any]) -> Fault:
    loc = tuple(part for part in error["loc"] if part not in UNION_TAGS)
    msg: str = FRIENDLY.get(error["type"], error["msg"])
    return Fault(loc, msg.removeprefix("Value error, "))


def _http_exception(request: Request, error: Exception) -> Response:
    """Unknown routes and methods, which the framework raises."""
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    headers = {"allow": _allowed(request)} if status == HTTPStatus.METHOD_NOT_ALLOWED else error.headers
    code = {404: "not_found", 405: "method_not_allowed"}.get(status, "http_error")
    body = problem(status, code, status.phrase, f"{request.method} {request.url.path}: {status.phrase.lower()}")
    return _render(status, body, request.scope.get("request_id"), headers or {})


def _allowed(request: Request) -> str:
    """The methods of every route of this path; the framework names those of the first."""
    at_path = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return ", ".join(sorted({method for route in at_path for method in route.methods}))
