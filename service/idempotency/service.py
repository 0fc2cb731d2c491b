"""Doing a write once per Idempotency-Key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson

from service.answers import Answer
from service.errors import Invalid
from service.idempotency.repository import IdempotencyRepository, Keyed
from service.storage.database import Database, Transaction

MAX_KEY = 255


def keyed(workspace: str, key: str | None, method: str, path: str, body: Any) -> Keyed | None:
    """What identifies a request; None for one without an Idempotency-Key. Whitespace and key order do not
    count.
    """
    if key is None:
        return None
    if not (1 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        raise Invalid.at("header", "Idempotency-Key", msg=f"expected 1 to {MAX_KEY} printable ASCII characters")
    canonical = orjson.dumps([method, path, body], option=orjson.OPT_SORT_KEYS)
    return Keyed(workspace, key, hashlib.sha256(canonical).hexdigest())


def once(database: Database, keyed: Keyed | None, work: Callable[[Transaction], Answer]) -> Answer:
    """Run `work` in one write transaction, or replay what it answered before. Only its success is stored."""
    with database.write() as tx:
        if keyed is None:
            return work(tx)
        repository = IdempotencyRepository(tx)
        if (stored := repository.claim(keyed)) is not None:
            return stored
        answer = work(tx)
        repository.fill(keyed, answer)
        return answer


def forget_old(database: Database, hours: float) -> int:
    with database.write() as tx:
        return IdempotencyRepository(tx).forget(timedelta(hours=hours))
