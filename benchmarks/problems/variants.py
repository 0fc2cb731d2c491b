"""What may be done to a problem: its optimum moved inside the box or to its faces, noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.problems.base import Array, BenchmarkProblem

# A shifted optimum keeps this share of the box's width from its faces: at a face it would be easy prey
# for algorithms that like corners.
SHIFT_MARGIN = 0.1


def shifted(problem: BenchmarkProblem, seed: int) -> BenchmarkProblem:
    """The same function with its optimum moved to a random place inside the box."""
    return _moved(problem, "shifted", _inside(problem, seed))


def cornered(problem: BenchmarkProblem, seed: int) -> BenchmarkProblem:
    """The same function with its optimum moved to the faces of the box.

    Every coordinate lies inside or at one of its bounds with even chances: where more of one thing is always better, as
    often in practice, the best is the most there may be.
    """
    rng = np.random.default_rng([seed, 0xC0124E])
    at_bound, upper = rng.random((2, problem.n_dims)) < 0.5
    low, high = np.array(problem.bounds).T
    target = np.where(at_bound, np.where(upper, high, low), _inside(problem, seed))
    return _moved(problem, "cornered", target)


def noisy(problem: BenchmarkProblem, share: float = 0.05) -> BenchmarkProblem:
    """The same function with noise: `share` of the interquartile range of f over the box."""
    rng = np.random.default_rng(0)
    values = [problem.f(problem.from_unit(u)) for u in rng.random((1000, problem.n_dims))]
    low, high = np.quantile(values, [0.25, 0.75])
    return replace(problem, name=f"{problem.name}-noisy", noise=share * float(high - low))


def _inside(problem: BenchmarkProblem, seed: int) -> Array:
    box = np.array(problem.bounds)
    margin = SHIFT_MARGIN * (box[:, 1] - box[:, 0])
    return np.random.default_rng([seed, 0x5817F7]).uniform(box[:, 0] + margin, box[:, 1] - margin)


def _moved(problem: BenchmarkProblem, how: str, target: Array) -> BenchmarkProblem:
    if not problem.movable or problem.optimizer is None:
        raise ValueError(f"the optimum of {problem.name} cannot be moved")
    offset, terms = target - np.array(problem.optimizer), problem.terms
    return replace(
        problem,
        name=f"{problem.name}-{how}",
        terms=lambda x: terms(x - offset),
        optimizer=tuple(map(float, target)),
    )
