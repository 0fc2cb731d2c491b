"""/v1/keys: an admin's keys for its own workspace. (The operator's way is `dumbo keys`.)

A key is made without an Idempotency-Key: its token is shown once and stored nowhere, so there is nothing to
replay.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Response

from service.auth import service
from service.auth.dependencies import Admin
from service.auth.keys import Key
from service.auth.schemas import KeyList, KeyRequest, NewKeyOut
from service.http.responses import json_response
from service.http.routing import Using, router

routes = router("keys")


@routes.post("/keys", status_code=201, response_model=NewKeyOut)
def create_key(body: KeyRequest, who: Admin, use: Using) -> Response:
    """Make an API key for this workspace. The token is shown this once."""
    key, token = service.create_key(use.database, body.name, who.workspace, body.role)
    return json_response(_view(key) | {"token": token}, 201)


@routes.get("/keys", response_model=KeyList)
def list_keys(who: Admin, use: Using) -> Response:
    """List the API keys of this workspace."""
    return json_response({"keys": [_view(key) for key in service.list_keys(use.database, who.workspace)]})


@routes.delete("/keys/{key}", status_code=204, responses={404: {}})
def revoke_key(key_id: Annotated[str, Path(alias="key")], who: Admin, use: Using) -> Response:
    """Revoke an API key; it is refused from the next request on."""
    service.revoke_key(use.database, key_id, who.workspace)
    return Response(status_code=204)


def _view(key: Key) -> dict[str, Any]:
    return {name: value for name, value in vars(key).items() if name != "secret_hash"}
