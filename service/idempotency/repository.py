"""Stored answers, by workspace and Idempotency-Key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select, update

from service.answers import Answer
from service.errors import IdempotencyReused
from service.storage.database import Transaction, insert, now
from service.storage.tables import idempotency_keys as table
from service.storage.types import utcnow


@dataclass(frozen=True)
class Keyed:
    """A request that carries an Idempotency-Key, with the fingerprint of what it asks for."""

    workspace: str
    key: str
    fingerprint: str


class IdempotencyRepository:
    """Claims a key and fills in its answer, both in the caller's transaction.

    A claim of a key that another open transaction has claimed waits until that one ends (Postgres by the
    unique index, SQLite by its single writer). So of any number of identical requests, one does the work.
    """

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def find(self, keyed: Keyed) -> Answer | None:
        """The stored answer, or `IdempotencyReused` where the key belongs to another request."""
        at = (table.c.workspace == keyed.workspace) & (table.c.key == keyed.key)
        row = self._tx.execute(select(table).where(at)).one_or_none()
        if row is None:
            return None
        if row.fingerprint != keyed.fingerprint:
            raise IdempotencyReused("use a new Idempotency-Key for a different request")
        return Answer(row.status, row.body, row.location)

    def claim(self, keyed: Keyed) -> Answer | None:
        """None if the key is now ours to fill, else the stored answer."""
        claimed = self._tx.execute(
            insert(self._tx, table)
            .values(
                workspace=keyed.workspace,
                key=keyed.key,
                fingerprint=keyed.fingerprint,
                status=0,
                body=b"",
                created_at=utcnow(),
            )
            .on_conflict_do_nothing()
            .returning(table.c.key)
        ).one_or_none()
        return self.find(keyed) if claimed is None else None

    def fill(self, keyed: Keyed, answer: Answer) -> None:
        at = (table.c.workspace == keyed.workspace) & (table.c.key == keyed.key)
        values = {"status": answer.status, "body": answer.body, "location": answer.location}
        self._tx.execute(update(table).where(at).values(values))

    def forget(self, older_than: timedelta) -> int:
        """Drop old answers; returns how many."""
        return self._tx.execute(delete(table).where(table.c.created_at < now(self._tx) - older_than)).rowcount
