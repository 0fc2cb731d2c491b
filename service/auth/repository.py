"""API keys in the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, func, insert, select, update

from service.auth.keys import Key, Role
from service.storage.database import Transaction
from service.storage.tables import api_keys as table
from service.storage.types import utcnow


class KeyRepository:
    """Keys are added and revoked, never changed otherwise and never deleted."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def add(self, key_id: str, name: str, workspace: str, role: Role, secret_hash: bytes) -> Key:
        row = self._tx.execute(
            insert(table)
            .values(
                id=key_id,
                name=name,
                workspace=workspace,
                role=role,
                secret_hash=secret_hash,
                created_at=utcnow(),
            )
            .returning(table)
        ).one()
        return _key(row)

    def find(self, key_id: str) -> Key | None:
        row = self._tx.execute(select(table).where(table.c.id == key_id)).one_or_none()
        return None if row is None else _key(row)

    def all(self, workspace: str | None = None) -> list[Key]:
        query = select(table).order_by(table.c.created_at, table.c.id)
        if workspace is not None:
            query = query.where(table.c.workspace == workspace)
        return [_key(row) for row in self._tx.execute(query)]

    def revoke(self, key_id: str, workspace: str | None = None) -> bool:
        """False if there is no such key. Revoking again keeps the first time."""
        at = table.c.id == key_id
        if workspace is not None:
            at &= table.c.workspace == workspace
        moment = func.coalesce(table.c.revoked_at, utcnow())
        return self._tx.execute(update(table).where(at).values(revoked_at=moment)).rowcount > 0

    def count_valid(self) -> int:
        query = select(func.count()).select_from(table).where(table.c.revoked_at.is_(None))
        return self._tx.execute(query).scalar_one()


def _key(row: Row[Any]) -> Key:
    return Key(**row._asdict())
