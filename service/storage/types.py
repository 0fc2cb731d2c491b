"""Column types and functions that mean the same on SQLite and on Postgres."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime in UTC. SQLite keeps it as text of fixed width, so that text order is time order."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or dialect.name != "sqlite":
            return value
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class utcnow(FunctionElement[datetime]):  # noqa: N801 (reads as the SQL function it is)
    """The database's clock: replicas with clocks of their own agree on leases."""

    type = UtcDateTime()
    inherit_cache = True


@compiles(utcnow, "sqlite")
def _sqlite_now(element: utcnow, compiler: Any, **kw: Any) -> str:
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"


@compiles(utcnow, "postgresql")
def _postgres_now(element: utcnow, compiler: Any, **kw: Any) -> str:
    return "clock_timestamp()"
