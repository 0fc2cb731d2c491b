"""What every ask of ours was made by, what it expected and what came: where a run is lost, and by which kind of ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from benchmarks import problems
from benchmarks.arena.run import Task, steps
from benchmarks.arena.tables import number
from benchmarks.problems import Array
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
    surprise: float | None  # standard deviations by which what was told lay above what the model expected, if one did


@dataclass(frozen=True)
class Course:
    """The asks of one run, in order."""

    problem: str
    algorithm: str
    seed: int
    optimum: float | None
    asks: list[Ask]

    def __post_init__(self) -> None:
        object.__setattr__(self, "asks", [Ask(*ask) for ask in self.asks])  # on record they are plain lists

    def until(self, budget: int) -> Course:
        """The run as it would have been with so many evaluations."""
        return replace(self, asks=self.asks[:budget])

    @property
    def budget(self) -> int:
        return len(self.asks)

    @property
    def key(self) -> tuple[str, str, int]:
        return self.problem, self.algorithm, self.seed

    @property
    def values(self) -> Array:
        return np.array([ask.value for ask in self.asks])

    @property
    def gains(self) -> Array:
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


def surprise(diagnostics: Mapping[str, Any], told: float) -> float | None:
    expected = (diagnostics.get("admm") or {}).get("expected")
    return (told - expected["mean"]) / expected["sd"] if expected and expected["sd"] > 0.0 else None


def surprises(courses: Sequence[Course]) -> Array:
    """Those of all asks, one course after the other; NaN where there was none."""
    return np.array([ask.surprise for course in courses for ask in course.asks], dtype=float)


def table(courses: Sequence[Course]) -> str:
    """Of one algorithm on one problem: for each kind of ask how many there were, and what came of them."""
    first = courses[0]
    lines = [
        f"### {find(first.algorithm).label} on {first.problem}: {len(courses)} runs of {len(first.asks)} evaluations",
        "",
        "| asks by | asks | new best | gained | surprise, median | beyond 2 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    kinds = np.array([ask.kind for course in courses for ask in course.asks])
    gains = np.concatenate([course.gains for course in courses])
    surprised = surprises(courses)
    by_model = kinds != "design"
    total = gains[by_model].sum()
    for kind in [kind for kind in KINDS if (kinds == kind).any()]:
        rows = kinds == kind
        share = f"{gains[rows].sum() / total:.0%}" if kind != "design" and total > 0.0 else ""
        known = surprised[rows][~np.isnan(surprised[rows])]
        middle, far = (number(np.median(known)), f"{(np.abs(known) > 2.0).mean():.0%}") if len(known) else ("", "")
        lines.append(
            f"| {KINDS[kind]} | {rows.sum()} | {(gains[rows] > 0.0).mean():.0%} | {share} | {middle} | {far} |"
        )
    return "\n".join(lines)


LEGEND = """\
New best: how many of these asks found a new best value. Gained: their part of all that the best value grew after the
design. Surprise: how far what came lay above what the model expected, in its standard deviations. Of a model that is
right one in twenty lies beyond 2, and the median a little below 0: points are asked for because they promise much."""
