"""The role a route needs, as a dependency. Every route under /v1 has one; a test walks the app and checks."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Request

from service.auth.keys import ANYONE, Principal, Role
from service.auth.service import authenticate
from service.errors import Forbidden, Unauthorized
from service.services import Services


class Requires:
    """Depends on a principal of at least this role."""

    def __init__(self, role: Role) -> None:
        self.role = role

    async def __call__(self, request: Request) -> Principal:
        services: Services = request.app.state.services
        if not services.settings.auth_required:
            return ANYONE
        token = _bearer(request)
        # The database is asked on every request: a key is worth nothing from the moment it is revoked.
        principal = await to_thread.run_sync(authenticate, services.database, token)
        if not principal.may(self.role):
            raise Forbidden(f"this needs a key of role {self.role}; this one may {principal.role}")
        return principal


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized("send an API key: 'Authorization: Bearer dumbo_...'")
    return token.strip()


Reader = Annotated[Principal, Depends(Requires("read"))]
Writer = Annotated[Principal, Depends(Requires("write"))]
Admin = Annotated[Principal, Depends(Requires("admin"))]
