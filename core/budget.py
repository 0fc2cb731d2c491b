"""A deadline handed in, and the time spent by phase. The only clock of the core is the one its caller gives."""

from __future__ import annotations

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

    def __post_init__(self) -> None:
        self.start = self.clock()

    def until(self, share: float) -> Callable[[], bool]:
        """A test that turns true once this share of the budget is gone."""
        if self.seconds is None:
            return lambda: False
        end = self.start + share * self.seconds
        return lambda: self.clock() >= end

    @contextmanager
    def phase(self, name: str, share: float = 1.0) -> Iterator[Callable[[], bool]]:
        """Time a phase; gives the test that tells it to stop."""
        begin, expired = self.clock(), self.until(share)
        try:
            yield expired
        finally:
            self.spent[name] = self.spent.get(name, 0.0) + self.clock() - begin
            if expired():
                self.cut_short.append(name)
