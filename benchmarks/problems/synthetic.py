"""The paper's four synthetic functions (App. F), all maximized, with the decompositions of its Table 2."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.base import Array, BenchmarkProblem, consecutive_blocks

HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def six_hump_camel() -> BenchmarkProblem:
    """Two dimensions, overlapping factors {0}, {0, 1}, {1}."""

    def terms(x: Array) -> Array:
        a, b = x
        return np.array([(-4 + 2.1 * a**2 - a**4 / 3) * a**2, -a * b, (4 - 4 * b**2) * b**2])

    return BenchmarkProblem(
        name="camel",
        bounds=((-3.0, 3.0), (-2.0, 2.0)),
        terms=terms,
        factors=((0,), (0, 1), (1,)),
        optimum=1.0316284534898774,
        optimizer=(0.08984201310031806, -0.7126564030207396),
        movable=True,
    )


def hartmann6() -> BenchmarkProblem:
    """Four factors, each of all six variables. The paper's 10.5364 is another function's maximum."""

    def terms(x: Array) -> Array:
        return np.asarray(HARTMANN_ALPHA * np.exp(-(HARTMANN_A * (x - HARTMANN_P) ** 2).sum(axis=1)))

    return BenchmarkProblem(
        name="hartmann-6",
        bounds=((0.0, 1.0),) * 6,
        terms=terms,
        factors=(tuple(range(6)),) * 4,
        optimum=3.3223680114155147,
        optimizer=(0.20168951, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053),
        movable=True,
    )


def powell(n_dims: int = 24) -> BenchmarkProblem:
    """Disjoint factors of four consecutive variables; values reach down to -600,000 in the corners."""
    if n_dims % 4:
        raise ValueError(f"powell has blocks of four dimensions, and cannot have {n_dims}")

    def terms(x: Array) -> Array:
        a, b, c, d = x.reshape(-1, 4).T
        return np.asarray(-((a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4))

    return BenchmarkProblem(
        name=f"powell-{n_dims}",
        bounds=((-4.0, 5.0),) * n_dims,
        terms=terms,
        factors=consecutive_blocks(n_dims, 4),
        optimum=0.0,
        optimizer=(0.0,) * n_dims,
        movable=True,
    )


def rastrigin(n_dims: int = 100, block: int = 5) -> BenchmarkProblem:
    """Separable, but only blocks of five variables are told, as in the paper."""

    def terms(x: Array) -> Array:
        return np.asarray(-np.add.reduceat(10 + x**2 - 10 * np.cos(2 * np.pi * x), range(0, n_dims, block)))

    return BenchmarkProblem(
        name=f"rastrigin-{n_dims}",
        bounds=((-5.12, 5.12),) * n_dims,
        terms=terms,
        factors=consecutive_blocks(n_dims, block),
        optimum=0.0,
        optimizer=(0.0,) * n_dims,
        movable=True,
    )
