"""What API keys look like on the wire."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict

from service.auth.keys import Role
from service.schemas import Received, Sent


class KeyRequest(Received):
    """A key for somebody, in the workspace of whoever asks for it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "night-shift", "role": "write"}]})

    name: str
    role: Role = "write"


class KeyOut(Sent):
    id: str
    name: str
    workspace: str
    role: Role
    created_at: datetime
    revoked_at: datetime | None


class NewKeyOut(KeyOut):
    """The only answer that holds the token."""

    token: str


class KeyList(Sent):
    keys: list[KeyOut]
