"""What an ask may spend: a deadline handed in, the time spent by phase, the length of a fit.

The only clock of the core is the one its caller gives.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Budget:
    """Seconds for one ask. Without any, nothing ever expires and results depend on the data and the seed alone."""

    clock: Callable[[], float]
    seconds: float | None = None
    spent: dict[str, float] = field(default_factory=dict)
    cut_short: list[str] = field(default_factory=list)  # phases the deadline ended early
    fit_evaluations: int = 50  # of a fit that has nothing to go on from

    def __post_init__(self) -> None:
        self.start = self.clock()

    def with_fits_of(self, evaluations: int) -> Budget:
        """The same deadline and the same books, with shorter fits."""
        budget = copy.copy(self)
        budget.fit_evaluations = evaluations
        return budget

    def share(self, count: int) -> Budget:
        """One of so many equal shares of the time that is left, in the same books."""
        budget = copy.copy(self)
        budget.start = self.clock()
        if self.seconds is not None:
            budget.seconds = max(0.0, self.start + self.seconds - budget.start) / count
        return budget

    def allows(self, seconds: float) -> bool:
        """Whether so much time is left."""
        return self.seconds is None or self.clock() + seconds <= self.start + self.seconds

    def until(self, share: float) -> Callable[[], bool]:
        """A test that turns true once this share of the budget is gone."""
        if self.seconds is None:
            return lambda: False
        end = self.start + share * self.seconds
        return lambda: self.clock() >= end

    @contextmanager
    def phase(self, name: str, share: float = 1.0) -> Iterator[Callable[[], bool]]:
        """Time a phase, without those inside it; gives the test that tells it to stop."""
        begin, expired, counted = self.clock(), self.until(share), sum(self.spent.values())
        try:
            yield expired
        finally:
            within = sum(self.spent.values()) - counted
            self.spent[name] = self.spent.get(name, 0.0) + self.clock() - begin - within
            if expired():
                self.cut_short.append(name)
