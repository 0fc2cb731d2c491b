"""What every benchmark problem is: a box, a sum of terms to be maximized, and what is known about both.

A term is one factor's value; a problem without a known decomposition has a single term. Points are in the
problem's own units; `to_unit` and `from_unit` map the box to the unit cube and back, on each parameter's
scale, so that every algorithm sees the same cube.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Scale = Literal["linear", "log"]
Mode = Literal["infer", "known", "random", "none"]

# A shifted optimum keeps this share of the box's width from its faces: at a face it would be easy prey
# for algorithms that like corners.
SHIFT_MARGIN = 0.1


@dataclass(frozen=True)
class BenchmarkProblem:
    """An objective to maximize over a box.

    `terms(x)` gives one value per factor (a single one where `factors` is None), and f is their sum.
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
    movable: bool = False
    noise: float = 0.0

    def __post_init__(self) -> None:
        if not self.scales:
            object.__setattr__(self, "scales", ("linear",) * len(self.bounds))

    @property
    def n_dims(self) -> int:
        return len(self.bounds)

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
        low, high, is_log = self._ends()
        x = np.asarray(x, dtype=float)
        return np.clip((np.where(is_log, np.log(np.where(is_log, x, 1.0)), x) - low) / (high - low), 0.0, 1.0)

    def from_unit(self, u: Array) -> Array:
        low, high, is_log = self._ends()
        x = low + np.clip(u, 0.0, 1.0) * (high - low)
        box = np.array(self.bounds)
        return np.clip(np.where(is_log, np.exp(np.where(is_log, x, 0.0)), x), box[:, 0], box[:, 1])

    def _ends(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        box = np.array(self.bounds, dtype=float)
        is_log = np.array([scale == "log" for scale in self.scales])
        box = np.where(is_log[:, None], np.log(np.where(is_log[:, None], box, 1.0)), box)
        return box[:, 0], box[:, 1], is_log

    def shifted(self, seed: int) -> BenchmarkProblem:
        """The same function with its optimum moved to a random place inside the box."""
        if not self.movable or self.optimizer is None:
            raise ValueError(f"the optimum of {self.name} cannot be moved")
        box = np.array(self.bounds)
        margin = SHIFT_MARGIN * (box[:, 1] - box[:, 0])
        target = np.random.default_rng([seed, 0x5817F7]).uniform(box[:, 0] + margin, box[:, 1] - margin)
        offset = target - np.array(self.optimizer)
        terms = self.terms
        return replace(
            self,
            name=f"{self.name}-shifted",
            terms=lambda x: terms(x - offset),
            optimizer=tuple(map(float, target)),
        )

    def noisy(self, share: float = 0.05) -> BenchmarkProblem:
        """The same function with noise: `share` of the interquartile range of f over the box."""
        rng = np.random.default_rng(0)
        values = [self.f(self.from_unit(u)) for u in rng.random((1000, self.n_dims))]
        low, high = np.quantile(values, [0.25, 0.75])
        return replace(self, name=f"{self.name}-noisy", noise=share * float(high - low))

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
        parameters = [
            {"name": name, "type": "float", "bounds": list(bounds), "scale": scale}
            for name, bounds, scale in zip(self.parameter_names, self.bounds, self.scales, strict=True)
        ]
        return {
            "direction": "maximize",
            "parameters": parameters,
            "decomposition": decomposition,
            "algorithm": algorithm,
        }


def consecutive_blocks(n_dims: int, size: int) -> tuple[tuple[int, ...], ...]:
    """{0..size-1}, {size..2 size-1}, ...; the last one may be shorter."""
    return tuple(tuple(range(start, min(n_dims, start + size))) for start in range(0, n_dims, size))
