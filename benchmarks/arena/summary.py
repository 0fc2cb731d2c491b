"""What the runs say together: mean and standard error, ranks, and which differences are significant.

An algorithm is "not significantly worse" than another when a one-sided Mann-Whitney test over the seeds does
not reject at 5 %. Five against five seeds can reach p = 0.004, where the signed-rank test could not get below
0.031; with fewer than four seeds no difference could ever be significant, and none is tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from benchmarks.arena.run import Run
from benchmarks.rivals import find

SIGNIFICANCE = 0.05
FEWEST_SEEDS = 4


@dataclass(frozen=True)
class Row:
    """One algorithm on one problem after `at` evaluations.

    `p_best` and `p_blind` are the probabilities of looking this much worse than the best algorithm, and than
    the best one without knowledge of the structure, by chance alone.
    """

    problem: str
    algorithm: str
    at: int
    regrets: tuple[float, ...]
    rank: int
    p_best: float
    p_blind: float
    seconds_per_ask: float

    @property
    def mean(self) -> float:
        return float(np.mean(self.regrets))

    @property
    def standard_error(self) -> float:
        n = len(self.regrets)
        return float(np.std(self.regrets, ddof=1) / math.sqrt(n)) if n > 1 else math.nan

    @property
    def blind(self) -> bool:
        return find(self.algorithm).knowledge == "none"

    @property
    def among_the_best(self) -> bool:
        """Not significantly worse than the best."""
        return self.p_best >= SIGNIFICANCE

    @property
    def among_the_best_blind(self) -> bool:
        return self.blind and self.p_blind >= SIGNIFICANCE

    def to_dict(self) -> dict[str, Any]:
        """JSON-able: what is not a number is null."""
        fields = asdict(self) | {"mean": self.mean, "standard_error": self.standard_error}
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in fields.items()}


def p_worse(regrets: Sequence[float], best: Sequence[float]) -> float:
    """The one-sided Mann-Whitney p-value of these regrets being larger; 1 where both are the same runs.

    Not a number where there are too few runs to tell.
    """
    if list(regrets) == list(best):
        return 1.0
    if min(len(regrets), len(best)) < FEWEST_SEEDS:
        return math.nan
    return float(mannwhitneyu(regrets, best, alternative="greater").pvalue)


def summarize(runs: Iterable[Run], at: int | None = None) -> list[Row]:
    """Rows by problem, best mean first; runs shorter than `at` evaluations are left out."""
    rows: list[Row] = []
    by_problem: dict[str, list[Run]] = {}
    for run in runs:
        if at is None or run.budget >= at:
            by_problem.setdefault(run.problem, []).append(run)
    for problem, group in by_problem.items():
        rows += _rows(problem, group, at or min(run.budget for run in group))
    return rows


def _rows(problem: str, runs: Sequence[Run], at: int) -> list[Row]:
    regrets: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    for run in sorted(runs, key=lambda run: run.seed):
        regrets.setdefault(run.algorithm, []).append(run.regret(at))
        seconds.setdefault(run.algorithm, []).append(float(np.mean(run.ask_seconds[:at])))
    order = sorted(regrets, key=lambda name: float(np.mean(regrets[name])))
    # One lucky run is no mark to be measured by.
    tested = [name for name in order if len(regrets[name]) >= FEWEST_SEEDS] or order
    best = regrets[tested[0]]
    blind = next((regrets[name] for name in tested if find(name).knowledge == "none"), best)
    return [
        Row(
            problem=problem,
            algorithm=name,
            at=at,
            regrets=tuple(regrets[name]),
            rank=rank,
            p_best=p_worse(regrets[name], best),
            p_blind=p_worse(regrets[name], blind),
            seconds_per_ask=float(np.mean(seconds[name])),
        )
        for rank, name in enumerate(order, start=1)
    ]


def mean_ranks(rows: Iterable[Row]) -> dict[str, float]:
    """The mean rank of each algorithm over the problems it ran on, best first."""
    ranks: dict[str, list[int]] = {}
    for row in rows:
        ranks.setdefault(row.algorithm, []).append(row.rank)
    return dict(sorted(((name, float(np.mean(r))) for name, r in ranks.items()), key=lambda item: item[1]))
