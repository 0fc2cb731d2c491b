"""Two replicas of the application in this process, on one database, with real workers; each can be restarted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from service.auth.keys import Role
from service.auth.service import create_key
from service.compute.engine import WorkerCompute
from service.storage.database import Database
from service.storage.tables import asks, idempotency_keys, model_states, studies, trials
from service.storage.types import UtcDateTime
from tests.chaos.client import Caller, Reply
from tests.support.app import running_app


class Replicas:
    """Both answer any call. API keys are asked for, so that workspaces keep the studies of their runs apart."""

    def __init__(self, url: str, compute: WorkerCompute, settings: dict[str, Any]) -> None:
        self.url = url
        self.database = Database(url)
        self.calls = self.restarts = 0
        self._compute, self._settings = compute, settings
        self._stacks = [ExitStack(), ExitStack()]
        self._callers = [self._start(stack) for stack in self._stacks]

    def _start(self, stack: ExitStack) -> Caller:
        api = stack.enter_context(running_app(self.url, compute=self._compute, auth="on", **self._settings))
        return Caller(str(api.base_url), keep=False)

    def restart(self, i: int) -> None:
        """End one replica and start another in its place."""
        self._stacks[i].close()
        self._callers[i] = self._start(self._stacks[i])
        self.restarts += 1

    def call(self, i: int, *request: Any, **headers: str) -> Reply:
        self.calls += 1
        return self._callers[i].call(*request, **headers)

    def token(self, workspace: str, role: Role) -> str:
        """A new API key, made as the operator does."""
        return create_key(self.database, "chaos", workspace, role)[1]

    def turn_clock(self, workspaces: list[str], seconds: float) -> None:
        """Make it so much later for these workspaces: all that happened there, happened so much longer ago.

        Only differences to the database's clock count, so this is what a jump of that clock amounts to.
        """
        of_studies = sa.select(studies.c.id).where(studies.c.workspace.in_(workspaces))
        with self.database.write() as tx:
            for table in (studies, trials, asks, model_states, idempotency_keys):
                here = table.c.study_id.in_(of_studies) if "study_id" in table.c else table.c.workspace.in_(workspaces)
                _shift(tx, table, here, timedelta(seconds=seconds))

    def close(self) -> None:
        for stack in self._stacks:
            stack.close()
        self.database.close()


def _shift(tx: sa.Connection, table: sa.Table, here: sa.ColumnElement[bool], back: timedelta) -> None:
    times = [column for column in table.columns if isinstance(column.type, UtcDateTime)]
    for row in tx.execute(sa.select(table).where(here)).mappings().all():
        same = [column == row[column.name] for column in table.primary_key]
        moved = {column.name: row[column.name] and row[column.name] - back for column in times}
        tx.execute(sa.update(table).where(*same).values(moved))


@contextmanager
def replicas(url: str, **settings: Any) -> Iterator[Replicas]:
    """Two of them, with one worker process between them."""
    compute = WorkerCompute(workers=1, queue_size=64, deadline=600)
    pair = Replicas(url, compute, settings)
    try:
        yield pair
    finally:
        pair.close()
        compute.close()
