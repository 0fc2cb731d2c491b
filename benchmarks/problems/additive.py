"""Random additive functions with planted factors: draws from Gaussian processes, by random Fourier features.

The factors cover every variable and some overlap. Each is a draw from a Matérn-5/2 process on the unit cube
whose lengthscales grow with the root of the factor's size, so that factors of any size are equally rugged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.problems.base import Array, BenchmarkProblem

Factors = tuple[tuple[int, ...], ...]

N_FEATURES = 256
MATERN_DEGREES = 5  # 2 nu: the spectral density of Matérn-5/2 is a t distribution with five degrees of freedom
LENGTHSCALES = (0.2, 0.6)
N_STARTS, N_ROUNDS, N_SCREENED = 4, 6, 64  # of the search for the best known value
OVERLAP = 0.5  # the share of factors that borrow a variable of another


def plant_factors(n_dims: int, max_size: int, rng: np.random.Generator) -> Factors:
    """A random partition into groups of 1 to max_size; some then take in a variable of another group."""
    order = rng.permutation(n_dims).tolist()
    groups: list[list[int]] = []
    while order:
        size = int(rng.integers(1, max_size + 1))
        groups.append(order[:size])
        order = order[size:]
    for group in groups:
        others = sorted(set(range(n_dims)) - set(group))
        if others and len(group) < max_size and rng.random() < OVERLAP:
            group.append(int(rng.choice(others)))
    return tuple(tuple(sorted(group)) for group in groups)


def plant_chain(n_dims: int, size: int = 3) -> Factors:
    """Factors of `size` consecutive variables; neighbours share one."""
    starts = range(0, max(1, n_dims - 1), size - 1)
    return tuple(tuple(range(start, min(start + size, n_dims))) for start in starts)


@dataclass(frozen=True)
class FourierDraw:
    """One function per factor: sum_k a_k cos(w_k . x[variables] + b_k).

    `variables` is n x s, s the largest factor; smaller factors are padded with variable 0 at frequency 0.
    `frequencies` is n x m x s, `phases` and `amplitudes` are n x m.
    """

    variables: NDArray[np.int64]
    frequencies: Array
    phases: Array
    amplitudes: Array

    def terms(self, x: Array) -> Array:
        """n values at a point; b x n at a batch of points (b x d)."""
        return np.asarray((self.amplitudes * np.cos(self._angles(x))).sum(axis=-1))

    def gradient(self, x: Array) -> Array:
        """Of the sum of all terms."""
        slopes = -self.amplitudes * np.sin(self._angles(x))  # n x m
        gradient = np.zeros(len(x))
        np.add.at(gradient, self.variables, np.einsum("nm,nms->ns", slopes, self.frequencies))
        return gradient

    def touching(self, free: NDArray[np.int64]) -> FourierDraw:
        """Only the factors that use one of these variables."""
        uses = (np.isin(self.variables, free) & self.frequencies.any(axis=1)).any(axis=1)
        return FourierDraw(self.variables[uses], self.frequencies[uses], self.phases[uses], self.amplitudes[uses])

    def _angles(self, x: Array) -> Array:
        return np.asarray(np.einsum("nms,...ns->...nm", self.frequencies, x[..., self.variables]) + self.phases)


def draw(factors: Factors, rng: np.random.Generator) -> FourierDraw:
    """A draw from the additive process on these factors."""
    n_factors, widest = len(factors), max(map(len, factors))
    variables = np.zeros((n_factors, widest), dtype=np.int64)
    frequencies = np.zeros((n_factors, N_FEATURES, widest))
    for i, factor in enumerate(factors):
        size = len(factor)
        lengthscales = rng.uniform(*LENGTHSCALES, size=size) * np.sqrt(size)
        normal = rng.normal(size=(N_FEATURES, size))
        chi_square = rng.chisquare(MATERN_DEGREES, size=(N_FEATURES, 1))
        variables[i, :size] = factor
        frequencies[i, :, :size] = normal / np.sqrt(chi_square / MATERN_DEGREES) / lengthscales
    phases = rng.uniform(0, 2 * np.pi, size=(n_factors, N_FEATURES))
    amplitudes = rng.normal(size=(n_factors, N_FEATURES)) * np.sqrt(2 / N_FEATURES)
    return FourierDraw(variables, frequencies, phases, amplitudes)


def _climb(function: FourierDraw, start: Array, free: NDArray[np.int64]) -> Array:
    """The end of L-BFGS-B in the free variables, the others held."""

    def objective(z: Array) -> tuple[float, Array]:
        x = start.copy()
        x[free] = z
        return -float(function.terms(x).sum()), -function.gradient(x)[free]

    x = start.copy()
    x[free] = minimize(objective, start[free], jac=True, bounds=[(0, 1)] * len(free), method="L-BFGS-B").x
    return x


def _redraw(local: FourierDraw, x: Array, free: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """x with its free variables where the best of many random values leads, if that is better."""
    trials = np.repeat(x[None], N_SCREENED, axis=0)
    trials[:, free] = rng.random((N_SCREENED, len(free)))
    trial = _climb(local, trials[local.terms(trials).sum(axis=1).argmax()], free)
    return trial if local.terms(trial).sum() > local.terms(x).sum() else x


def best_known(function: FourierDraw, factors: Factors, n_dims: int, rng: np.random.Generator) -> tuple[Array, float]:
    """A strong local search: redraw one factor's variables at a time and keep what helps."""
    everything = np.arange(n_dims)
    blocks = [np.array(factor) for factor in factors]
    locals_ = [function.touching(block) for block in blocks]
    ends = []
    for _ in range(N_STARTS):
        x = rng.random(n_dims)
        for _ in range(N_ROUNDS):
            for block, local in zip(blocks, locals_, strict=True):
                x = _redraw(local, x, block, rng)
        ends.append(_climb(function, x, everything))
    values = [float(function.terms(x).sum()) for x in ends]
    best = int(np.argmax(values))
    return ends[best], values[best]


def additive(n_dims: int = 30, max_size: int = 4, seed: int = 0) -> BenchmarkProblem:
    """Planted overlapping factors of 1 to max_size variables; the optimum is the best known."""
    rng = np.random.default_rng([seed, n_dims, max_size])
    factors = plant_factors(n_dims, max_size, rng)
    return _problem(f"additive-{n_dims}-{max_size}", factors, n_dims, rng)


def chain(n_dims: int = 50, seed: int = 0, *, search: bool = True) -> BenchmarkProblem:
    """Overlapping factors of three consecutive variables. Without `search` no optimum is known."""
    rng = np.random.default_rng([seed, n_dims])
    return _problem(f"chain-{n_dims}", plant_chain(n_dims), n_dims, rng, search=search)


def _problem(
    name: str,
    factors: Factors,
    n_dims: int,
    rng: np.random.Generator,
    *,
    search: bool = True,
) -> BenchmarkProblem:
    function = draw(factors, rng)
    optimizer, optimum = best_known(function, factors, n_dims, rng) if search else (None, None)
    return BenchmarkProblem(
        name=name,
        bounds=((0.0, 1.0),) * n_dims,
        terms=function.terms,
        factors=factors,
        optimum=optimum,
        optimizer=None if optimizer is None else tuple(map(float, optimizer)),
    )
