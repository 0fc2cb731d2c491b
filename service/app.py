"""The application: built by `create_app`, opened and closed by its lifespan, and nothing at import."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import structlog
from anyio import to_thread
from fastapi import FastAPI
from starlette.middleware import Middleware

from service import openapi
from service.auth import endpoints as keys
from service.compute.engine import WorkerCompute
from service.compute.jobs import Compute
from service.dashboard import endpoints as dashboard
from service.decomposition import endpoints as decomposition
from service.docs import endpoints as docs
from service.errors import ServiceError, StorageUnavailable
from service.health import endpoints as health
from service.http import problems
from service.http.body import Bodies
from service.http.edge import Edge
from service.idempotency.service import forget_old
from service.metrics import Metrics
from service.prediction import endpoints as prediction
from service.services import Services
from service.settings import Settings
from service.storage.database import Database
from service.studies import endpoints as studies
from service.trials import endpoints as trials

log = structlog.get_logger("dumbo.app")

ROUTERS = [studies, trials, decomposition, prediction, keys, health, docs, dashboard]
FORGET_EVERY = 3600.0  # seconds


def create_app(settings: Settings | None = None, compute: Compute | None = None) -> FastAPI:
    """The application. Without a `compute` of the caller's it starts worker processes, and ends them."""
    chosen = settings or Settings()
    metrics = Metrics()
    app = FastAPI(
        title="DuMBO",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan(chosen, metrics, compute),
        middleware=[
            Middleware(Edge, metrics=metrics, check_origin=not chosen.auth_required),
            Middleware(
                Bodies,
                max_bytes=chosen.max_body_bytes,
                max_depth=chosen.max_nesting,
                timeout=chosen.body_timeout,
            ),
        ],
    )
    for module in ROUTERS:
        app.router.routes.extend(module.routes.routes)  # flat, so that a test can walk every one of them
    problems.install(app)
    app.openapi = lambda: openapi.spec(app)  # type: ignore[method-assign]
    return app


Lifespan: TypeAlias = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def _lifespan(settings: Settings, metrics: Metrics, given: Compute | None) -> Lifespan:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        database = Database(settings.database_url)
        compute = await to_thread.run_sync(_start_workers, settings) if given is None else given
        app.state.services = Services.build(settings, metrics, database, compute)
        metrics.watch_queue(lambda: compute.queue_length)
        metrics.watch_trials(lambda: _trials_by_state(app.state.services))
        housekeeping = asyncio.create_task(_housekeep(database, settings))
        try:
            yield
        finally:
            housekeeping.cancel()
            if given is None:
                await to_thread.run_sync(compute.close)
            database.close()

    return lifespan


def _start_workers(settings: Settings) -> Compute:
    return WorkerCompute(
        workers=settings.workers,
        queue_size=settings.queue_size,
        deadline=settings.ask_deadline,
        patience=settings.ask_wait,
        memory_mb=settings.worker_memory_mb,
    )


def _trials_by_state(services: Services) -> dict[str, int]:
    try:
        return services.studies.trials_by_state()
    except StorageUnavailable:  # the other metrics are wanted all the more
        return {}


async def _housekeep(database: Database, settings: Settings) -> None:
    """Forget answers to Idempotency-Keys that are older than promised."""
    while True:
        try:
            await to_thread.run_sync(forget_old, database, settings.idempotency_hours)
        except ServiceError as error:
            log.warning("housekeeping", error=error.detail)
        await asyncio.sleep(FORGET_EVERY)
