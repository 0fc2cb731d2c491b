"""`Compute` on a pool of worker processes: an ask always gets an answer.

A job is tried again if its worker dies. When the model cannot answer (its worker died twice, ran out of
memory, missed the deadline, or failed), an ask falls back to random points that say so. A prediction has
nothing to fall back to, and fails.
"""

from __future__ import annotations

import logging
from typing import Any

from core.errors import NumericalError
from service.compute.fallback import fallback
from service.compute.jobs import JSON, AskJob, AskResult, ComputeFailed, PredictJob
from service.compute.pool import JobFailed, JobRaised, Pool, WorkerDied

_log = logging.getLogger(__name__)

SOFT_SHARE = 0.75  # of the deadline: what the core is told to be done in
TARGET = "service.compute.worker:run"
SENTENCES = {
    "worker_died": "The worker process died twice while it computed this.",
    "deadline": "The model did not finish within the deadline.",
    "out_of_memory": "The model needed more memory than a worker may take.",
    "numerical": "The model's linear algebra failed on these data.",
    "error": "The model failed unexpectedly; the server's log says why.",
}
_LINE = {"direction": "maximize", "parameters": [{"name": "x", "type": "float", "bounds": [0.0, 1.0]}]}
WARMUP = AskJob(
    _LINE | {"algorithm": {"initial_trials": 1}},
    [{"parameters": {"x": x}, "value": -((x - 0.3) ** 2)} for x in (0.0, 0.2, 0.5, 0.9, 1.0)],
)


class WorkerCompute:
    """Asks and predictions in worker processes: seconds to compute (`deadline`) and to wait before (`patience`)."""

    def __init__(
        self,
        *,
        workers: int,
        queue_size: int,
        deadline: float,
        patience: float = 300.0,
        memory_mb: int = 0,
        target: str = TARGET,
        warmup: Any = WARMUP,
    ) -> None:
        self._deadline = deadline
        self._pool = Pool(
            target,
            workers=workers,
            queue_size=queue_size,
            patience=patience,
            memory_mb=memory_mb,
            warmup=warmup,
        )

    def ask(self, job: AskJob) -> AskResult:
        try:
            result: AskResult = self._run(job)
            return result
        except NumericalError as error:
            reason = "numerical"
            _log.warning("an ask fell back: %s: %s", reason, error)
        except JobFailed as failure:
            reason = failure.reason
            _log.warning("an ask fell back: %s\n%s", reason, failure)
        return fallback(job, reason, SENTENCES[reason])

    def predict(self, job: PredictJob) -> list[JSON]:
        try:
            predictions: list[JSON] = self._run(job)
            return predictions
        except JobFailed as failure:
            if isinstance(failure, JobRaised):
                _log.error("a prediction failed\n%s", failure)
            raise ComputeFailed(SENTENCES[failure.reason]) from failure

    def _run(self, job: AskJob | PredictJob) -> Any:
        limits = {"seconds": SOFT_SHARE * self._deadline, "deadline": self._deadline}
        try:
            return self._pool.run(job, **limits)
        except WorkerDied:
            _log.warning("a worker died at work; its job is tried again")
            return self._pool.run(job, **limits)

    @property
    def queue_length(self) -> int:
        return self._pool.queue_length

    @property
    def pids(self) -> list[int]:
        """The worker processes."""
        return self._pool.pids

    def wait_ready(self, timeout: float | None = None) -> bool:
        return self._pool.wait_ready(timeout)

    def close(self) -> None:
        self._pool.close()
