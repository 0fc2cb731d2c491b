"""One run: an algorithm on a problem with a seed, for a budget of evaluations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import problems, rivals
from benchmarks.problems import BenchmarkProblem
from benchmarks.rivals.changes import in_force


@dataclass(frozen=True)
class Task:
    """What to run. `url` is where the algorithms over HTTP find the service."""

    problem: str
    algorithm: str
    seed: int
    budget: int
    trees_file: Path | None = None
    url: str | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        return self.problem, self.algorithm, self.seed


@dataclass(frozen=True)
class Run:
    """What came of a task: the noiseless value at each point evaluated, and the seconds each ask took."""

    problem: str
    algorithm: str
    seed: int
    values: list[float]
    optimum: float | None
    ask_seconds: list[float]

    @property
    def key(self) -> tuple[str, str, int]:
        return self.problem, self.algorithm, self.seed

    @property
    def budget(self) -> int:
        return len(self.values)

    def regret(self, at: int | None = None) -> float:
        """The best regret within `at` evaluations; minus the best value where no optimum is known."""
        return float(self.regrets()[: at or None].min())

    def regrets(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The best regret so far after each evaluation."""
        return np.minimum.accumulate((self.optimum or 0.0) - np.array(self.values))


class Step(NamedTuple):
    """One evaluation."""

    value: float  # of f, without noise
    told: float
    ask_seconds: float
    diagnostics: Mapping[str, Any]  # what the algorithm says of how it asked; mostly nothing


def steps(task: Task, problem: BenchmarkProblem) -> Iterator[Step]:
    """Ask, evaluate and tell until the budget is spent."""
    options = {"url": task.url} if task.url and task.algorithm.endswith("-http") else {}
    optimizer = rivals.make(task.algorithm, problem, task.seed, **options)
    noise = np.random.default_rng([task.seed, 0x4015E])
    with in_force(rivals.find(task.algorithm).changes):
        for _ in range(task.budget):
            start = time.perf_counter()
            x = optimizer.ask()
            ask_seconds = time.perf_counter() - start
            y, Y = problem.observe(x, noise)
            optimizer.tell(x, y, Y)
            value = problem.f(x) if problem.noise else y
            yield Step(value, y, ask_seconds, getattr(optimizer, "diagnostics", {}))


def execute(task: Task, progress: Callable[[int], None] = lambda n_done: None) -> Run:
    """The run that answers the task."""
    problem = problems.make(task.problem, task.seed, task.trees_file)
    values, ask_seconds = [], []
    for step in steps(task, problem):
        values.append(step.value)
        ask_seconds.append(round(step.ask_seconds, 6))
        progress(len(values))
    return Run(task.problem, task.algorithm, task.seed, values, problem.optimum, ask_seconds)
