"""The OpenAPI document: what FastAPI derives from the routes, and the error answers they share."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from service.auth.dependencies import Requires
from service.auth.keys import Role
from service.links import add_links
from service.schemas import ErrorOut, ProblemOut

DESCRIPTION = """\
Bayesian optimization as an ask/tell service that finds and uses the additive structure of the objective.

Create a study, `ask` for trials, evaluate them, `tell` the results, repeat. All state is in the database:
any replica answers any request. Errors are `application/problem+json` with a stable `code`.
"""
MEANINGS = {
    304: "What the client has (If-None-Match) is the newest.",
    400: "The body is not JSON, or the cursor is not of this listing.",
    401: "No API key, or none that is valid.",
    403: "The API key's role does not allow this.",
    404: "There is no such thing here.",
    408: "The body did not arrive in time.",
    409: "It conflicts with what is stored; `code` says how.",
    413: "The body is too large.",
    415: "The body is not declared as JSON.",
    422: "Well-formed, and wrong; `errors` says what to change.",
    500: "Our fault; `request_id` finds it in the log.",
    503: "Busy or not ready; try again after `Retry-After` seconds.",
}
EVERYWHERE = (500, 503)
WITH_KEY = (401, 403)
WITH_BODY = (400, 408, 413, 415, 422)
PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
METHODS = {"get", "post", "put", "patch", "delete"}


def spec(app: FastAPI) -> dict[str, Any]:
    """The document that /openapi.json serves and `dumbo openapi` prints."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=version("dumbo-service"),
            summary="Bayesian optimization over plain HTTP.",
            description=DESCRIPTION,
            routes=app.routes,
        )
        _complete(document, {route.unique_id: _role(route) for route in app.routes if isinstance(route, APIRoute)})
        app.openapi_schema = orjson.loads(orjson.dumps(document))  # no part shared, so YAML needs no anchors
    assert app.openapi_schema is not None
    return app.openapi_schema


def _role(route: APIRoute) -> Role | None:
    """The least role that a route asks for; None for one that is open to everyone."""
    asked = [d.call.role for d in route.dependant.dependencies if isinstance(d.call, Requires)]
    return asked[0] if asked else None


def _complete(document: dict[str, Any], roles: dict[str, Role | None]) -> None:
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for model in (ErrorOut, ProblemOut):
        schemas[model.__name__] = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas[model.__name__].pop("$defs", None)
    components["securitySchemes"] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key, where the server asks for one.",
        }
    }
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    for operations in document["paths"].values():
        for method in METHODS & operations.keys():
            _complete_operation(operations[method], roles.get(operations[method]["operationId"]))
    add_links(ops[method] for ops in document["paths"].values() for method in ops if method in METHODS)


def _complete_operation(operation: dict[str, Any], role: Role | None) -> None:
    responses = operation["responses"]
    expected = {int(status) for status in responses} | set(EVERYWHERE)
    if role is not None:
        operation["security"] = [{"key": []}, {}]
        operation["x-required-role"] = role
        expected |= set(WITH_KEY)
    if "requestBody" in operation:
        expected |= set(WITH_BODY)
    if any(parameter["name"] == "cursor" for parameter in operation.get("parameters", ())):
        expected.add(400)
    for status in expected & MEANINGS.keys():
        content = {} if status == 304 else {"content": PROBLEM}
        responses[str(status)] = {"description": MEANINGS[status], **content}
    operation["responses"] = dict(sorted(responses.items()))
