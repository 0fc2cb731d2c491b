"""DEC-HBO (Hoang et al. 2018): the sum of factor-wise upper confidence bounds, maximized by max-sum on a grid.

Factors have up to three variables, as in its authors' experiments. The decomposition is sampled by Metropolis-Hastings
on the evidence, continued from ask to ask.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from benchmarks.problems import Array, BenchmarkProblem
from benchmarks.rivals.additive_gp import AdditiveGP, Factors, condition, fit
from benchmarks.rivals.base import Rival
from benchmarks.rivals.max_sum import max_sum

MAX_FACTOR_SIZE = 3
GRID = 16
PROPOSALS = 30


class DecHBO(Rival):
    """A grid with a new offset at each ask and the incumbent's own values in it, so that no value is out of reach."""

    def __init__(self, problem: BenchmarkProblem, seed: int) -> None:
        super().__init__(problem, seed)
        self.factors: Factors = tuple((j,) for j in range(self.n_dims))
        self._theta: Array | None = None

    def suggest(self) -> Array:
        U, y = self.U, self.y
        self._theta = fit(U, y, self.factors, self._theta)
        model = self._sample_decomposition(U, y, self._theta)
        grid = self._grid(U[np.argmax(y)])
        root_beta = math.sqrt(0.2 * max(map(len, self.factors)) * math.log(2 * len(y)))
        tables = [_bound_table(model, i, grid, root_beta) for i in range(len(self.factors))]
        return grid[np.arange(self.n_dims), max_sum(tables, self.factors, self.n_dims)]

    def _sample_decomposition(self, U: Array, y: Array, theta: Array) -> AdditiveGP:
        """Move single variables between factors, accepted by the ratio of evidences."""
        model = condition(U, y, self.factors, theta)
        for _ in range(PROPOSALS):
            proposed = move_variable(self.factors, self.n_dims, self.rng)
            candidate = condition(U, y, proposed, theta)
            gain = float(candidate.log_evidence() - model.log_evidence())
            if math.log(self.rng.random()) < gain:
                self.factors, model = proposed, candidate
        return model

    def _grid(self, incumbent: Array) -> Array:
        """d x GRID values"""
        cells = (np.arange(GRID - 1) + self.rng.random((self.n_dims, 1))) / (GRID - 1)
        return np.concatenate([incumbent[:, None], cells], axis=1)


def move_variable(factors: Factors, n_dims: int, rng: np.random.Generator) -> Factors:
    """One variable leaves its factor for another with room, or for one of its own."""
    j = int(rng.integers(n_dims))
    groups = [[v for v in factor if v != j] for factor in factors]
    homes = [group for group in groups if 0 < len(group) < MAX_FACTOR_SIZE]
    choice = int(rng.integers(len(homes) + 1))
    if choice < len(homes):
        homes[choice].append(j)
    else:
        groups.append([j])
    return tuple(tuple(sorted(group)) for group in groups if group)


def _bound_table(model: AdditiveGP, i: int, grid: Array, root_beta: float) -> Array:
    """The factor's upper confidence bound at every combination of its variables' values."""
    factor = model.factors[i]
    points = np.array(list(product(*(grid[j] for j in factor))))
    mean, sd = model.factor_posterior(i, points)
    return (mean + root_beta * sd).reshape((GRID,) * len(factor))
