"""Generators of random graphs, histories and hyperparameters, and dense formulas to hold the core against.

Nothing here calls the core's own linear algebra: covariances come from explicit differences, posteriors from dense
solves in numpy.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core import Observation, Problem, Proposal
from core.graph import Factors
from core.hyper import Hyperparameters
from core.layout import Layout
from core.problem import Kernel
from core.space import Space, key

Array = NDArray[np.float64]
KERNELS: tuple[Kernel, ...] = ("matern52", "squared_exponential", "rational_quadratic")
# The example of App. A, numbered from zero: f(x) = f1(x1, x3) + f2(x2) + f3(x2, x3) + f4(x1, x3).
APPENDIX_A: Factors = ((0, 2), (1,), (1, 2), (0, 2))


def unit_problem(d: int, **spec: Any) -> Problem:
    """d floats x0, x1, ... in [0, 1]."""
    parameters = [{"name": f"x{j}", "type": "float", "bounds": [0, 1]} for j in range(d)]
    return Problem.from_dict({"direction": "maximize", "parameters": parameters, **spec})


def known_problem(factors: Sequence[Sequence[int]], **spec: Any) -> Problem:
    """Floats in [0, 1] with these factors, named f0, f1, ..."""
    d = 1 + max(j for members in factors for j in members)
    named = [{"name": f"f{i}", "parameters": [f"x{j}" for j in members]} for i, members in enumerate(factors)]
    return unit_problem(d, decomposition={"mode": "known", "factors": named}, **spec)


def unit_space(d: int) -> Space:
    return Space(unit_problem(d))


def point(x: Sequence[float] | Array) -> dict[str, float]:
    return {f"x{j}": float(v) for j, v in enumerate(x)}


def observe(X: Array, f: Callable[[Array], float], **extra: Any) -> list[Observation]:
    return [Observation(point(x), value=float(f(x)), **extra) for x in X]


def random_factors(rng: np.random.Generator, d: int, n: int) -> Factors:
    """n factors of random size over d variables, overlapping as they fall, together covering all."""
    factors = [set(rng.choice(d, size=int(rng.integers(1, d + 1)), replace=False).tolist()) for _ in range(n)]
    for j in set(range(d)) - set().union(*factors):
        factors[int(rng.integers(n))].add(j)
    return tuple(tuple(sorted(members)) for members in factors)


def random_hyper(layout: Layout, rng: np.random.Generator, noise: float = 1e-2) -> Hyperparameters:
    base = Hyperparameters.default(layout)

    def around(center: float, like: Tensor, width: float = 0.3) -> Tensor:
        return torch.from_numpy(center + width * rng.standard_normal(len(like)))

    return Hyperparameters(
        around(math.log(0.4), base.log_lengthscale),
        around(0.0, base.log_scale),
        around(math.log(noise), base.log_noise, 0.1),
        around(0.3, base.mean),
    )


def kernel_matrix(kernel: Kernel, A: Array, B: Array, lengthscale: Array) -> Array:
    """a x b: the textbook covariance of unit variance; squared distances are means over the variables."""
    difference = (A[:, None, :] - B[None, :, :]) / lengthscale
    s = (difference**2).sum(-1) / A.shape[1]
    if kernel == "matern52":
        r = np.sqrt(s)
        return np.asarray((1 + math.sqrt(5) * r + 5 / 3 * r**2) * np.exp(-math.sqrt(5) * r))
    if kernel == "squared_exponential":
        return np.asarray(np.exp(-s / 2))
    return np.asarray((1 + s / 4) ** -2.0)


class DenseModel:
    """Prop. 3.4 written out: one GP of the sum of factors with dense matrices. `constant` is the prior mean."""

    def __init__(
        self,
        kernel: Kernel,
        factors: Factors,
        lengthscales: Sequence[Array],
        scales: Sequence[float],
        X: Array,
        y: Array,
        noise: Array,
        constant: float = 0.0,
    ) -> None:
        self.kernel, self.factors, self.lengthscales, self.scales = kernel, factors, lengthscales, scales
        self.X, self.residual, self.constant = X, y - constant, constant
        self.C = sum(self.cross(i, X, X) for i in range(len(factors))) + np.diag(noise)

    def cross(self, i: int, A: Array, B: Array) -> Array:
        columns = list(self.factors[i])
        return self.scales[i] * kernel_matrix(self.kernel, A[:, columns], B[:, columns], self.lengthscales[i])

    def factor(self, i: int, x: Array) -> tuple[Array, Array]:
        """Posterior mean and variance of factor i (eqs. 7 and 8)."""
        return self._posterior(self.cross(i, x, self.X), self.cross(i, x, x))

    def total(self, x: Array) -> tuple[Array, Array]:
        """Posterior mean, constant included, and variance of the sum."""
        n = len(self.factors)
        mean, var = self._posterior(
            sum(self.cross(i, x, self.X) for i in range(n)), sum(self.cross(i, x, x) for i in range(n))
        )
        return mean + self.constant, var

    def _posterior(self, k: Any, prior: Any) -> tuple[Array, Array]:
        mean = k @ np.linalg.solve(self.C, self.residual)
        return mean, np.diag(prior - k @ np.linalg.solve(self.C, k.T))

    def log_evidence(self) -> float:
        _, log_det = np.linalg.slogdet(self.C)
        t = len(self.residual)
        quadratic = self.residual @ np.linalg.solve(self.C, self.residual)
        return float(-0.5 * (quadratic + log_det + t * math.log(2 * math.pi)))


def dense(
    kind: str, kernel: Kernel, factors: Factors, hyper: Hyperparameters, X: Array, y: Array, noise: Array
) -> DenseModel:
    """The dense model of one decomposition of kind "shared" or "known", from the meaning of the hyperparameters."""
    ell, scale = np.exp(hyper.log_lengthscale.numpy()), np.exp(hyper.log_scale.numpy())
    slots = sum(map(len, factors))
    scales = [
        float(scale[0]) * len(members) / slots if kind == "shared" else float(scale[i]) / len(factors)
        for i, members in enumerate(factors)
    ]
    lengthscales = [ell[list(members)] for members in factors]
    return DenseModel(kernel, factors, lengthscales, scales, X, y, noise, float(hyper.mean[0]))


def partitions(items: Sequence[int]) -> Iterator[Factors]:
    """All set partitions, by putting the first item alone or into each block of a partition of the rest."""
    if not items:
        yield ()
        return
    head, rest = items[0], items[1:]
    for smaller in partitions(rest):
        yield tuple(sorted(((head,), *smaller)))
        for i, block in enumerate(smaller):
            yield tuple(sorted((*smaller[:i], tuple(sorted((head, *block))), *smaller[i + 1 :])))


def finite_difference(f: Callable[[Array], float], x: Array, step: float = 1e-6) -> Array:
    """Central differences of a scalar function."""
    gradient = np.zeros_like(x)
    for j in range(x.size):
        up, down = x.copy(), x.copy()
        up.flat[j] += step
        down.flat[j] -= step
        gradient.flat[j] = (f(up) - f(down)) / (2 * step)
    return gradient


def ranked_auc(scores: Array, truth: NDArray[np.bool_]) -> float:
    """Chance that a true pair scores above a false one, ties counting half."""
    good, bad = scores[truth], scores[~truth]
    return float((good[:, None] > bad).mean() + 0.5 * (good[:, None] == bad).mean())


class Clock:
    """A clock that moves on by a fixed step each time it is read."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


QUICK = {"proposals": 10}


def bowl(x: Array) -> float:
    return float(-((x - 0.3) ** 2).sum())


def history(d: int = 2, t: int = 12, seed: int = 0) -> list[Observation]:
    return observe(np.random.default_rng(seed).random((t, d)), bowl)


def valid(problem: Problem, proposal: Proposal, count: int = 1) -> None:
    """Points of the space in stored form, as many as asked, distinct, with an origin each, and plain data beside."""
    assert len(proposal.points) == len(proposal.origins) == count
    for x in proposal.points:
        checked = problem.check_point(x)
        assert [(type(v), v) for v in checked.values()] == [(type(v), v) for v in x.values()]
    assert len({key(problem, x) for x in proposal.points}) == count
    assert set(proposal.origins) <= {"initial", "dumbo", "random"}
    json.dumps([proposal.points, proposal.state, proposal.diagnostics], allow_nan=False)
