"""Routers whose bodies are parsed strictly, and what routes have in common."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from service.http.body import PARSED, StrictRequest
from service.idempotency import service as idempotency
from service.idempotency.repository import Keyed
from service.services import Services

MAX_PAGE = 1000


class StrictRoute(APIRoute):
    """Gives FastAPI the body as the strict parser read it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict


def router(tag: str, prefix: str = "/v1") -> APIRouter:
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        route_class=StrictRoute,
        generate_unique_id_function=lambda route: route.name,  # the operation id, and a client's method
    )


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Using = Annotated[Services, Depends(_services)]
StudyRef = Annotated[str, Path(alias="study", description="The study's id or name.", examples=["press-line"])]
TrialNumber = Annotated[int, Path(alias="number", ge=0, le=2**31 - 1, description="The trial's number.")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="The most items to give.")]
Cursor = Annotated[str | None, Query(max_length=2000, description="`next_cursor` of the page before.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Of requests with the same key the first does the work; the others get its answer.",
    ),
]


def keyed(request: Request, workspace: str, key: str | None) -> Keyed | None:
    return idempotency.keyed(workspace, key, request.method, request.url.path, request.scope.get(PARSED))
