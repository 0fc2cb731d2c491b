"""Functions for generality: chains, non-additive ones and low-dimensional ones in a large box.

They are not among the paper's seven. A change to the optimizer is kept only if it helps here too.
"""

from __future__ import annotations

import numpy as np

from benchmarks.problems.base import Array, BenchmarkProblem
from benchmarks.problems.synthetic import hartmann6


def rosenbrock(n_dims: int = 20) -> BenchmarkProblem:
    """A chain: factor i is of variables i and i + 1."""

    def terms(x: Array) -> Array:
        return np.asarray(-(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))

    return BenchmarkProblem(
        name=f"rosenbrock-{n_dims}",
        bounds=((-2.048, 2.048),) * n_dims,
        terms=terms,
        factors=tuple((j, j + 1) for j in range(n_dims - 1)),
        optimum=0.0,
        optimizer=(1.0,) * n_dims,
        movable=True,
    )


def ackley(n_dims: int = 10) -> BenchmarkProblem:
    """Not additive: the exponential of the norm ties all variables together."""

    def terms(x: Array) -> Array:
        bowl = 20 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
        ripples = np.exp(np.mean(np.cos(2 * np.pi * x)))
        return np.array([bowl + ripples - 20 - np.e])

    return BenchmarkProblem(
        name=f"ackley-{n_dims}",
        bounds=((-32.768, 32.768),) * n_dims,
        terms=terms,
        optimum=0.0,
        optimizer=(0.0,) * n_dims,
        movable=True,
    )


def embedded(n_dims: int = 50, seed: int = 0) -> BenchmarkProblem:
    """Hartmann-6 on six variables of many, chosen by the seed; the others do nothing."""
    inner = hartmann6()
    assert inner.optimizer is not None
    active = np.random.default_rng([seed, 0xE3BED]).permutation(n_dims)[: inner.n_dims]
    optimizer = np.full(n_dims, 0.5)
    optimizer[active] = inner.optimizer

    def terms(x: Array) -> Array:
        return np.array([inner.f(x[active])])

    return BenchmarkProblem(
        name=f"embedded-{n_dims}",
        bounds=((0.0, 1.0),) * n_dims,
        terms=terms,
        optimum=inner.optimum,
        optimizer=tuple(map(float, optimizer)),
        movable=True,
    )
