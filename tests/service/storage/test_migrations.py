"""Migrations: up and down with data, nothing lost on the way, and the tables in the code as in the database."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sqlalchemy as sa
from alembic import op
from alembic.migration import MigrationContext
from alembic.operations import Operations

from service.storage import schema
from service.storage.database import Database, migration_engine
from service.storage.tables import METADATA
from tests.support.app import Api, running_app


@pytest.fixture
def filled(database_url: str) -> str:
    """A database with rows in every table."""
    with running_app(database_url) as api:
        _fill(api)
    return database_url


def _fill(api: Api) -> None:
    study = api.study(algorithm={"seed": 1, "initial_trials": 2})
    for trial in api.ask(study, count=2):
        api.tell(study, trial=trial["number"], value=1.5)
    api.post(f"{study}/ask", headers={"idempotency-key": "k"}).raise_for_status()
    api.get(f"{study}/trials", params={"limit": 1})
    api.post("/v1/keys", json={"name": "me"}).raise_for_status()


def test_code_and_database_agree(database_url: str) -> None:
    """`alembic check` finds nothing to migrate."""
    schema.check(database_url)


def test_upgrading_twice_changes_nothing(filled: str) -> None:
    """An up-to-date database with data is left alone."""
    before = _rows(filled)
    assert all(before.values()), before
    schema.upgrade(filled)
    assert _rows(filled) == before


def test_down_to_nothing_and_up_again(filled: str) -> None:
    """The way down removes every table, and the way up makes them as they were."""
    schema.downgrade(filled, "base")
    engine = migration_engine(filled)
    assert set(sa.inspect(engine).get_table_names()) == {"alembic_version"}
    engine.dispose()
    schema.upgrade(filled)
    schema.check(filled)
    assert not any(_rows(filled).values())


def test_altering_a_parent_table_keeps_its_children(filled: str) -> None:
    """A batch alter remakes `studies` on SQLite; with foreign keys enforced it would delete every trial."""
    before = _rows(filled)
    engine = migration_engine(filled)
    with engine.connect() as connection, connection.begin():
        context = MigrationContext.configure(connection)
        remade = "always" if engine.dialect.name == "sqlite" else "never"
        with Operations.context(context), op.batch_alter_table("studies", recreate=remade) as batch:
            batch.add_column(sa.Column("note", sa.Text()))
    engine.dispose()
    assert _rows(filled) == before


def test_broken_references_stop_a_migration(sqlite_url: str) -> None:
    """On SQLite, where they are not enforced meanwhile, references are checked before the commit."""
    with running_app(sqlite_url) as api:
        _fill(api)
    engine = migration_engine(sqlite_url)
    with engine.connect() as connection, connection.begin():
        connection.exec_driver_sql("DELETE FROM studies")
    engine.dispose()
    with pytest.raises(RuntimeError, match="broke"):
        schema.upgrade(sqlite_url)


def test_concurrent_upgrades_follow_each_other(empty_database_url: str) -> None:
    """Replicas that start together on an empty database all find it ready."""
    command = [sys.executable, "-c", "import sys; from service.storage.schema import upgrade; upgrade(sys.argv[1])"]
    upgrades = [subprocess.Popen([*command, empty_database_url]) for _ in range(3)]
    assert [upgrade.wait() for upgrade in upgrades] == [0, 0, 0]
    database = Database(empty_database_url)
    assert schema.current(database) == schema.head()
    database.close()


def test_an_empty_database_has_no_version(empty_database_url: str) -> None:
    """Before the first migration there is no version, and asking for it makes none."""
    database = Database(empty_database_url)
    assert schema.current(database) is None
    database.close()


def _rows(url: str) -> dict[str, int]:
    database = Database(url)
    with database.read() as tx:
        counts = {
            t.name: tx.execute(sa.select(sa.func.count()).select_from(t)).scalar_one() for t in METADATA.sorted_tables
        }
    database.close()
    return counts
