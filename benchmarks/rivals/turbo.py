"""TuRBO-1 (Eriksson et al. 2019): Thompson sampling in one trust region that grows, shrinks and restarts.

The region is a box around the incumbent, its sides in proportion to the model's lengthscales. Three successes in a
row double it, d failures in a row halve it; when it gets too small everything is forgotten and begun again elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from botorch.models.gp_regression import SingleTaskGP
from botorch.sampling.pathwise import draw_matheron_paths
from gpytorch.constraints import Interval
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood

from benchmarks.problems import Array, BenchmarkProblem
from benchmarks.rivals.base import Rival, sobol_points
from benchmarks.rivals.botorch_models import fit_standard_model, seeded

LENGTH_START, LENGTH_MIN, LENGTH_MAX = 0.8, 0.5**7, 1.6
SUCCESS_TOLERANCE = 3
MIN_IMPROVEMENT = 1e-3  # relative; less is no success
MAX_CANDIDATES = 5000
PERTURBED_DIMS = 20  # of a candidate, on average: in many dimensions moving all of them at once is hopeless


@dataclass
class TrustRegion:
    """The side length before it is stretched by lengthscales, and what it has seen."""

    n_dims: int
    length: float = LENGTH_START
    successes: int = 0
    failures: int = 0

    def update(self, best: float, y: float) -> None:
        """Count the new value against the best before it, and resize when enough came in a row."""
        improved = y > best + MIN_IMPROVEMENT * abs(best)
        self.successes, self.failures = (self.successes + 1, 0) if improved else (0, self.failures + 1)
        if self.successes == SUCCESS_TOLERANCE:
            self.length, self.successes = min(2 * self.length, LENGTH_MAX), 0
        elif self.failures == max(4, self.n_dims):
            self.length, self.failures = self.length / 2, 0

    @property
    def exhausted(self) -> bool:
        return self.length < LENGTH_MIN

    def box(self, center: Array, lengthscales: Array) -> tuple[Array, Array]:
        """Lower and upper ends: a box of volume length^d before it is cut at the cube's faces."""
        stretch = lengthscales / np.exp(np.mean(np.log(lengthscales)))
        return np.clip(center - stretch * self.length / 2, 0, 1), np.clip(center + stretch * self.length / 2, 0, 1)


class Turbo(Rival):
    """One trust region, one point at a time. `self.U` and `self.y` hold what was told since the last restart."""

    def __init__(self, problem: BenchmarkProblem, seed: int) -> None:
        super().__init__(problem, seed)
        self.region = TrustRegion(self.n_dims)
        self.n_restarts = 0

    def tell(self, x: Array, y: float, Y: Mapping[str, float] | None = None) -> None:
        started = len(self._told_y) >= len(self._initial)
        if started:
            self.region.update(max(self._told_y), y)
        super().tell(x, y, Y)
        if started and self.region.exhausted:
            self._restart()

    def _restart(self) -> None:
        self.n_restarts += 1
        self.region = TrustRegion(self.n_dims)
        self._told_u, self._told_y = [], []
        self._initial = sobol_points(self.n_dims, self.n_initial, self.seed + 1_000_003 * self.n_restarts)

    def suggest(self) -> Array:
        with seeded(int(self.rng.integers(2**31))):
            model = fit_standard_model(self.U, self.y, covar_module=self._kernel(), likelihood=self._likelihood())
            lengthscales = model.covar_module.base_kernel.lengthscale.detach().numpy().ravel()
            candidates = self.candidates(lengthscales)
            return candidates[_thompson_best(model, candidates)]

    def candidates(self, lengthscales: Array) -> Array:
        """Sobol points of the region, each put into only some coordinates of the incumbent."""
        center = self.U[np.argmax(self.y)]
        low, high = self.region.box(center, lengthscales)
        n = min(MAX_CANDIDATES, max(2000, 200 * self.n_dims))
        points = low + (high - low) * sobol_points(self.n_dims, n, int(self.rng.integers(2**31)))
        moved = self.rng.random(points.shape) < min(1.0, PERTURBED_DIMS / self.n_dims)
        moved[np.arange(n), self.rng.integers(self.n_dims, size=n)] = True  # at least one
        return np.where(moved, points, center)

    def _kernel(self) -> ScaleKernel:
        matern = MaternKernel(nu=2.5, ard_num_dims=self.n_dims, lengthscale_constraint=Interval(0.005, 4.0))
        return ScaleKernel(matern, outputscale_constraint=Interval(0.05, 20.0)).double()

    def _likelihood(self) -> GaussianLikelihood:
        return GaussianLikelihood(noise_constraint=Interval(1e-8, 1e-2)).double()


def _thompson_best(model: SingleTaskGP, candidates: Array) -> int:
    """The candidate at which one draw from the posterior is largest."""
    with torch.no_grad():
        path = draw_matheron_paths(model, sample_shape=torch.Size([1]))
        return int(path(torch.as_tensor(candidates)).ravel().argmax())
