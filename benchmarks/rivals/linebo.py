"""LineBO (Kirschner et al. 2019): Bayesian optimization on one random line after the other.

Each line runs through the best point in a random direction and is searched by GP-UCB with the model of the whole
space, until nothing on it promises more or it has had its share of evaluations.
"""

from __future__ import annotations

import numpy as np
import torch
from botorch.models.gp_regression import SingleTaskGP

from benchmarks.problems import Array, BenchmarkProblem
from benchmarks.rivals.base import Rival
from benchmarks.rivals.botorch_models import fit_standard_model, seeded

ROOT_BETA = 2.0
STEPS_PER_LINE = 5
GRID = 1001


class LineBO(Rival):
    """Random directions, which the authors recommend where no gradient is to be had cheaply."""

    def __init__(self, problem: BenchmarkProblem, seed: int) -> None:
        super().__init__(problem, seed)
        self.line: Array | None = None  # GRID x d
        self.steps = 0

    def suggest(self) -> Array:
        with seeded(int(self.rng.integers(2**31))):
            model = fit_standard_model(self.U, self.y)
        if self.line is None or self.steps == STEPS_PER_LINE or not self._promises(model, self.line):
            self.line, self.steps = self._new_line(), 0
        self.steps += 1
        mean, sd = _posterior(model, self.line)
        return self.line[np.argmax(mean + ROOT_BETA * sd)]

    def _new_line(self) -> Array:
        """From face to face of the cube, through the best point."""
        center = self.U[np.argmax(self.y)]
        direction = self.rng.normal(size=self.n_dims)
        direction /= np.linalg.norm(direction)
        return line_through(center, direction)

    def _promises(self, model: SingleTaskGP, line: Array) -> bool:
        """Whether the most optimistic value on the line still exceeds the best one."""
        mean, sd = _posterior(model, line)
        return bool((mean + ROOT_BETA * sd).max() > self.y.max() + 1e-3 * self.y.std())


def line_through(center: Array, direction: Array) -> Array:
    """GRID points of the line inside the unit cube."""
    with np.errstate(divide="ignore"):
        ends = np.stack([(0 - center) / direction, (1 - center) / direction])
    ends = np.where(direction == 0, np.array([[-np.inf], [np.inf]]), np.sort(ends, axis=0))
    steps = np.linspace(ends[0].max(), ends[1].min(), GRID)
    return np.clip(center + steps[:, None] * direction, 0, 1)


def _posterior(model: SingleTaskGP, points: Array) -> tuple[Array, Array]:
    """Mean and standard deviation in the units of y."""
    with torch.no_grad():
        posterior = model.posterior(torch.as_tensor(points)[:, None])  # GRID separate points: no joint covariance
        return posterior.mean.numpy().ravel(), posterior.variance.clamp_min(0).sqrt().numpy().ravel()
