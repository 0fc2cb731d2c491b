"""Answers: JSON by orjson, and 304 for clients that have the newest already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from service.answers import Answer, dumps


def json_response(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(dumps(body), status, headers=headers, media_type="application/json")


def answered(answer: Answer) -> Response:
    headers = {"location": answer.location} if answer.location else None
    return Response(answer.body, answer.status, headers=headers, media_type="application/json")


def conditional(request: Request, etag: str, build: Callable[[], Any]) -> Response:
    """The body with its ETag, or 304 without building it where the client has it."""
    headers = {"etag": etag, "cache-control": "private, no-cache"}
    given = request.headers.get("if-none-match", "")
    if any(tag.strip().removeprefix("W/") == etag for tag in given.split(",")):
        return Response(status_code=304, headers=headers)
    return json_response(build(), headers=headers)
