"""The version of the schema: what the database has, what this code needs, and the way there."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

import migrations
from service.errors import StorageUnavailable
from service.storage.database import Database, migration_engine

Runner: TypeAlias = Callable[[Config], object]


class SchemaError(ValueError):
    """A version that this code does not know, or a schema that differs from the code's."""


@cache
def head() -> str:
    """The version this code needs."""
    version = ScriptDirectory.from_config(_config()).get_current_head()
    assert version is not None
    return version


def current(database: Database) -> str | None:
    """The version the database has; None before the first migration."""
    with database.read() as tx:
        return MigrationContext.configure(tx).get_current_revision()


def upgrade(url: str, revision: str = "head") -> None:
    """Bring the schema up to date, keeping the data."""
    _migrate(url, lambda config: command.upgrade(config, revision))


def downgrade(url: str, revision: str) -> None:
    """Take the schema back to an older version."""
    _migrate(url, lambda config: command.downgrade(config, revision))


def check(url: str) -> None:
    """`SchemaError` if the tables in the code and in the database differ."""
    _migrate(url, command.check)


def _migrate(url: str, run: Runner) -> None:
    """Run an alembic command on one connection, which `migrations/env.py` takes from the config."""
    engine = migration_engine(url)
    try:
        with engine.connect() as connection:
            run(_config(connection))
    except OperationalError as error:
        raise StorageUnavailable("the database cannot be reached or is busy") from error
    except CommandError as error:
        raise SchemaError(str(error)) from error
    finally:
        engine.dispose()


def _config(connection: Connection | None = None) -> Config:
    config = Config(stdout=io.StringIO())  # the caller says what there is to say
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    return config
