"""What is to be optimized, and what is known of it so far: plain, checked data.

A `Problem` is parameters, a direction, a decomposition and the knobs of the algorithm. An `Observation` is one
point with what became of it. Everything here is numpy-free and torch-free, so that a web process can check a
request without loading either. Checks collect every fault before they raise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from operator import ge, le
from typing import Any, Literal, TypeAlias, get_args

from core.errors import Fault, InvalidObservation, InvalidPoint, InvalidProblem

Value: TypeAlias = float | int | str | bool
Loc: TypeAlias = tuple[str | int, ...]
ParameterType = Literal["float", "int", "ordinal", "categorical"]
Scale = Literal["linear", "log"]
Direction = Literal["minimize", "maximize"]
Mode = Literal["infer", "known", "random", "none"]
Kernel = Literal["matern52", "squared_exponential", "rational_quadratic"]
Schedule = Literal["theory", "practical"]
BetaSchedule = Literal["auto", "theory", "practical"]
Neighborhood = Literal["sample", "union"]
Transform = Literal["auto", "none"]
State = Literal["completed", "failed", "abandoned"]

MAX_INT = 2**40  # within it the unit cube holds every integer, exactly there and back
MAX_SEED = 2**53 - 1
MAX_SAMPLES = 50
MAX_PROPOSALS = 100_000


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond the range of a float
        return False


def _is_whole(value: object, low: float, high: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


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
        if self.bounds is None or len(self.bounds) != 2 or not all(map(_is_number, self.bounds)):
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
            if not (isinstance(value, str | bool) or _is_number(value)):
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
        if not _is_number(value) or not low <= (number := float(value)) <= high:  # type: ignore[arg-type]
            raise ValueError(f"expected a number in [{low}, {high}], got {value!r}")
        if self.type == "int":
            if number != int(number):
                raise ValueError(f"expected a whole number, got {value!r}")
            return int(number)
        return number


@dataclass(frozen=True)
class Factor:
    """One summand of the objective: a name, and the parameters it depends on."""

    name: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Decomposition:
    """How the objective splits into a sum: given, inferred, drawn at random, or not at all."""

    mode: Mode = "infer"
    factors: tuple[Factor, ...] = ()
    max_factor_size: int | None = None
    samples: int = 5

    def faults(self, names: Sequence[str]) -> Iterable[Fault]:
        if self.mode not in get_args(Mode):
            yield Fault(("mode",), f"expected one of {', '.join(get_args(Mode))}, got {self.mode!r}")
        if self.mode == "known":
            yield from self._factor_faults(names)
        elif self.factors:
            yield Fault(("factors",), f"factors go with mode known, not {self.mode}")
        if self.max_factor_size is not None and not _is_whole(self.max_factor_size, 1):
            yield Fault(("max_factor_size",), f"expected a whole number of at least 1, got {self.max_factor_size}")
        if not _is_whole(self.samples, 1, MAX_SAMPLES):
            yield Fault(("samples",), f"expected a whole number from 1 to {MAX_SAMPLES}, got {self.samples}")

    def _factor_faults(self, names: Sequence[str]) -> Iterable[Fault]:
        if not self.factors:
            yield Fault(("factors",), "mode known needs at least one factor")
        seen: set[str] = set()
        known = set(names)
        for i, factor in enumerate(self.factors):
            if factor.name in seen:
                yield Fault(("factors", i, "name"), f"{factor.name!r} is used twice")
            seen.add(factor.name)
            if not factor.parameters:
                yield Fault(("factors", i, "parameters"), "a factor needs at least one parameter")
            for j, name in enumerate(factor.parameters):
                if name not in known:
                    yield Fault(("factors", i, "parameters", j), f"unknown parameter {name!r}")
                elif name in factor.parameters[:j]:
                    yield Fault(("factors", i, "parameters", j), f"{name!r} is listed twice")
        covered = {name for factor in self.factors for name in factor.parameters}
        if missing := [name for name in names if name not in covered]:
            yield Fault(("factors",), f"factors must cover every parameter; missing: {', '.join(missing)}")


@dataclass(frozen=True)
class Algorithm:
    """The optional knobs. `initial_trials` None lets the core choose; `beta` is a schedule's name or a number."""

    seed: int = 0
    initial_trials: int | None = None
    beta: BetaSchedule | float = "auto"
    kernel: Kernel = "matern52"
    neighborhood: Neighborhood = "union"
    transform: Transform = "auto"
    proposals: int = 100  # Metropolis-Hastings moves tried per ask

    def faults(self) -> Iterable[Fault]:
        if not _is_whole(self.seed, 0, MAX_SEED):
            yield Fault(("seed",), f"expected a whole number from 0 to 2^53 - 1, got {self.seed}")
        if self.initial_trials is not None and not _is_whole(self.initial_trials, 1):
            yield Fault(("initial_trials",), f"expected a whole number of at least 1, got {self.initial_trials}")
        if isinstance(self.beta, str):
            if self.beta not in get_args(BetaSchedule):
                choices = ", ".join(get_args(BetaSchedule))
                yield Fault(("beta",), f"expected a number or one of {choices}, got {self.beta!r}")
        elif not _is_number(self.beta) or self.beta < 0:
            yield Fault(("beta",), f"expected a number of at least 0, got {self.beta!r}")
        for name, allowed in (("kernel", Kernel), ("neighborhood", Neighborhood), ("transform", Transform)):
            if getattr(self, name) not in get_args(allowed):
                yield Fault((name,), f"expected one of {', '.join(get_args(allowed))}, got {getattr(self, name)!r}")
        if not _is_whole(self.proposals, 0, MAX_PROPOSALS):
            yield Fault(("proposals",), f"expected a whole number from 0 to {MAX_PROPOSALS}, got {self.proposals}")


@dataclass(frozen=True)
class Problem:
    """Parameters, direction, decomposition and knobs. Checked when made."""

    parameters: tuple[Parameter, ...]
    direction: Direction
    decomposition: Decomposition = field(default_factory=Decomposition)
    algorithm: Algorithm = field(default_factory=Algorithm)

    def __post_init__(self) -> None:
        if faults := list(self._faults()):
            raise InvalidProblem(faults)

    def _faults(self) -> Iterable[Fault]:
        if self.direction not in get_args(Direction):
            yield Fault(("direction",), f"expected minimize or maximize, got {self.direction!r}")
        if not self.parameters:
            yield Fault(("parameters",), "expected at least one parameter")
        seen: set[str] = set()
        for i, parameter in enumerate(self.parameters):
            if parameter.name in seen:
                yield Fault(("parameters", i, "name"), f"{parameter.name!r} is used twice")
            seen.add(parameter.name)
            yield from (Fault(("parameters", i, *f.loc), f.msg) for f in parameter.faults())
        yield from (Fault(("decomposition", *f.loc), f.msg) for f in self.decomposition.faults(self.names))
        yield from (Fault(("algorithm", *f.loc), f.msg) for f in self.algorithm.faults())

    @cached_property
    def names(self) -> list[str]:
        return [parameter.name for parameter in self.parameters]

    @cached_property
    def _names(self) -> set[str]:
        return set(self.names)

    @cached_property
    def _float_bounds(self) -> tuple[list[float], list[float]] | None:
        """Both ends of the ranges, where all parameters are floats."""
        bounds = [p.bounds for p in self.parameters if p.type == "float" and p.bounds is not None]
        if len(bounds) < len(self.parameters):
            return None
        return [low for low, _ in bounds], [high for _, high in bounds]

    @property
    def sign(self) -> float:
        """The core maximizes; a minimized objective is turned over by this factor."""
        return 1.0 if self.direction == "maximize" else -1.0

    @classmethod
    def from_dict(cls, spec: Mapping[str, Any]) -> Problem:
        """A problem from JSON-like data of the study spec's shape. Unknown keys are refused."""
        try:
            decomposition = dict(spec.get("decomposition") or {})
            decomposition["factors"] = tuple(
                Factor(f["name"], tuple(f["parameters"])) for f in decomposition.get("factors") or ()
            )
            return cls(
                parameters=tuple(_parameter(p) for p in spec["parameters"]),
                direction=spec["direction"],
                decomposition=Decomposition(**decomposition),
                algorithm=Algorithm(**(spec.get("algorithm") or {})),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidProblem(f"malformed problem: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; `Problem.from_dict` gives the same problem back."""
        return asdict(self)

    def check_point(self, point: Mapping[str, Any], *, partial: bool = False) -> dict[str, Value]:
        """The point with each value as its parameter stores it, in the problem's order.

        `partial` allows parameters to be left out, as for values fixed during one ask.
        """
        if plain := self._plain(point):
            return plain
        faults = [Fault((name,), "unknown parameter") for name in point if name not in self._names]
        checked: dict[str, Value] = {}
        for parameter in self.parameters:
            if parameter.name in point:
                try:
                    checked[parameter.name] = parameter.check(point[parameter.name])
                except ValueError as error:
                    faults.append(Fault((parameter.name,), str(error)))
            elif not partial:
                faults.append(Fault((parameter.name,), "missing"))
        if faults:
            raise InvalidPoint(faults)
        return checked

    def _plain(self, point: Mapping[str, Any]) -> dict[str, Value] | None:
        """The point, if it is nothing but floats in their ranges: nearly always so, and a history has thousands."""
        if len(point) != len(self.parameters) or self._float_bounds is None:
            return None
        values: list[Any] = [point.get(name) for name in self.names]
        low, high = self._float_bounds
        if set(map(type, values)) == {float} and all(map(le, low, values)) and all(map(ge, high, values)):
            return dict(zip(self.names, values, strict=True))
        return None

    def check_values(
        self, value: float | None, factor_values: Mapping[str, float] | None, sem: float | None
    ) -> tuple[float, dict[str, float] | None, float | None]:
        """The observed value (the sum of the factor values where those are given), factor values and standard error."""
        faults: list[Fault] = []
        if value is not None and not _is_number(value):
            faults.append(Fault(("value",), f"expected a finite number, got {value!r}"))
        if sem is not None and not (_is_number(sem) and sem >= 0):
            faults.append(Fault(("sem",), f"expected a finite number of at least 0, got {sem!r}"))
        if factor_values is not None:
            faults += self._factor_value_faults(factor_values)
        elif value is None:
            faults.append(Fault(("value",), "expected a value or factor_values"))
        if faults:
            raise InvalidObservation(faults)
        if factor_values is None:
            assert value is not None
            return float(value), None, sem
        ordered = {factor.name: float(factor_values[factor.name]) for factor in self.decomposition.factors}
        if not math.isfinite(sum(ordered.values())):
            raise InvalidObservation([Fault(("factor_values",), "their sum overflows")])
        total = math.fsum(ordered.values())
        rounding = 1e-9 * math.fsum(map(abs, ordered.values()))
        if value is not None and abs(value - total) > max(rounding, 1e-12 * abs(value)):
            raise InvalidObservation([Fault(("value",), f"{value} differs from the sum of the factor values, {total}")])
        return total, ordered, sem

    def _factor_value_faults(self, factor_values: Mapping[str, float]) -> Iterable[Fault]:
        if self.decomposition.mode != "known":
            yield Fault(("factor_values",), "factor values need a decomposition of mode known")
            return
        names = [factor.name for factor in self.decomposition.factors]
        yield from (Fault(("factor_values", n), "unknown factor") for n in factor_values if n not in names)
        for name in names:
            if name not in factor_values:
                yield Fault(("factor_values", name), "missing")
            elif not _is_number(factor_values[name]):
                yield Fault(("factor_values", name), f"expected a finite number, got {factor_values[name]!r}")


def _parameter(spec: Mapping[str, Any]) -> Parameter:
    fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list | tuple) else v for key, v in spec.items()}
    return Parameter(**fields)


@dataclass(frozen=True)
class Observation:
    """One point and what became of it.

    A completed one has a value, or one value per factor (by name), and may have the standard error `sem` of the
    value. A failed or abandoned one has none; the core remembers the point.
    """

    parameters: Mapping[str, Value]
    value: float | None = None
    factor_values: Mapping[str, float] | None = None
    sem: float | None = None
    state: State = "completed"
