"""Transactions: the same promises on SQLite and on Postgres."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import IntegrityError

from service.errors import NameTaken, StorageUnavailable, StudyNotFound
from service.storage.database import Database, normalized, now
from service.storage.secrets import SharedSecret
from service.storage.tables import studies, trials
from service.storage.types import UtcDateTime
from service.studies.repository import StudyRepository
from service.trials.records import Trial
from service.trials.repository import TrialRepository

ID = "st_aaaaaaaaaaaaaaaa"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A database with one study."""
    database = Database(database_url)
    with database.write() as tx:
        StudyRepository(tx).add(ID, "w", "first", {"direction": "minimize"}, {})
    yield database
    database.close()


def test_a_write_that_raises_leaves_nothing(database: Database) -> None:
    """What came before the exception is rolled back."""

    def write() -> None:
        with database.write() as tx:
            StudyRepository(tx).delete("w", ID)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write()
    with database.read() as tx:
        assert StudyRepository(tx).get("w", ID).name == "first"


def test_a_read_cannot_write(database: Database) -> None:
    """A read transaction is one: the database itself refuses anything else."""
    with pytest.raises((StorageUnavailable, sa.exc.DBAPIError)), database.read() as tx:
        StudyRepository(tx).delete("w", ID)


def test_a_read_sees_one_moment(database: Database) -> None:
    """A snapshot does not change under a reader while others write."""
    with database.read() as tx:
        before = StudyRepository(tx).get("w", ID).revision
        with database.write() as other:
            repository = StudyRepository(other)
            repository.change(repository.lock("w", ID), metadata={"new": 1})
        assert StudyRepository(tx).get("w", ID).revision == before
    with database.read() as tx:
        assert StudyRepository(tx).get("w", ID).revision == before + 1


def test_writers_of_one_study_follow_each_other(database: Database) -> None:
    """Read-modify-write under the lock loses no update, from however many threads."""

    def raise_revision() -> None:
        for _ in range(10):
            with database.write() as tx:
                repository = StudyRepository(tx)
                repository.change(repository.lock("w", ID))

    threads = [threading.Thread(target=raise_revision) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as tx:
        assert StudyRepository(tx).get("w", ID).revision == 80


def test_names_are_unique_within_a_workspace(database: Database) -> None:
    """The second study of a name is refused by the database itself; another workspace's is not."""
    with database.write() as tx:
        StudyRepository(tx).add("st_bbbbbbbbbbbbbbbb", "other", "first", {}, {})
    with pytest.raises(NameTaken), database.write() as tx:
        StudyRepository(tx).add("st_cccccccccccccccc", "w", "first", {}, {})


def test_another_workspace_finds_nothing(database: Database) -> None:
    """Neither by id nor by name, neither to read nor to lock nor to delete."""
    with database.write() as tx:
        repository = StudyRepository(tx)
        for find in (repository.get, repository.lock, repository.delete, repository.get_with_clock):
            for ref in (ID, "first"):
                with pytest.raises(StudyNotFound):
                    find("other", ref)


def test_a_trial_number_is_used_once(database: Database) -> None:
    """Two trials of one number cannot both be stored."""
    trial = Trial(ID, 0, "running", {"x": 1}, origin="initial")
    with database.write() as tx:
        TrialRepository(tx).add([trial])
    with pytest.raises(IntegrityError), database.write() as tx:
        TrialRepository(tx).add([trial])


@pytest.mark.parametrize(
    "row",
    [
        {"state": "completed"},
        {"state": "running", "value": 1.0},
        {"state": "running", "told_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"state": "lost"},
    ],
)
def test_states_that_make_no_sense_cannot_be_stored(database: Database, row: dict[str, object]) -> None:
    """A completed trial has a value, a running one has none: the schema says so."""
    with pytest.raises(IntegrityError), database.write() as tx:
        tx.execute(sa.insert(trials).values(study_id=ID, number=0, parameters={}, origin="told", **row))


def test_the_clock_is_the_databases(database: Database) -> None:
    """It gives an aware time in UTC, that does not go back, close to ours on one machine."""
    with database.read() as tx:
        first, second = now(tx), now(tx)
    assert first.tzinfo is UTC
    assert timedelta(0) <= second - first
    assert abs(first - datetime.now(UTC)) < timedelta(minutes=1)


@settings(max_examples=50, deadline=None)
@given(moment=st.datetimes(timezones=st.timezones()))
def test_times_come_back_as_the_same_moment(moment: datetime) -> None:
    """Whatever the zone, what is stored on SQLite is the moment in UTC."""
    dialect = sa.create_engine("sqlite://").dialect
    kind = UtcDateTime()
    try:
        stored = kind.process_bind_param(moment, dialect)
    except OverflowError:  # the first and last hours of the calendar have no UTC
        return
    assert stored is not None
    assert stored.tzinfo is None
    assert kind.process_result_value(stored, dialect) == moment.astimezone(UTC)


def test_replicas_share_their_secret(database_url: str) -> None:
    """Whoever comes second gets what the first made; another name is another secret."""
    one, other = Database(database_url), Database(database_url)
    assert SharedSecret(one, "a").value == SharedSecret(other, "a").value != SharedSecret(other, "b").value
    one.close()
    other.close()


def test_an_unreachable_database_is_unavailable(tmp_path: object) -> None:
    """A database that is not there is 503 material, not a stack trace."""
    for url in (f"sqlite:///{tmp_path}/none/there.db", "postgresql://nobody@127.0.0.1:1/nothing"):
        database = Database(url)
        with pytest.raises(StorageUnavailable), database.read() as tx:
            tx.execute(sa.select(studies))
        database.close()


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "sqlite:///:memory:"])
def test_other_databases_are_refused(url: str) -> None:
    """Only an SQLite file or Postgres will do, and the error says so."""
    with pytest.raises(ValueError, match="sqlite:///"):
        normalized(url)


@pytest.mark.parametrize("url", ["postgres://u:p@h/d", "postgresql://u:p@h/d", "postgresql+psycopg2://u:p@h/d"])
def test_every_spelling_of_postgres_uses_psycopg_3(url: str) -> None:
    """URLs as hosts hand them out work as they are."""
    assert normalized(url).drivername == "postgresql+psycopg"
