"""Classic test functions: what the optimizer does on those it was not made with.

(Dixon and Price's and Zakharov's gave the reason for one of its output transforms.) All are turned over to be
maximized. Those whose optimum lies in the middle of the box are run shifted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.problems.base import Array, BenchmarkProblem

Objective = Callable[[Array], float]


def _problem(
    name: str,
    f: Objective,
    box: tuple[tuple[float, float], ...],
    optimizer: Array,
    *,
    optimum: float | None = None,
    movable: bool = True,
) -> BenchmarkProblem:
    return BenchmarkProblem(
        name=name,
        bounds=box,
        terms=lambda x: np.array([f(x)]),
        optimum=f(optimizer) if optimum is None else optimum,
        optimizer=tuple(map(float, optimizer)),
        movable=movable,
    )


def branin() -> BenchmarkProblem:
    """Two variables, three optima of the same value."""

    def f(x: Array) -> float:
        valley = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
        return -float(valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10)

    return _problem("branin", f, ((-5.0, 10.0), (0.0, 15.0)), np.array([np.pi, 2.275]))


def shekel() -> BenchmarkProblem:
    """Four variables, ten narrow peaks in a plain."""
    widths = np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5]) / 10
    odd = [4, 1, 8, 6, 3, 2, 5, 8, 6, 7]
    even = [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6]
    peaks = np.array([odd, even, odd, even], dtype=float)

    def f(x: Array) -> float:
        return float((1 / (((x[:, None] - peaks) ** 2).sum(0) + widths)).sum())

    best = np.array([4.000746531592147, 4.000592934138629, 3.9996633980404135, 3.9995098005868956])
    return _problem("shekel", f, ((0.0, 10.0),) * 4, best)


def levy(n_dims: int = 20) -> BenchmarkProblem:
    """Ripples across a bowl."""

    def f(x: Array) -> float:
        w = 1 + (x - 1) / 4
        middle = (w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2)
        last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
        return -float(np.sin(np.pi * w[0]) ** 2 + middle.sum() + last)

    return _problem(f"levy-{n_dims}", f, ((-10.0, 10.0),) * n_dims, np.ones(n_dims), optimum=0.0)


def griewank(n_dims: int = 20) -> BenchmarkProblem:
    """A bowl with fine ripples that tie all variables together."""
    root = np.sqrt(np.arange(1, n_dims + 1))

    def f(x: Array) -> float:
        return -float((x**2).sum() / 4000 - np.cos(x / root).prod() + 1)

    return _problem(f"griewank-{n_dims}", f, ((-600.0, 600.0),) * n_dims, np.zeros(n_dims), optimum=0.0)


def michalewicz(n_dims: int = 10) -> BenchmarkProblem:
    """Steep valleys between plains, more of them in every further variable."""
    if n_dims != 10:
        raise ValueError("the optimum of michalewicz is known here for 10 dimensions")
    index = np.arange(1, n_dims + 1)

    def f(x: Array) -> float:
        return float((np.sin(x) * np.sin(index * x**2 / np.pi) ** 20).sum())

    # One variable after the other, by a fine search: the function is a sum of them.
    grid = np.linspace(0, np.pi, 2_000_001)
    best = np.array([grid[np.argmax(np.sin(grid) * np.sin(i * grid**2 / np.pi) ** 20)] for i in index])
    return _problem("michalewicz-10", f, ((0.0, float(np.pi)),) * n_dims, best, movable=False)


def schwefel(n_dims: int = 10) -> BenchmarkProblem:
    """The best optimum lies far from the second best, near a corner."""

    def f(x: Array) -> float:
        return float((x * np.sin(np.sqrt(np.abs(x)))).sum()) - 418.9828872724338 * n_dims

    best = np.full(n_dims, 420.968746359982)
    return _problem(f"schwefel-{n_dims}", f, ((-500.0, 500.0),) * n_dims, best, optimum=0.0, movable=False)


def styblinski(n_dims: int = 20) -> BenchmarkProblem:
    """Two wells in every variable, one a little deeper."""

    def f(x: Array) -> float:
        return -0.5 * float((x**4 - 16 * x**2 + 5 * x).sum())

    well = float(np.roots([4.0, 0.0, -32.0, 5.0]).real.min())
    return _problem(f"styblinski-{n_dims}", f, ((-5.0, 5.0),) * n_dims, np.full(n_dims, well))


def zakharov(n_dims: int = 10) -> BenchmarkProblem:
    """A curved valley over nine orders of magnitude."""
    slope = 0.5 * np.arange(1, n_dims + 1)

    def f(x: Array) -> float:
        s = float(slope @ x)
        return -float((x**2).sum()) - s**2 - s**4

    return _problem(f"zakharov-{n_dims}", f, ((-5.0, 10.0),) * n_dims, np.zeros(n_dims), optimum=0.0)


def dixon(n_dims: int = 15) -> BenchmarkProblem:
    """Dixon and Price: a chain, each variable tied to the square of the next."""
    index = np.arange(2, n_dims + 1)

    def f(x: Array) -> float:
        return -float((x[0] - 1) ** 2 + (index * (2 * x[1:] ** 2 - x[:-1]) ** 2).sum())

    best = np.array([2.0 ** -(1 - 2.0**-i) for i in range(n_dims)])
    return _problem(f"dixon-{n_dims}", f, ((-10.0, 10.0),) * n_dims, best, optimum=0.0)


def salomon(n_dims: int = 10) -> BenchmarkProblem:
    """Rings around the optimum."""

    def f(x: Array) -> float:
        r = float(np.linalg.norm(x))
        return float(np.cos(2 * np.pi * r)) - 1 - 0.1 * r

    return _problem(f"salomon-{n_dims}", f, ((-100.0, 100.0),) * n_dims, np.zeros(n_dims), optimum=0.0)


def trid(n_dims: int = 10) -> BenchmarkProblem:
    """One narrow bowl of neighbours that pull at each other."""

    def f(x: Array) -> float:
        return float((x[1:] * x[:-1]).sum() - ((x - 1) ** 2).sum())

    index = np.arange(1, n_dims + 1)
    return _problem(
        f"trid-{n_dims}", f, ((-float(n_dims**2), float(n_dims**2)),) * n_dims, index * (n_dims + 1.0 - index)
    )


def alpine(n_dims: int = 20) -> BenchmarkProblem:
    """Creases in every variable, where it has no slope."""

    def f(x: Array) -> float:
        return -float(np.abs(x * np.sin(x) + 0.1 * x).sum())

    return _problem(f"alpine-{n_dims}", f, ((-10.0, 10.0),) * n_dims, np.zeros(n_dims), optimum=0.0)


def ellipsoid(n_dims: int = 12) -> BenchmarkProblem:
    """A bowl a thousand times steeper in one direction than in another, along no axis."""
    Q, steepness = _rotation(n_dims), 10 ** (3 * np.arange(n_dims) / max(1, n_dims - 1))

    def f(x: Array) -> float:
        return -float((steepness * (Q @ x) ** 2).sum())

    return _problem(f"ellipsoid-{n_dims}", f, ((-5.0, 5.0),) * n_dims, np.zeros(n_dims), optimum=0.0)


def tilted(n_dims: int = 8) -> BenchmarkProblem:
    """Rastrigin, turned so that no sum over variables explains it."""
    Q = _rotation(n_dims)

    def f(x: Array) -> float:
        z = Q @ x
        return -float((10 + z**2 - 10 * np.cos(2 * np.pi * z)).sum())

    return _problem(f"tilted-{n_dims}", f, ((-5.12, 5.12),) * n_dims, np.zeros(n_dims), optimum=0.0)


def _rotation(n_dims: int) -> Array:
    """Orthogonal, the same every time."""
    Q, _ = np.linalg.qr(np.random.default_rng([n_dims, 0x407A7E]).normal(size=(n_dims, n_dims)))
    return np.asarray(Q)
