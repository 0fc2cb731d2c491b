"""What the core raises.

CoreError
├── InvalidProblem     the search space, the decomposition or a knob makes no sense
├── InvalidPoint       parameters that are not a point of the search space
├── InvalidObservation a value, factor values or a standard error that cannot be used
├── InvalidState       a stored model state that this version cannot read
├── SpaceExhausted     fewer points are left to propose than were asked for
└── NumericalError     linear algebra failed; carries the last iterate where there is one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fault:
    """One thing wrong with the input: where it stands, and what to change."""

    loc: tuple[str | int, ...]
    msg: str

    def __str__(self) -> str:
        where = ".".join(str(part) for part in self.loc)
        return f"{where}: {self.msg}" if where else self.msg


class CoreError(Exception):
    """Any error the core raises on purpose."""


class _InputError(CoreError):
    """Bad input, with every fault found in it."""

    def __init__(self, faults: Sequence[Fault] | str) -> None:
        self.faults = [Fault((), faults)] if isinstance(faults, str) else list(faults)
        super().__init__("; ".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[type[_InputError], tuple[list[Fault]]]:
        return type(self), (self.faults,)


class InvalidProblem(_InputError):
    """The search space, the decomposition or a knob makes no sense."""


class InvalidPoint(_InputError):
    """Parameters that are not a point of the search space."""


class InvalidObservation(_InputError):
    """A value, factor values or a standard error that cannot be used."""


class InvalidState(CoreError):
    """A stored model state that this version cannot read."""


class SpaceExhausted(CoreError):
    """Fewer points are left to propose than were asked for."""


class NumericalError(CoreError):
    """Linear algebra failed. `last_iterate` is what there was before."""

    def __init__(self, message: str, last_iterate: Any = None) -> None:
        super().__init__(message)
        self.last_iterate = last_iterate
