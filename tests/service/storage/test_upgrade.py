"""Databases that earlier versions left: opened by the newest code, and taken down and up with equal contents."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

import migrations
from service.auth.service import authenticate
from service.storage import schema
from service.storage.database import Database, migration_engine
from service.storage.tables import METADATA
from tests.support import released
from tests.support.app import running_app
from tests.support.postgres import PostgresServer

Rows = dict[str, list[tuple[Any, ...]]]
NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "next"
down_revision = "{head}"


def upgrade():
    with op.batch_alter_table("studies") as batch:
        batch.add_column(sa.Column("note", sa.Text(), nullable=False, server_default="none"))
        batch.alter_column("metadata", new_column_name="labels")


def downgrade():
    with op.batch_alter_table("studies") as batch:
        batch.alter_column("labels", new_column_name="metadata")
        batch.drop_column("note")
"""


def test_every_schema_has_its_file() -> None:
    """A migration comes with a database of its schema: python -m tests.support.released"""
    known = ScriptDirectory(str(Path(migrations.__file__).parent)).walk_revisions()
    assert released.schemas() == sorted(script.revision for script in known)


@pytest.fixture(params=released.schemas())
def version(request: pytest.FixtureRequest) -> str:
    """Each schema that was ever released."""
    return str(request.param)


@pytest.fixture
def left(version: str, backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database as that schema left it: the file itself, or its rows in a Postgres of the same schema."""
    file = released.unpack(version, tmp_path / "released.db")
    if backend == "sqlite":
        yield file
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create()
    schema.upgrade(server.url(name), version)
    _copy(file, server.url(name))
    yield server.url(name)
    server.drop(name)


def test_newest_code_reads_what_was_left(left: str, version: str) -> None:
    """Every answer is what it was when the file was made; stored answers are replayed, keys are valid."""
    kept = released.answers(version)
    schema.upgrade(left)
    schema.check(left)
    with running_app(left) as api:
        assert released.look(api) == kept["studies"]
        assert released.ask_repeated(api) == kept["repeated"]
        study = "/v1/studies/kept ✓"
        [trial] = api.ask(study)
        assert trial["origin"] == "dumbo"
        assert api.tell(study, trial=trial["number"], value=-1.0)["best"]["number"] == trial["number"]
    database = Database(left)
    assert authenticate(database, kept["token"]).role == "read"
    database.close()


def test_down_and_up_again_keeps_every_row(left: str, version: str) -> None:
    """From the newest schema back to the one it had, and up again, no value differs."""
    before = _rows(left)
    assert all(before.values()), before
    schema.upgrade(left)
    newest = _rows(left)
    schema.downgrade(left, version)
    assert _rows(left) == before
    schema.upgrade(left)
    assert _rows(left) == newest


def test_the_next_migration_keeps_every_row(left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that alters the table all others refer to, up and down, on what the newest schema left."""
    schema.upgrade(left)
    before = _rows(left)
    folder = Path(shutil.copytree(Path(migrations.__file__).parent, tmp_path / "migrations"))
    (folder / "versions" / "next.py").write_text(NEXT.format(head=schema.head()))
    monkeypatch.setattr(schema, "migrations", SimpleNamespace(__file__=str(folder / "__init__.py")))
    schema.upgrade(left)
    above = _rows(left)
    assert {name: len(rows) for name, rows in above.items()} == {name: len(rows) for name, rows in before.items()}
    assert {row[-1] for row in above["studies"]} == {"none"}
    schema.downgrade(left, "-1")
    assert _rows(left) == before


def _rows(url: str) -> Rows:
    """Every row of every table, whatever the schema."""
    engine = migration_engine(url)
    found = sa.MetaData()
    found.reflect(engine)
    with engine.connect() as connection:
        rows = {
            table.name: sorted((tuple(row) for row in connection.execute(sa.select(table))), key=repr)
            for table in found.sorted_tables
            if table.name != "alembic_version"
        }
    engine.dispose()
    return rows


def _copy(source: str, target: str) -> None:
    """All rows of one database into another of the same schema, parents before children."""
    old, new = migration_engine(source), migration_engine(target)
    with old.connect() as reader, new.begin() as writer:
        for table in METADATA.sorted_tables:
            if not sa.inspect(reader).has_table(table.name):
                continue
            names = {column["name"] for column in sa.inspect(reader).get_columns(table.name)}
            columns = [column for column in table.columns if column.name in names]
            rows = [dict(row) for row in reader.execute(sa.select(*columns)).mappings()]
            writer.execute(table.insert(), rows)
    old.dispose()
    new.dispose()
