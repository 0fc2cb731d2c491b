"""Pages and their opaque cursors: where a listing goes on, signed so that nobody builds on what is inside.

A cursor is bound to its listing (`scope`): one of another study, workspace or filter is refused.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson

from service.errors import InvalidCursor
from service.storage.secrets import SharedSecret

TAG_BYTES = 16
Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    """Items of one page, and the last of them if more follow."""

    items: list[Item]
    last: Item | None

    @classmethod
    def of(cls, found: list[Item], limit: int) -> Page[Item]:
        """From up to limit + 1 items: the one too many says that there are more."""
        items = found[:limit]
        return cls(items, items[-1] if len(found) > limit else None)


class Cursors:
    """Makes and reads cursors with a secret that every replica shares."""

    def __init__(self, secret: SharedSecret) -> None:
        self._secret = secret

    def make(self, scope: list[Any], position: list[Any]) -> str:
        payload = orjson.dumps(position)
        return _encode(self._tag(scope, payload) + payload)

    def read(self, scope: list[Any], cursor: str | None) -> list[Any] | None:
        """The position, None for no cursor, or `InvalidCursor`."""
        if cursor is None:
            return None
        try:
            raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise _refused() from None
        tag, payload = raw[:TAG_BYTES], raw[TAG_BYTES:]
        if _encode(raw) != cursor or not hmac.compare_digest(tag, self._tag(scope, payload)):
            raise _refused()
        position: list[Any] = orjson.loads(payload)
        return position

    def _tag(self, scope: list[Any], payload: bytes) -> bytes:
        return hmac.digest(self._secret.value, orjson.dumps(scope) + b"\0" + payload, hashlib.sha256)[:TAG_BYTES]


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _refused() -> InvalidCursor:
    return InvalidCursor("use next_cursor as it was given, with the same listing and filters")
