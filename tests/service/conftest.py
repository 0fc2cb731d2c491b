"""Running applications: one for each database and test process, shared by tests that each make their own study."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.support.app import Api, running_app
from tests.support.postgres import PostgresServer


@pytest.fixture(scope="session", autouse=True)
def _quiet_logs() -> None:
    """Lines of the access log go where pytest can show them with a failure."""
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, structlog.stdlib.render_to_log_kwargs],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


@pytest.fixture(scope="session")
def sqlite_api(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The application on SQLite."""
    copy = shutil.copy(sqlite_template, tmp_path_factory.mktemp("shared") / "shared.db")
    with running_app(f"sqlite:///{copy}") as api:
        yield api


@pytest.fixture(scope="session")
def postgres_api(postgres: PostgresServer, postgres_template: str) -> Iterator[Api]:
    """The application on Postgres."""
    name = postgres.create(postgres_template)
    with running_app(postgres.url(name)) as api:
        yield api
    postgres.drop(name)


@pytest.fixture
def api(backend: str, request: pytest.FixtureRequest) -> Api:
    """The application, once on each database."""
    shared: Api = request.getfixturevalue(f"{backend}_api")
    return shared
