"""The application in a thread of the test process, on a real socket, with a database the test can look into."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import sqlalchemy as sa
import uvicorn

from service.app import create_app
from service.compute.jobs import AskJob, AskResult, Compute, PredictJob
from service.compute.worker import run
from service.server import listen
from service.settings import Settings
from service.storage.database import Database
from service.storage.tables import METADATA

_serial = itertools.count()


class InlineCompute:
    """The real core, in the caller's thread: for tests of what surrounds the computation."""

    queue_length = 0

    def ask(self, job: AskJob) -> AskResult:
        result = run(job, 60.0)
        assert isinstance(result, AskResult)
        return result

    def predict(self, job: PredictJob) -> list[dict[str, Any]]:
        result = run(job, 60.0)
        assert isinstance(result, list)
        return result

    def wait_ready(self, timeout: float | None = None) -> bool:
        return True

    def close(self) -> None:
        pass


class Api(httpx.Client):
    """A client of one running application."""

    def __init__(self, url: str, settings: Settings) -> None:
        super().__init__(base_url=url, timeout=60)
        self.settings = settings

    def study(self, **spec: Any) -> str:
        """A new study with a name of its own; the path below which it lies."""
        defaults = {"name": f"study {next(_serial)}", "direction": "minimize", "parameters": SPACE}
        answer = self.post("/v1/studies", json=defaults | spec)
        assert answer.status_code == 201, answer.text
        return str(answer.headers["location"])

    def ask(self, study: str, **body: Any) -> list[dict[str, Any]]:
        answer = self.post(f"{study}/ask", json=body)
        assert answer.status_code == 200, answer.text
        trials: list[dict[str, Any]] = answer.json()["trials"]
        return trials

    def tell(self, study: str, **result: Any) -> dict[str, Any]:
        answer = self.post(f"{study}/tell", json=result)
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table."""
        database = Database(self.settings.database_url)
        try:
            with database.read() as tx:
                tables = METADATA.sorted_tables
                return {
                    t.name: [tuple(row) for row in tx.execute(sa.select(t).order_by(*t.primary_key))] for t in tables
                }
        finally:
            database.close()


SPACE: list[dict[str, Any]] = [
    {"name": "x", "type": "float", "bounds": [-5, 5]},
    {"name": "n", "type": "int", "bounds": [1, 100], "scale": "log"},
    {"name": "kind", "type": "categorical", "values": ["a", "b", "c"]},
]


@contextmanager
def running_app(database_url: str, *, compute: Compute | None = None, **settings: Any) -> Iterator[Api]:
    """The application on a free port; `compute` is the core inline unless given."""
    chosen = Settings(database_url=database_url, **{"workers": 1, **settings})
    app = create_app(chosen, compute or InlineCompute())
    with listen("127.0.0.1", 0) as listener:
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=10)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        try:
            with Api(f"http://127.0.0.1:{listener.getsockname()[1]}", chosen) as api:
                api.get("/healthz").raise_for_status()
                yield api
        finally:
            server.should_exit = True
            thread.join()
