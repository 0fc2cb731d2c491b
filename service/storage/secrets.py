"""Random secrets that all replicas share: made by whoever needs one first, kept in the database."""

from __future__ import annotations

import secrets
from functools import cached_property

from sqlalchemy import select

from service.storage.database import Database, insert
from service.storage.tables import secrets as table


class SharedSecret:
    """256 random bits under a name, read when first needed: at start the schema may not be there yet."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name

    @cached_property
    def value(self) -> bytes:
        query = select(table.c.value).where(table.c.name == self._name)
        with self._database.read() as tx:
            if (found := tx.execute(query).scalar_one_or_none()) is not None:
                return bytes(found)
        with self._database.write() as tx:
            new = insert(tx, table).values(name=self._name, value=secrets.token_bytes(32))
            tx.execute(new.on_conflict_do_nothing())
            return bytes(tx.execute(query).scalar_one())
