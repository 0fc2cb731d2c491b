"""An answer as bytes, ready to be sent, stored and sent again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True)
class Answer:
    """What a POST gives back: stored under its Idempotency-Key, it is replayed byte for byte."""

    status: int
    body: bytes
    location: str | None = None

    @classmethod
    def of(cls, body: Any, status: int = 200, location: str | None = None) -> Answer:
        return cls(status, dumps(body), location)


def dumps(value: Any) -> bytes:
    """JSON; times as RFC 3339 in UTC."""
    return orjson.dumps(value, option=orjson.OPT_UTC_Z)
