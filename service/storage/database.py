"""Connections and transactions, on SQLite and on Postgres.

The contract, the same on both:

- `read()` is one consistent snapshot that never blocks a writer; `write()` is one transaction that commits
  when its block ends and rolls back when it raises. Both may be used from any thread; a transaction belongs
  to one thread.
- A writer that changes a study first takes its row with `StudyRepository.lock`. Writers of one study then
  follow each other, so read-modify-write inside a transaction is safe.
- What the database cannot serve now (locked for too long, gone away) is `StorageUnavailable`, and nothing was
  written.

SQLite has one writer connection per process (`BEGIN IMMEDIATE`; between processes the busy timeout orders
them) and a pool of readers. `synchronous=FULL`: an answer that was given survives a power cut.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeAlias

import orjson
from sqlalchemy import Connection, Engine, Table, create_engine, event, make_url, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from service.errors import StorageUnavailable
from service.storage.types import utcnow

Transaction: TypeAlias = Connection

BUSY_SECONDS = 15
READERS = 16
_NOW = select(utcnow())


class Database:
    """The connections of one process to one database."""

    def __init__(self, url: str) -> None:
        self.url = normalized(url)
        self.dialect = self.url.get_backend_name()
        if self.dialect == "sqlite":
            self._writer = _sqlite_engine(self.url, "BEGIN IMMEDIATE", readonly=False, pool_size=1)
            self._reader = _sqlite_engine(self.url, "BEGIN", readonly=True, pool_size=READERS)
        else:
            self._writer = _engine(self.url, pool_size=READERS, connect_args=_impatience(self.url))
            self._reader = self._writer.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """One consistent snapshot."""
        with _translated(), self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """One transaction; all of it, or on an exception nothing."""
        with _translated(), self._writer.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        self._reader.dispose()
        self._writer.dispose()


def normalized(url: str) -> URL:
    """The URL with the driver we use: psycopg 3 for any spelling of Postgres."""
    parsed = make_url(url)
    if parsed.get_backend_name() in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() != "sqlite":
        raise ValueError("the database URL must begin with sqlite:/// or postgresql://")
    if parsed.database in (None, "", ":memory:"):
        raise ValueError("SQLite needs a file: sqlite:///dumbo.db (several connections share it)")
    return parsed.set(drivername="sqlite")


def migration_engine(url: str) -> Engine:
    """Like the writer, for migrations: foreign keys are not enforced on SQLite (see `migrations/env.py`)."""
    parsed = normalized(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed)
    engine = _sqlite_engine(parsed, "BEGIN IMMEDIATE", readonly=False, pool_size=1)
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys = OFF"))
    return engine


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except PoolTimeout as error:
        raise StorageUnavailable("the database is busy") from error
    except (OperationalError, InternalError) as error:
        raise StorageUnavailable("the database cannot be reached or is busy") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise StorageUnavailable("the connection to the database was lost") from error
        raise


def _engine(url: URL, **options: Any) -> Engine:
    return create_engine(
        url,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        json_serializer=_dumps,
        json_deserializer=orjson.loads,
        **options,
    )


def _impatience(url: URL) -> dict[str, Any]:
    """How Postgres is told to give up: on a connection, and on a row or a table that somebody else holds."""
    lock_timeout = f"-c lock_timeout={BUSY_SECONDS}s"
    given = url.query.get("options", ())
    return {
        "connect_timeout": math.ceil(BUSY_SECONDS),
        "options": " ".join([*((given,) if isinstance(given, str) else given), lock_timeout]),
    }


def _dumps(value: Any) -> str:
    return orjson.dumps(value).decode()


def _sqlite_engine(url: URL, begin: str, *, readonly: bool, pool_size: int) -> Engine:
    engine = _engine(url, pool_size=pool_size, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})
    event.listen(engine, "connect", _sqlite_connect(readonly))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def _sqlite_connect(readonly: bool) -> Callable[[sqlite3.Connection, object], None]:
    def connect(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # the driver begins no transaction of its own; the begin event does
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        if readonly:
            connection.execute("PRAGMA query_only = ON")
        else:
            connection.execute("PRAGMA journal_mode = WAL")

    return connect


def insert(tx: Transaction, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that can say what to do on a conflict, which both databases can and the standard cannot."""
    return sqlite.insert(table) if tx.dialect.name == "sqlite" else postgresql.insert(table)


def now(tx: Transaction) -> datetime:
    """The database's clock."""
    return tx.execute(_NOW).scalar_one()
