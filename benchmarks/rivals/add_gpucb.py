"""ADD-GPUCB (Kandasamy et al. 2015) with factors of one variable, as the DuMBO paper runs it.

The acquisition is the sum of each factor's own upper confidence bound, so that it is maximized variable by variable.
"""

from __future__ import annotations

import numpy as np

from benchmarks.problems import Array, BenchmarkProblem
from benchmarks.rivals.additive_gp import condition, fit
from benchmarks.rivals.base import Rival

GRID = 1001


class AddGPUCB(Rival):
    """beta_t = 0.2 d log(2t), d the size of a factor, as its authors recommend."""

    def __init__(self, problem: BenchmarkProblem, seed: int) -> None:
        super().__init__(problem, seed)
        self.factors = tuple((j,) for j in range(self.n_dims))
        self._theta: Array | None = None

    def suggest(self) -> Array:
        U, y = self.U, self.y
        self._theta = fit(U, y, self.factors, self._theta)
        model = condition(U, y, self.factors, self._theta)
        root_beta = np.sqrt(0.2 * np.log(2 * len(y)))
        grid = np.linspace(0, 1, GRID)
        u = np.empty(self.n_dims)
        for j in range(self.n_dims):
            mean, sd = model.factor_posterior(j, grid[:, None])
            bound = mean + root_beta * sd
            # A variable without effect is flat: any of its best values will do, and always the first would not explore.
            u[j] = grid[self.rng.choice(np.flatnonzero(bound >= bound.max() - 1e-9))]
        return u
