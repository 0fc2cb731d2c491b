"""A database of its own for whoever needs one outside of pytest, with the newest schema, gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.storage.schema import upgrade
from tests.support.postgres import postgres_server

KINDS = ("sqlite", "postgres")


@contextmanager
def fresh_database(kind: str) -> Iterator[str]:
    """The URL of an SQLite file, or of a database on a Postgres server of its own."""
    with _empty(kind) as url:
        upgrade(url)
        yield url


@contextmanager
def _empty(kind: str) -> Iterator[str]:
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="dumbo-db-") as home:
            yield f"sqlite:///{Path(home, 'dumbo.db')}"
        return
    with postgres_server() as server:
        name = server.create()
        yield server.url(name)
        server.drop(name)
