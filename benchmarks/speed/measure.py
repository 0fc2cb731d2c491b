"""Seconds per ask, by phase, in a study that is under way.

Processor seconds are what is compared: with one thread they equal the clock's on an idle machine, and on a busy one
they still say what an ask costs. Phases are by the clock. Ours do not do the same at every ask: models take turns, and
all turns have come round after twelve, so that what an ask costs is the mean over those.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

from benchmarks import rivals
from benchmarks.problems import Array, BenchmarkProblem


@dataclass(frozen=True)
class Measurement:
    """The mean ask of an algorithm on a history of `n_obs` observations; `at_least` when it was cut off there."""

    history: str
    n_dims: int
    n_obs: int
    algorithm: str
    seconds: float  # of the processor
    wall_seconds: float
    phases: dict[str, float]
    at_least: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(
    name: str, history: str, problem: BenchmarkProblem, X: Array, repeats: int = 4, warm_up: int = 1, **options: Any
) -> Measurement:
    """Tell all but some points of the history, ask for those to warm up as a running study is, then time the next."""
    optimizer = rivals.make(name, problem, 0, **options)
    for x in X[:-warm_up]:
        optimizer.tell(x, *_observation(problem, x))
    x = optimizer.ask()
    for _ in range(warm_up - 1):
        optimizer.tell(x, *_observation(problem, x))
        x = optimizer.ask()
    processor, wall, phases = [], [], []
    for _ in range(repeats):
        optimizer.tell(x, *_observation(problem, x))
        start, processor_start = time.perf_counter(), time.process_time()
        x = optimizer.ask()
        processor.append(time.process_time() - processor_start)
        wall.append(time.perf_counter() - start)
        phases.append(dict(getattr(optimizer, "phases", {})))
    by_phase = {phase: mean(ask.get(phase, 0.0) for ask in phases) for phase in phases[-1]}
    return Measurement(history, problem.n_dims, len(X), name, mean(processor), mean(wall), by_phase)


def _observation(problem: BenchmarkProblem, x: Array) -> tuple[float, dict[str, float] | None]:
    return problem.f(x), problem.factor_values(x) if problem.factors else None
