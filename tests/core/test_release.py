"""Points off a bound that all good points share: when, which and how far."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Observation, propose
from core.history import History
from core.release import BEST, EVERY, FROM, RECENT, STEP, released
from tests.core.support import Array, unit_problem


def history(X: Array, y: Array) -> History:
    nothing = np.zeros((0, X.shape[1]))
    return History(X, y, np.zeros((len(X), 0)), np.full(len(X), np.nan), nothing, nothing)


def told(seed: int, n_obs: int = 40, d: int = 4) -> tuple[Array, Array]:
    """Points whose columns 1 and 2 are at a bound, but for some that are neither good nor recent."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(0.1, 0.9, (n_obs, d)), rng.standard_normal(n_obs)
    X[n_obs - RECENT :, 1:3] = [0.0, 1.0]
    X[np.argsort(y)[-BEST:], 1:3] = [0.0, 1.0]
    return X, y


@given(seed=st.integers(0, 999))
def test_moves_one_shared_bound_of_the_best_point_inside(seed: int) -> None:
    """All other coordinates are those of the best point; the one that moves is at the bound in every good point."""
    X, y = told(seed)
    found = released(history(X, y), np.ones(4, dtype=bool), 0, np.random.default_rng(seed))
    assert found is not None
    x, j = found
    best = X[y.argmax()]
    assert j in (1, 2)
    assert STEP[0] <= abs(x[j] - best[j]) <= STEP[1]
    np.testing.assert_array_equal(np.delete(x, j), np.delete(best, j))


@pytest.mark.parametrize("what", ["not its turn", "too early", "held", "tried lately", "good inside"])
def test_leaves_well_alone(what: str) -> None:
    """Nothing happens out of turn, early, in columns held or just tried, or where a good point is inside."""
    X, y = told(0)
    asks, free = EVERY, np.ones(4, dtype=bool)
    if what == "not its turn":
        asks = EVERY + 1
    if what == "too early":
        X, y = X[-FROM + 1 :], y[-FROM + 1 :]
    if what == "held":
        free[1:3] = False
    if what == "tried lately":
        X[-2, 1:3] = 0.4
    if what == "good inside":
        X[np.argsort(y)[-2], 1:3] = 0.4
    assert released(history(X, y), free, asks, np.random.default_rng(0)) is None


def test_ask_says_what_it_released_and_keeps_held_values() -> None:
    """A study stuck at a bound is asked off it within one round of turns, with fixed parameters where they are held."""
    problem = unit_problem(3, decomposition={"mode": "none"})
    rng = np.random.default_rng(1)
    rows = [{"x0": float(u), "x1": float(v), "x2": 1.0} for u, v in rng.uniform(0.2, 0.8, (30, 2))]
    observations = [Observation(x, value=-((x["x0"] - 0.5) ** 2)) for x in rows]
    state, seen = None, []
    for _ in range(EVERY):
        ask = propose(problem, observations, state=state, fixed={"x1": 0.25})
        state = ask.state
        if name := ask.diagnostics["admm"].get("released"):
            seen.append((name, ask.points[0]))
    [(name, point)] = seen
    assert name == "x2"
    assert 1 - STEP[1] <= point["x2"] <= 1 - STEP[0]
    assert point["x1"] == 0.25
