"""Ascent in a box: closed forms, SciPy's L-BFGS-B, and what must hold on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from core.ascent import ascend
from tests.core.support import Array

Objective = Callable[[Array], tuple[float, Array]]


def concave(seed: int, d: int) -> tuple[Objective, Array]:
    """-(x - top)' A (x - top) / 2 with a top inside or outside the cube, and a start."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((d, d))
    A = B @ B.T + 0.1 * np.eye(d)
    top = rng.uniform(-0.5, 1.5, d)

    def f(x: Array) -> tuple[float, Array]:
        return float(-0.5 * (x - top) @ A @ (x - top)), -A @ (x - top)

    return f, rng.random(d)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 8))
def test_concave_quadratics_are_maximised_within_the_box(seed: int, d: int) -> None:
    """The conditions of Karush, Kuhn and Tucker hold: no coordinate can gain, and none has left the cube."""
    f, start = concave(seed, d)
    x = ascend(f, start, 2000)
    assert ((x >= 0) & (x <= 1)).all()
    gradient = f(x)[1]
    assert (np.abs(np.clip(x + gradient, 0, 1) - x) < 1e-3).all()


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 8), limit=st.integers(1, 30))
def test_never_falls_and_never_asks_more_than_told(seed: int, d: int, limit: int) -> None:
    """However few evaluations, the end is no worse than the start, and f was asked within the cube only."""
    f, start = concave(seed, d)
    asked: list[Array] = []

    def counted(x: Array) -> tuple[float, Array]:
        asked.append(x)
        return f(x)

    x = ascend(counted, start, limit)
    assert f(x)[0] >= f(start)[0]
    assert len(asked) <= limit
    assert all(((a >= 0) & (a <= 1)).all() for a in asked)


@pytest.mark.parametrize("seed", range(5))
def test_curved_valley_is_followed_as_far_as_scipy_goes(seed: int) -> None:
    """Rosenbrock's function in the cube, turned over: within 60 evaluations as good as L-BFGS-B, or nearly."""

    def f(x: Array) -> tuple[float, Array]:
        u, v = 3 * x - 1.5
        value = -((1 - u) ** 2 + 100 * (v - u * u) ** 2)
        return value, 3 * np.array([2 * (1 - u) + 400 * u * (v - u * u), -200 * (v - u * u)])

    start = np.random.default_rng(seed).random(2)
    best = minimize(
        lambda x: tuple(-part for part in f(x)), start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * 2,
        options={"maxfun": 60},
    )  # fmt: skip
    assert f(ascend(f, start, 60))[0] >= -best.fun - 0.01


def test_flat_and_steep_ends_are_left_alone() -> None:
    """Where nothing can be gained the start is the answer, after one evaluation."""
    calls = []

    def f(x: Array) -> tuple[float, Array]:
        calls.append(x)
        return 0.0, np.array([0.0, -5.0])

    np.testing.assert_array_equal(ascend(f, np.array([0.3, 0.0]), 50), [0.3, 0.0])
    assert len(calls) == 1
