"""What every ask of ours was made by, what it expected and what came: where a run is lost, and by which kind of ask."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks import problems
from benchmarks.arena.run import Task, steps
from benchmarks.arena.tables import number
from benchmarks.rivals import find

# In the order of the table and of the plot's legend.
KINDS = {
    "design": "the design that comes before the model",
    "one factor": "one factor of all variables",
    "factors": "decompositions, inferred or known",
    "feature": "one factor with a ridge or a bowl",
    "hopeful": "a mean held at that of the outputs",
    "elsewhere": "what lies outside the basin of the best point",
    "off a bound": "the best point, moved off a bound",
    "random": "chance, for want of a model",
}


class Ask(NamedTuple):
    kind: str
    value: float  # of f, without noise
    surprise: float  # how many standard deviations what was told lay above what the model expected; NaN without one


@dataclass(frozen=True)
class Course:
    """The asks of one run, in order."""

    problem: str
    algorithm: str
    seed: int
    optimum: float | None
    asks: list[Ask]

    @property
    def key(self) -> tuple[str, str, int]:
        return self.problem, self.algorithm, self.seed

    @property
    def values(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([ask.value for ask in self.asks])

    @property
    def gains(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """By how much each ask raised the best value; the first one raised nothing."""
        return np.diff(np.maximum.accumulate(self.values), prepend=self.values[0])


def follow(task: Task, progress: Callable[[int], None] = lambda n_done: None) -> Course:
    """As `benchmarks.arena.run.execute`, with an eye on the asks."""
    problem = problems.make(task.problem, task.seed, task.trees_file)
    asks: list[Ask] = []
    for step in steps(task, problem):
        asks.append(Ask(kind_of(step.diagnostics), step.value, surprise(step.diagnostics, step.told)))
        progress(len(asks))
    return Course(task.problem, task.algorithm, task.seed, problem.optimum, asks)


def kind_of(diagnostics: Mapping[str, Any]) -> str:
    """Which of KINDS made the point. What looks elsewhere or moves off a bound has a model behind it as well."""
    if "model" not in diagnostics:
        return "design"
    search = diagnostics["admm"]
    if search is None:
        return "random"
    if search.get("released"):
        return "off a bound"
    if search.get("elsewhere"):
        return "elsewhere"
    if diagnostics["hopeful"]:
        return "hopeful"
    if diagnostics["feature"]:
        return "feature"
    return "one factor" if max(diagnostics["n_factors"]) == 1 else "factors"


def surprise(diagnostics: Mapping[str, Any], told: float) -> float:
    expected = (diagnostics.get("admm") or {}).get("expected")
    return (told - expected["mean"]) / expected["sd"] if expected and expected["sd"] > 0.0 else math.nan


def table(courses: Sequence[Course]) -> str:
    """Of one algorithm on one problem: for each kind of ask how many there were, and what came of them."""
    first = courses[0]
    lines = [
        f"### {find(first.algorithm).label} on {first.problem}: {len(courses)} runs of {len(first.asks)} evaluations",
        "",
        "| asks by | asks | new best | gained | surprise, mean | surprise, r.m.s. |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    kinds = np.array([ask.kind for course in courses for ask in course.asks])
    gains = np.concatenate([course.gains for course in courses])
    surprises = np.array([ask.surprise for course in courses for ask in course.asks])
    by_model = kinds != "design"
    total = gains[by_model].sum()
    for kind in [kind for kind in KINDS if (kinds == kind).any()]:
        rows = kinds == kind
        share = f"{gains[rows].sum() / total:.0%}" if kind != "design" and total > 0.0 else ""
        known = surprises[rows][~np.isnan(surprises[rows])]
        mean, size = (number(known.mean()), number(np.sqrt(np.mean(known**2)))) if len(known) else ("", "")
        lines.append(f"| {KINDS[kind]} | {rows.sum()} | {(gains[rows] > 0.0).mean():.0%} | {share} | {mean} | {size} |")
    return "\n".join(lines)


LEGEND = """\
New best: how many of these asks found a new best value. Gained: their part of all that the best value grew after the
design. Surprise: how far what came lay above what the model expected, in its standard deviations. Of a model that is
right the root mean square is 1, and the mean a little below 0, since points are asked for because they promise much."""
