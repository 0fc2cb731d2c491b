"""Switches, choices and whole numbers, alone or beside floats. Weights and optima are drawn by the seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.problems.base import CATEGORICAL, FLOAT, INT, Array, BenchmarkProblem

STATIONS, TREATMENTS, SITES = 25, 4, 100
PRICE = np.array([1.0, 0.8, 0.7, 0.5])  # of each treatment, by how well it works
EFFECT = np.array([0.9, 0.75, 0.65, 0.5])  # the share of the pest that it removes, the first time ...
HABIT = 0.85  # ... and what is left of that each time it was used before
TOLERATED = 0.1  # the share of a site that may be infested


def switches(n_switches: int = 20, *, seed: int = 0) -> BenchmarkProblem:
    """Ackley's function of three floats and many switches (after Bliek et al. 2021): a small step is worth little."""
    rng = np.random.default_rng([seed, 0x5C1])
    best = np.concatenate([rng.uniform(-0.8, 0.8, 3), rng.integers(0, 2, n_switches)])

    def terms(x: Array) -> Array:
        z = x - best
        return np.array(
            [20 * np.exp(-0.2 * np.sqrt(np.mean(z**2))) + np.exp(np.mean(np.cos(2 * np.pi * z))) - 20 - np.e]
        )

    return BenchmarkProblem(
        name=f"switches-{n_switches}",
        bounds=((-1.0, 1.0),) * 3 + ((0.0, 1.0),) * n_switches,
        terms=terms,
        optimum=0.0,
        optimizer=tuple(map(float, best)),
        kinds=(FLOAT,) * 3 + (CATEGORICAL,) * n_switches,
    )


def maxcut(n_nodes: int = 30, *, seed: int = 0) -> BenchmarkProblem:
    """Divide the nodes of a random graph so that little weight is on edges within the parts."""
    rng = np.random.default_rng([seed, 0x3C7])
    weights = np.triu(rng.random((n_nodes, n_nodes)) * (rng.random((n_nodes, n_nodes)) < 0.2), 1)

    def terms(x: Array) -> Array:
        return np.array([-weights[x[:, None] == x].sum()])

    return BenchmarkProblem(
        name=f"maxcut-{n_nodes}",
        bounds=((0.0, 1.0),) * n_nodes,
        terms=terms,
        kinds=(CATEGORICAL,) * n_nodes,
    )


def pest(*, seed: int = 0) -> BenchmarkProblem:
    """Which of four treatments, if any, at each of 25 stations that a pest passes in turn (after Oh et al. 2019).

    What a treatment does at one station counts at all later ones, and the more often it is used the less it does.
    """
    rng = np.random.default_rng([seed, 0x9E5])
    start = rng.beta(1, 30, SITES)
    spread = rng.beta(1, 20, (STATIONS, SITES))
    works = rng.beta(8, 2, (STATIONS, TREATMENTS, SITES)) * EFFECT[:, None]

    def terms(x: Array) -> Array:
        infested, used, cost = start, np.zeros(TREATMENTS), 0.0
        for station, choice in enumerate(x.astype(int) - 1):
            infested = infested + (1.0 - infested) * spread[station]
            if choice >= 0:
                infested = infested * (1.0 - works[station, choice] * HABIT ** used[choice])
                used[choice] += 1
                cost += PRICE[choice]
            cost += float((infested > TOLERATED).mean())
        return np.array([-cost])

    return BenchmarkProblem(
        name="pest",
        bounds=((0.0, float(TREATMENTS)),) * STATIONS,
        terms=terms,
        kinds=(CATEGORICAL,) * STATIONS,
    )


def branches(*, seed: int = 0) -> BenchmarkProblem:
    """Which of three functions of two floats counts, and which others are added (after Ru et al. 2020)."""
    rng = np.random.default_rng([seed, 0xB4A])
    offset = rng.uniform(-0.3, 0.3, 2)
    second, third = rng.uniform(0.3, 1.5, 5), rng.uniform(0.3, 1.5, 4)

    def terms(x: Array) -> Array:
        first, b, c = x[:3].astype(int)
        z = x[3:] + offset
        f = PLANES[first](z) + second[b] * PLANES[b % 3](z) + third[c] * PLANES[(c + 1) % 3](z)
        return np.array([-f - 0.1 * b])

    return BenchmarkProblem(
        name="branches",
        bounds=((0.0, 2.0), (0.0, 4.0), (0.0, 3.0), (-1.0, 1.0), (-1.0, 1.0)),
        terms=terms,
        kinds=(CATEGORICAL,) * 3 + (FLOAT,) * 2,
    )


def _rosenbrock(z: Array) -> float:
    a, b = 2.0 * z
    return float(100 * (b - a**2) ** 2 + (1 - a) ** 2) / 500


def _camel(z: Array) -> float:
    a, b = 2.0 * z[0], z[1]
    return float((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (-4 + 4 * b**2) * b**2) / 5


def _branin(z: Array) -> float:
    a, b = 7.5 * z + [2.5, 7.5]
    valley = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
    return float(valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10) / 50


PLANES: tuple[Callable[[Array], float], ...] = (_rosenbrock, _camel, _branin)


def whole(n_dims: int = 12, *, seed: int = 0) -> BenchmarkProblem:
    """A convex quadratic function of whole numbers that are coupled with each other."""
    rng = np.random.default_rng([seed, 0x307])
    root = rng.normal(size=(n_dims, n_dims))
    curvature = root @ root.T / n_dims + 0.3 * np.eye(n_dims)
    best = rng.integers(-7, 8, n_dims).astype(float)

    def terms(x: Array) -> Array:
        return np.array([-(x - best) @ curvature @ (x - best)])

    return BenchmarkProblem(
        name=f"whole-{n_dims}",
        bounds=((-10.0, 10.0),) * n_dims,
        terms=terms,
        optimum=0.0,
        optimizer=tuple(map(float, best)),
        kinds=(INT,) * n_dims,
    )


ALL: tuple[Callable[..., BenchmarkProblem], ...] = (switches, maxcut, pest, branches, whole)
