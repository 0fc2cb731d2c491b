"""A trial as the database holds it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

TrialState = Literal["running", "completed", "failed", "abandoned"]


@dataclass(frozen=True)
class Trial:
    """One point of a study and what became of it, in the order of the table's columns.

    `ask_number` is the number of the first trial of the ask that made it.
    """

    study_id: str
    number: int
    state: TrialState
    parameters: dict[str, Any]
    value: float | None = None
    factor_values: dict[str, float] | None = None
    sem: float | None = None
    reason: str | None = None
    origin: str = "told"
    ask_number: int | None = None
    client_id: str | None = None
    lease_expires_at: datetime | None = None
    asked_at: datetime | None = None
    told_at: datetime | None = None

    @property
    def result(self) -> tuple[object, ...]:
        """What a tell says of it: equal results may be told again, others may not."""
        return self.state, self.value, self.factor_values, self.sem


def better(a: Trial, b: Trial, direction: str) -> bool:
    """Whether completed trial a beats b; of equal ones the earlier number does, whichever was told first."""
    assert a.value is not None
    assert b.value is not None
    if a.value == b.value:
        return a.number < b.number
    return a.value < b.value if direction == "minimize" else a.value > b.value
