"""Health, readiness and metrics."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from service.storage import schema
from service.storage.database import Database, normalized
from service.storage.probe import WriteProbe
from tests.support.app import Api, running_app
from tests.support.postgres import PostgresServer


def test_it_is_ready_with_the_schema_it_needs(api: Api) -> None:
    """Readiness names the schema's version."""
    assert api.get("/healthz").json() == {"status": "ok"}
    assert api.get("/readyz").json() == {"status": "ready", "schema_version": schema.head()}


def test_it_is_not_ready_with_another_schema(database_url: str) -> None:
    """An older database is 503 with the command to run, while the process lives; upgraded, it is ready."""
    schema.downgrade(database_url, "base")
    with running_app(database_url) as api:
        answer = api.get("/readyz")
        assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
        assert "dumbo db upgrade" in answer.json()["detail"]
        assert api.get("/healthz").status_code == 200
        schema.upgrade(database_url)
        assert api.get("/readyz").status_code == 200


def test_it_is_not_ready_without_its_database(tmp_path: Path) -> None:
    """A database that cannot be reached is 503 and no more than that."""
    with running_app("postgresql://nobody@127.0.0.1:1/nothing") as api:
        answer = api.get("/readyz")
        assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
        assert "nobody" not in answer.text
        assert api.get("/v1/studies").status_code == 503
        assert api.get("/metrics").status_code == 200


def test_a_locked_database_is_503_and_recovers(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another program holds the file, a write is told to come back; reads go on."""
    monkeypatch.setattr("service.storage.database.BUSY_SECONDS", 0.1)
    with running_app(sqlite_url) as api:
        study = api.study()
        holder = sa.create_engine(sqlite_url)
        with holder.connect() as connection:
            connection.exec_driver_sql("BEGIN EXCLUSIVE")
            assert api.get(study).status_code == 200
            refused = api.post(f"{study}/ask")
            assert (refused.status_code, refused.json()["code"]) == (503, "storage_unavailable")
            assert refused.headers["retry-after"] == "1"
            connection.rollback()
        holder.dispose()
        assert api.ask(study)[0]["number"] == 0


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the database takes writes is tried at every request, and soon given up."""
    monkeypatch.setattr("service.storage.probe.INTERVAL", 0)
    monkeypatch.setattr("service.storage.database.BUSY_SECONDS", 0.1)


@pytest.mark.usefixtures("impatient")
def test_it_is_not_ready_while_nothing_can_be_written(sqlite_url: str) -> None:
    """A database that can be read and not written is not ready, until it takes writes again."""
    with running_app(sqlite_url) as api:
        holder = sa.create_engine(sqlite_url)
        with holder.connect() as connection:
            connection.exec_driver_sql("BEGIN EXCLUSIVE")
            _assert_not_ready(api, "takes no writes")
            assert api.get("/v1/studies").status_code == 200
            connection.rollback()
        holder.dispose()
        assert api.get("/readyz").status_code == 200


@pytest.mark.usefixtures("impatient")
def test_it_is_not_ready_on_a_full_disk(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Less room than the largest tell may need is none."""
    with running_app(sqlite_url) as api:
        monkeypatch.setattr("service.storage.probe.ROOM", 2**62)
        _assert_not_ready(api, "disk")
        monkeypatch.undo()
        assert api.get("/readyz").status_code == 200


def test_it_is_ready_during_a_migration(postgres: PostgresServer, postgres_template: str) -> None:
    """A migration holds the row of the schema's version; on Postgres nobody waits for it."""
    name = postgres.create(postgres_template)
    with running_app(postgres.url(name)) as api:
        holder = sa.create_engine(normalized(postgres.url(name)))
        with holder.begin() as connection:
            connection.exec_driver_sql("SELECT * FROM alembic_version FOR UPDATE")
            assert api.get("/readyz").status_code == 200
        holder.dispose()
    postgres.drop(name)


def _assert_not_ready(api: Api, why: str) -> None:
    answer = api.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
    assert why in answer.json()["detail"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["retry-after"] == "1"


def test_whether_it_writes_is_tried_once_a_second_at_most(sqlite_url: str) -> None:
    """Anyone may ask for readiness; that must not keep the writer busy."""
    database = Database(sqlite_url)
    probe = WriteProbe(database)
    probe.check()
    with database.write():  # a second writer would have to wait for this one
        probe.check()
    database.close()


def test_metrics_count_requests_asks_and_trials(sqlite_url: str) -> None:
    """Routes are named by their template, asks by their origin, trials by their state."""
    with running_app(sqlite_url) as api:
        study = api.study()
        api.ask(study, count=2)
        api.tell(study, trial=0, value=1)
        api.get("/v1/nothing")
        text = api.get("/metrics").text
    lines = set(text.splitlines())
    assert 'dumbo_requests_total{method="POST",route="/v1/studies/{study}/ask",status="200"} 1.0' in lines
    assert 'dumbo_requests_total{method="GET",route="unmatched",status="404"} 1.0' in lines
    assert 'dumbo_asked_trials_total{origin="initial"} 2.0' in lines
    assert 'dumbo_trials{state="running"} 1.0' in lines
    assert 'dumbo_trials{state="completed"} 1.0' in lines
    assert "dumbo_queue_length 0.0" in lines
    for phase in ("snapshot", "compute", "store"):
        assert f'dumbo_ask_seconds_count{{phase="{phase}"}} 1.0' in lines


def test_current_version_of_a_database_without_one(sqlite_url: str) -> None:
    """The version is read from the database, not assumed."""
    database = Database(sqlite_url)
    assert schema.current(database) == schema.head()
    database.close()
    schema.downgrade(sqlite_url, "base")
    database = Database(sqlite_url)
    assert schema.current(database) is None
    database.close()
