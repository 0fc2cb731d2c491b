"""Databases for the tests: each test gets its own, empty or with the schema, on SQLite and on Postgres."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.postgres import PostgresServer, postgres_server
from tests.support.server import Server, running_server

BACKENDS = ["sqlite", "postgres"]


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A test that configures logging does so for itself: the next one has another stderr."""
    root = logging.getLogger()
    handlers, level = root.handlers.copy(), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One Postgres server for each test process."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> Iterator[str]:
    """The name of a database with the newest schema, to copy."""
    from service.storage.schema import upgrade

    name = postgres.create()
    upgrade(postgres.url(name))
    yield name
    postgres.drop(name)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with the newest schema, to copy."""
    from service.storage.schema import upgrade

    path = tmp_path_factory.mktemp("template") / "template.db"
    upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Runs the test once on each database."""
    return str(request.param)


@pytest.fixture
def empty_database_url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without a schema."""
    if backend == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create()
    yield server.url(name)
    server.drop(name)


@pytest.fixture
def database_url(backend: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database with the newest schema and no rows."""
    if backend == "sqlite":
        yield request.getfixturevalue("sqlite_url")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create(request.getfixturevalue("postgres_template"))
    yield server.url(name)
    server.drop(name)


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """An SQLite database with the newest schema, for tests that need no second backend."""
    return f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'dumbo.db')}"


@pytest.fixture
def start_server() -> Iterator[Callable[..., Server]]:
    """Starts real servers (`start_server(database_url, workers=2)`) and stops them after the test."""
    with ExitStack() as stack:
        yield lambda *arguments, **settings: stack.enter_context(running_server(*arguments, **settings))


@pytest.fixture
def live_server(start_server: Callable[..., Server], sqlite_url: str) -> Server:
    """A real server on its own SQLite file."""
    return start_server(sqlite_url)
