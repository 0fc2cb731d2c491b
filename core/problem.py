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
from typing import Any, Literal, get_args

from core.errors import Fault, InvalidObservation, InvalidPoint, InvalidProblem
from core.parameter import Parameter, Value, is_number

Direction = Literal["minimize", "maximize"]
Mode = Literal["infer", "known", "random", "none"]
Kernel = Literal["matern52", "squared_exponential", "rational_quadratic"]
Schedule = Literal["theory", "practical"]
BetaSchedule = Literal["auto", "theory", "practical"]
Neighborhood = Literal["sample", "union"]
Transform = Literal["auto", "none"]
State = Literal["completed", "failed", "abandoned"]

MAX_SEED = 2**53 - 1
MAX_SAMPLES = 50
MAX_PROPOSALS = 100_000


def _is_whole(value: object, low: float, high: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


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
        elif not is_number(self.beta) or self.beta < 0:
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
        if value is not None and not is_number(value):
            faults.append(Fault(("value",), f"expected a finite number, got {value!r}"))
        if sem is not None and not (is_number(sem) and sem >= 0):
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
            elif not is_number(factor_values[name]):
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
