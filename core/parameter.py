"""One variable of the search space, and the values it may take: plain, checked data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from core.errors import Fault

Value: TypeAlias = float | int | str | bool
ParameterType = Literal["float", "int", "ordinal", "categorical"]
Scale = Literal["linear", "log"]

MAX_INT = 2**40  # within it the unit cube holds every integer, exactly there and back


def is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond the range of a float
        return False


def _same(a: Value, b: Value) -> bool:
    """Equal as JSON values: true is not 1, but 1 is 1.0."""
    return isinstance(a, bool) == isinstance(b, bool) and a == b


@dataclass(frozen=True)
class Parameter:
    """One variable of the search space."""

    name: str
    type: ParameterType
    bounds: tuple[float, float] | None = None
    scale: Scale = "linear"
    values: tuple[Value, ...] | None = None

    @property
    def n_values(self) -> float:
        """How many values it can take; infinite for a float range."""
        if self.values is not None:
            return len(self.values)
        assert self.bounds is not None
        low, high = self.bounds
        if self.type == "int":
            return high - low + 1
        return 1 if low == high else math.inf

    def faults(self) -> Iterable[Fault]:
        if self.type not in get_args(ParameterType):
            yield Fault(("type",), f"expected one of {', '.join(get_args(ParameterType))}, got {self.type!r}")
        elif self.type in ("float", "int"):
            yield from self._range_faults()
        else:
            yield from self._list_faults()

    def _range_faults(self) -> Iterable[Fault]:
        if self.values is not None:
            yield Fault(("values",), f"a parameter of type {self.type} takes bounds, not values")
        if self.scale not in get_args(Scale):
            yield Fault(("scale",), f"expected linear or log, got {self.scale!r}")
        if self.bounds is None or len(self.bounds) != 2 or not all(map(is_number, self.bounds)):
            yield Fault(("bounds",), "expected two finite numbers [low, high]")
            return
        low, high = self.bounds
        if low > high:
            yield Fault(("bounds",), f"low must not exceed high, got [{low}, {high}]")
        if self.scale == "log" and low <= 0:
            yield Fault(("bounds",), f"a log scale needs bounds above zero, got low = {low}")
        if self.type == "int" and any(b != int(b) or abs(b) > MAX_INT for b in self.bounds):
            yield Fault(("bounds",), f"an int parameter needs whole bounds within ±2^40, got [{low}, {high}]")
        if self.type == "float" and not math.isfinite(high - low):
            yield Fault(("bounds",), "high - low overflows; use narrower bounds or a log scale")

    def _list_faults(self) -> Iterable[Fault]:
        if self.bounds is not None:
            yield Fault(("bounds",), f"a parameter of type {self.type} takes values, not bounds")
        if self.scale != "linear":
            yield Fault(("scale",), f"a parameter of type {self.type} has no scale")
        if not self.values:
            yield Fault(("values",), "expected at least one value")
            return
        for i, value in enumerate(self.values):
            if not (isinstance(value, str | bool) or is_number(value)):
                yield Fault(("values", i), "expected a string, a boolean or a finite number")
            elif any(_same(value, other) for other in self.values[:i]):
                yield Fault(("values", i), f"{value!r} is listed twice")

    def check(self, value: object) -> Value:
        """The value as this parameter stores it, or ValueError saying what it may be."""
        if self.values is not None:
            for known in self.values:
                if isinstance(value, str | bool | int | float) and _same(value, known):
                    return known
            raise ValueError(f"expected one of {list(self.values)!r}, got {value!r}")
        assert self.bounds is not None
        low, high = self.bounds
        if not is_number(value) or not low <= (number := float(value)) <= high:  # type: ignore[arg-type]
            raise ValueError(f"expected a number in [{low}, {high}], got {value!r}")
        if self.type == "int":
            if number != int(number):
                raise ValueError(f"expected a whole number, got {value!r}")
            return int(number)
        return number
