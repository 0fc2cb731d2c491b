"""What every benchmark problem is: a box, a sum of terms to be maximized, and what is known about both.

A term is one factor's value; a problem without a known decomposition has a single term. Points are in the
problem's own units; `to_unit` and `from_unit` map the box to the unit cube and back, on each parameter's
scale, so that every algorithm sees the same cube. Whole numbers and choices, which are numbered from zero, own equal
parts of it; `point` and `array` translate between rows of numbers and parameters by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kind = Literal["float", "int", "categorical"]
Scale = Literal["linear", "log"]
Mode = Literal["infer", "known", "random", "none"]

FLOAT: Kind = "float"
INT: Kind = "int"
CATEGORICAL: Kind = "categorical"


class Parameter(NamedTuple):
    """One variable, as packages want to be told of it."""

    name: str
    kind: Kind
    bounds: tuple[float, float]
    scale: Scale

    @property
    def choices(self) -> list[int]:
        """Of a categorical one."""
        return list(range(int(self.bounds[1]) + 1))

    def to_spec(self) -> dict[str, Any]:
        if self.kind == CATEGORICAL:
            return {"name": self.name, "type": self.kind, "values": self.choices}
        return {"name": self.name, "type": self.kind, "bounds": list(self.bounds), "scale": self.scale}


@dataclass(frozen=True)
class BenchmarkProblem:
    """An objective to maximize over a box.

    `terms(x)` gives one value per factor (a single one where `factors` is None), and f is their sum. Parameters are
    floats where `kinds` says nothing else; choices are numbered, and have bounds of 0 and the last one's number.
    `optimum` is the largest value of f where it is known, `optimizer` a point that has it. `movable` says
    that f is defined beyond the box and nowhere larger than `optimum`, so that its optimum may be moved.
    `noise` is the standard deviation of what `observe` adds.
    """

    name: str
    bounds: tuple[tuple[float, float], ...]
    terms: Callable[[Array], Array] = field(repr=False)
    factors: tuple[tuple[int, ...], ...] | None = None
    optimum: float | None = None
    optimizer: tuple[float, ...] | None = None
    scales: tuple[Scale, ...] = ()
    kinds: tuple[Kind, ...] = ()
    movable: bool = False
    noise: float = 0.0

    def __post_init__(self) -> None:
        if not self.scales:
            object.__setattr__(self, "scales", ("linear",) * len(self.bounds))
        if not self.kinds:
            object.__setattr__(self, "kinds", (FLOAT,) * len(self.bounds))

    @property
    def n_dims(self) -> int:
        return len(self.bounds)

    @property
    def is_mixed(self) -> bool:
        """Whether some parameters are whole numbers or choices."""
        return set(self.kinds) != {FLOAT}

    @property
    def parameters(self) -> list[Parameter]:
        return [Parameter(*row) for row in zip(self.parameter_names, self.kinds, self.bounds, self.scales, strict=True)]

    @property
    def parameter_names(self) -> list[str]:
        return [f"x{j}" for j in range(self.n_dims)]

    @property
    def factor_names(self) -> list[str]:
        return [f"f{i}" for i in range(len(self.factors or ()))]

    def f(self, x: Array) -> float:
        """The objective without noise."""
        return math.fsum(self.terms(np.asarray(x, dtype=float)))

    def factor_values(self, x: Array) -> dict[str, float]:
        """The value of each known factor; they sum to f."""
        if self.factors is None:
            raise ValueError(f"{self.name} has no known decomposition")
        return dict(zip(self.factor_names, map(float, self.terms(np.asarray(x, dtype=float))), strict=True))

    def observe(self, x: Array, rng: np.random.Generator) -> tuple[float, dict[str, float] | None]:
        """One noisy evaluation: the value, and the factor values where the decomposition is known."""
        terms = np.asarray(self.terms(np.asarray(x, dtype=float)), dtype=float)
        if self.noise:
            terms = terms + rng.normal(scale=self.noise / math.sqrt(len(terms)), size=len(terms))
        values = [float(v) for v in terms]
        return math.fsum(values), dict(zip(self.factor_names, values, strict=True)) if self.factors else None

    def regret(self, value: float) -> float:
        """How far a value lies below the optimum; minus the value where no optimum is known."""
        return (self.optimum or 0.0) - value

    def to_unit(self, x: Array) -> Array:
        low, high = self._ends()
        x = np.asarray(x, dtype=float)
        scaled = np.where(self._is_log, np.log(np.where(self._is_log, x, 1.0)), x)
        return np.clip((scaled - low) / (high - low), 0.0, 1.0)

    def from_unit(self, u: Array) -> Array:
        low, high = self._ends()
        x = low + np.clip(u, 0.0, 1.0) * (high - low)
        x = np.where(self._is_log, np.exp(np.where(self._is_log, x, 0.0)), x)
        box = np.array(self.bounds)
        return np.clip(np.where(self._is_whole, np.rint(x), x), box[:, 0], box[:, 1])

    @property
    def _is_log(self) -> NDArray[np.bool_]:
        return np.array([scale == "log" for scale in self.scales])

    @property
    def _is_whole(self) -> NDArray[np.bool_]:
        return np.array([kind != FLOAT for kind in self.kinds])

    def _ends(self) -> tuple[Array, Array]:
        """Of the unit cube; the part of a whole number reaches half a step to both sides."""
        box = np.array(self.bounds, dtype=float) + np.where(self._is_whole, 0.5, 0.0)[:, None] * [-1.0, 1.0]
        box = np.where(self._is_log[:, None], np.log(np.where(self._is_log[:, None], box, 1.0)), box)
        return box[:, 0], box[:, 1]

    def point(self, x: Array) -> dict[str, float | int]:
        """The parameters by name."""
        values = (float(v) if kind == FLOAT else int(v) for v, kind in zip(x, self.kinds, strict=True))
        return dict(zip(self.parameter_names, values, strict=True))

    def array(self, point: Mapping[str, Any]) -> Array:
        """The same as a row of numbers."""
        return np.array([float(point[name]) for name in self.parameter_names])

    def to_spec(self, mode: Mode = "infer", **algorithm: Any) -> dict[str, Any]:
        """The study spec of this problem, for `core.Problem.from_dict` and for `POST /v1/studies`."""
        decomposition: dict[str, Any] = {"mode": mode}
        if mode == "known":
            if self.factors is None:
                raise ValueError(f"{self.name} has no known decomposition")
            decomposition["factors"] = [
                {"name": name, "parameters": [f"x{j}" for j in factor]}
                for name, factor in zip(self.factor_names, self.factors, strict=True)
            ]
        return {
            "direction": "maximize",
            "parameters": [parameter.to_spec() for parameter in self.parameters],
            "decomposition": decomposition,
            "algorithm": algorithm,
        }


def consecutive_blocks(n_dims: int, size: int) -> tuple[tuple[int, ...], ...]:
    """{0..size-1}, {size..2 size-1}, ...; the last one may be shorter."""
    return tuple(tuple(range(start, min(n_dims, start + size))) for start in range(0, n_dims, size))
