"""The histories that asks are timed on: the same for every algorithm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks import problems
from benchmarks.problems import Array, BenchmarkProblem
from benchmarks.problems.additive import chain
from benchmarks.rivals.base import sobol_points

SPREAD = 0.1

PROBLEMS: dict[str, Callable[[], BenchmarkProblem]] = {
    "powell-24": lambda: problems.make("powell-24-shifted"),
    "hartmann-6": lambda: problems.make("hartmann-6-shifted"),
    "rastrigin-100": lambda: problems.make("rastrigin-100-shifted"),
    # Nobody needs its optimum here, and 250 factors take long to search.
    "chain-500": lambda: chain(500, search=False),
}
# One ask of a rival would take minutes there.
OURS_ONLY = {"chain-500"}


def points(problem: BenchmarkProblem, n_obs: int, seed: int = 0) -> Array:
    """A history such as an optimizer leaves: half of it all over the box, half around the best point (t x d)."""
    n_spread = (n_obs + 1) // 2
    spread = sobol_points(problem.n_dims, n_spread, seed)
    best = spread[np.argmax([problem.f(problem.from_unit(u)) for u in spread])]
    near = np.random.default_rng([seed, n_obs]).normal(best, SPREAD, size=(n_obs - n_spread, problem.n_dims))
    return problem.from_unit(np.vstack([spread, np.clip(near, 0, 1)]))
