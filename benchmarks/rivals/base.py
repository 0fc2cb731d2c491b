"""The one interface of every algorithm in the arena, and what those on the unit cube have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol

import numpy as np
from scipy.stats import qmc

from benchmarks.problems import Array, BenchmarkProblem

N_INITIAL = 10


class Optimizer(Protocol):
    """Asked for a point in the problem's own units, then told what was observed there.

    `Y` maps factor names to their values; only algorithms that use decomposed output look at it.
    """

    def ask(self) -> Array: ...

    def tell(self, x: Array, y: float, Y: Mapping[str, float] | None = None) -> None: ...


class Rival(ABC):
    """An algorithm on the unit cube that starts from a scrambled Sobol design and maximizes.

    Subclasses give `suggest`, which sees everything told so far as `self.U` (t x d) and `self.y` (t).
    """

    n_initial = N_INITIAL

    def __init__(self, problem: BenchmarkProblem, seed: int) -> None:
        self.problem = problem
        self.n_dims = problem.n_dims
        self.seed = seed
        self.rng = np.random.default_rng([seed, 0xA5])
        self._initial = sobol_points(self.n_dims, self.n_initial, seed)
        self._told_u: list[Array] = []
        self._told_y: list[float] = []

    @property
    def U(self) -> Array:  # noqa: N802
        return np.array(self._told_u).reshape(-1, self.n_dims)

    @property
    def y(self) -> Array:
        return np.array(self._told_y)

    def ask(self) -> Array:
        n_told = len(self._told_y)
        u = self._initial[n_told] if n_told < len(self._initial) else self.suggest()
        return self.problem.from_unit(u)

    def tell(self, x: Array, y: float, Y: Mapping[str, float] | None = None) -> None:
        self._told_u.append(self.problem.to_unit(x))
        self._told_y.append(y)

    @abstractmethod
    def suggest(self) -> Array:
        """The next point of the unit cube, from what was told."""


def sobol_points(n_dims: int, n: int, seed: int) -> Array:
    """n points of a scrambled Sobol sequence (n x d)."""
    power = max(0, int(np.ceil(np.log2(max(1, n)))))  # the sequence is balanced at powers of two
    return np.asarray(qmc.Sobol(n_dims, rng=np.random.default_rng(seed)).random_base2(power)[:n])
