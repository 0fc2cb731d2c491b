"""What is computed, as plain data, and who computes it. Imports neither torch nor numpy.

ComputeError
├── Overloaded       too many jobs wait already; carries `retry_after` in seconds
├── Closed           the service is shutting down
└── ComputeFailed    a prediction whose worker died twice, ran out of memory or missed the deadline

An ask never raises `ComputeFailed`: it is answered by a labelled fallback. Errors of the core that are about
the caller's data (`InvalidPoint`, `SpaceExhausted`, ...) come out of `ask` and `predict` as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

JSON = dict[str, Any]


@dataclass(frozen=True)
class AskJob:
    """A snapshot of a study to propose from. Observations have the fields of `core.Observation`."""

    problem: JSON
    observations: list[JSON] = field(default_factory=list)
    pending: list[JSON] = field(default_factory=list)
    state: JSON | None = None
    count: int = 1
    fixed: JSON = field(default_factory=dict)


@dataclass(frozen=True)
class AskResult:
    """Distinct points with the origin of each. `state` None leaves the stored state as it was."""

    points: list[JSON]
    origins: list[str]
    state: JSON | None
    diagnostics: JSON


@dataclass(frozen=True)
class PredictJob:
    """Points at which the model of a study is to predict."""

    problem: JSON
    observations: list[JSON]
    points: list[JSON]
    state: JSON | None = None


class Compute(Protocol):
    """Runs jobs. Both calls block until the answer is there, so call them from a thread made for it.

    Answers depend on the job alone, not on which worker ran it nor on what ran before. A web framework's
    shared thread pool is the wrong place to wait: as many asks as it has threads would stall every tell.
    """

    def ask(self, job: AskJob) -> AskResult: ...

    def predict(self, job: PredictJob) -> list[JSON]:
        """One `{"mean", "sd", "scale", "model_mean", "factors": {name: {"mean", "sd"}}}` per point."""
        ...

    @property
    def queue_length(self) -> int:
        """Jobs that wait for a worker."""
        ...

    def wait_ready(self, timeout: float | None = None) -> bool:
        """Block until a worker is warm; False if none is by then."""
        ...

    def close(self) -> None: ...


class ComputeError(Exception):
    """A job that could not be computed."""


class Overloaded(ComputeError):
    """Too many jobs wait. Try again after `retry_after` seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many asks are waiting; try again in {retry_after} s")
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type[Overloaded], tuple[int]]:
        return type(self), (self.retry_after,)


class Closed(ComputeError):
    """The service is shutting down."""


class ComputeFailed(ComputeError):
    """No answer from the workers, and none to fall back to."""
