"""What an ask is to reach: ratios within one run and a few absolute marks, each passed, missed or not measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.speed.measure import Measurement
from benchmarks.speed.reference import NAME as REFERENCE

GIB = 2**30
BASE = ("powell-24", 100)


@dataclass(frozen=True)
class Reach:
    """A number that must not exceed its limit; None where what it needs was not measured."""

    what: str
    measured: float | None
    limit: float
    unit: str = "x"

    @property
    def passed(self) -> bool | None:
        return None if self.measured is None else self.measured <= self.limit

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "passed": self.passed}

    def line(self) -> str:
        mark = {True: "pass", False: "MISS", None: "  - "}[self.passed]
        measured = "not measured" if self.measured is None else f"{self.measured:.3g} {self.unit}"
        return f"{mark}  {self.what}: {measured} (at most {self.limit:g} {self.unit})"


def reaches(measurements: Iterable[Measurement], memory: int | None) -> list[Reach]:
    """The marks of the project's speed section."""
    found = {(m.history, m.n_obs, m.algorithm): m for m in measurements}

    def seconds(history: str, n_obs: int, algorithm: str) -> float:
        m = found.get((history, n_obs, algorithm))
        return math.nan if m is None else m.seconds

    def ratio(what: str, limit: float, ours: tuple[str, int, str], theirs: tuple[str, int, str]) -> Reach:
        return Reach(what, _known(seconds(*ours) / seconds(*theirs)), limit)

    inferred, known = (*BASE, "dumbo"), (*BASE, "add-dumbo")
    return [
        ratio("inferred / Optuna GP (Powell-24, t = 100)", 1.0, inferred, (*BASE, "optuna-gp")),
        ratio("inferred / BoTorch (Powell-24, t = 100)", 0.2, inferred, (*BASE, "botorch-logei")),
        ratio("inferred / reference (Powell-24, same t)", 0.01, *_against_reference(found, seconds)),
        ratio("known / inferred (Powell-24, t = 100)", 0.5, known, inferred),
        ratio("t = 800 / t = 100 (Powell-24, inferred)", 30.0, ("powell-24", 800, "dumbo"), inferred),
        Reach("inferred, d = 500, t = 200", _known(seconds("chain-500", 200, "dumbo")), 10.0, "s"),
        Reach("peak memory, d = 100, t = 1,000", None if memory is None else memory / GIB, 2.0, "GiB"),
    ]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _against_reference(
    found: dict[tuple[str, int, str], Measurement], seconds: Callable[[str, int, str], float]
) -> tuple[tuple[str, int, str], tuple[str, int, str]]:
    """The largest history that both were timed on."""
    sizes = [n for (history, n, name) in found if name == REFERENCE and history == BASE[0]]
    n_obs = max((n for n in sizes if not math.isnan(seconds(BASE[0], n, "dumbo"))), default=0)
    return (BASE[0], n_obs, "dumbo"), (BASE[0], n_obs, REFERENCE)
