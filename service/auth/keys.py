"""API keys: 256 random bits, shown once, kept as a SHA-256.

A token reads `dumbo_<id>_<secret>`. The id finds the row, the hash of the whole token is compared in constant
time. A slow password hash would buy nothing: nobody guesses 256 random bits.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

Role = Literal["read", "write", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)  # each may do what those before it may
DEFAULT_WORKSPACE = "default"
PREFIX = "dumbo"


@dataclass(frozen=True)
class Principal:
    """Who a request acts for."""

    workspace: str
    role: Role

    def may(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


ANYONE = Principal(DEFAULT_WORKSPACE, "admin")  # who calls while keys are off


@dataclass(frozen=True)
class Key:
    """What is known of an API key; the secret is not."""

    id: str
    name: str
    workspace: str
    role: Role
    secret_hash: bytes
    created_at: datetime
    revoked_at: datetime | None

    def admits(self, token: str) -> bool:
        return hmac.compare_digest(self.secret_hash, digest(token)) and self.revoked_at is None


def new_id() -> str:
    return base64.b32encode(secrets.token_bytes(10)).decode().lower()


def new_token(key_id: str) -> str:
    return f"{PREFIX}_{key_id}_{secrets.token_urlsafe(32)}"


def id_of(token: str) -> str | None:
    """The id inside a token; None if it has not the shape of one."""
    prefix, _, rest = token.partition("_")
    key_id, _, secret = rest.partition("_")
    return key_id if prefix == PREFIX and key_id and secret else None


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
