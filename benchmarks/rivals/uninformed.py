"""Random search and a Sobol sequence: what every optimizer has to beat."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from benchmarks.problems import Array, BenchmarkProblem
from benchmarks.rivals.base import Rival


class RandomSearch(Rival):
    """Uniform and independent."""

    n_initial = 0

    def suggest(self) -> Array:
        return self.rng.random(self.n_dims)


class SobolSearch(Rival):
    """A scrambled low-discrepancy sequence."""

    n_initial = 0

    def __init__(self, problem: BenchmarkProblem, seed: int) -> None:
        super().__init__(problem, seed)
        self._sequence = qmc.Sobol(self.n_dims, rng=np.random.default_rng(seed))

    def suggest(self) -> Array:
        return np.asarray(self._sequence.random(1)[0])
