"""/healthz, /readyz, /metrics: for whoever runs the service; they need no key and tell nothing of a study."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from service.errors import NotReady
from service.http.responses import json_response
from service.http.routing import Using, router
from service.metrics import CONTENT_TYPE
from service.schemas import Sent
from service.storage import schema

routes = router("operation", prefix="")
TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus text."}
}


class Health(Sent):
    status: str


class Readiness(Sent):
    status: str
    schema_version: str


@routes.get("/healthz", response_model=Health)
async def health() -> Response:
    """Whether the process answers at all."""
    return json_response({"status": "ok"})


@routes.get("/readyz", response_model=Readiness, responses={503: {}})
def readiness(use: Using) -> Response:
    """Whether the database can be read and written, and has the schema that this version needs."""
    current, needed = schema.current(use.database), schema.head()
    if current != needed:
        raise NotReady(f"the database has schema version {current}, {needed} is needed: run dumbo db upgrade")
    use.probe.check()
    return json_response({"status": "ready", "schema_version": current})


@routes.get("/metrics", response_class=Response, responses=TEXT)
def metrics(use: Using) -> Response:
    """For Prometheus."""
    return Response(use.metrics.render(), media_type=CONTENT_TYPE)
