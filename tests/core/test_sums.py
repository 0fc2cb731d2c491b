"""Models of known sums take turns, and those far behind sit out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core import predict
from core.state import State
from core.sums import FAR, FRESH_EVERY
from tests.core.support import Array, known_problem, observe, point
from tests.core.test_model import surrogate

FACTORS = ((0, 1), (2, 3))
NAMES = [f"known_{g}" for g in range(4)]  # known, whole, tied, single
PROBLEM = known_problem(FACTORS, algorithm={"transform": "none"})


def product(x: Array) -> float:
    return float(np.sin(6 * x[0] * x[1]) + np.cos(5 * x[2] * x[3]))


TOLD = observe(np.random.default_rng(0).random((60, 4)), product)


@pytest.fixture(scope="module")
def state() -> State:
    return surrogate(PROBLEM, TOLD, State(asks=1).to_dict()).state


def test_every_model_says_how_far_behind_the_best_it_is(state: State) -> None:
    """The best by nothing; one factor per variable, which cannot explain products, by much."""
    assert sorted(state.behind) == NAMES
    assert min(state.behind.values()) == 0.0
    assert state.behind["known_3"] > FAR


def test_a_model_far_behind_sits_out_until_it_is_fitted_afresh(state: State) -> None:
    """Meanwhile its hyperparameters, and how far behind it is, stay as they were; those of the others are looked at."""
    sat_out, afresh = [], []
    for _ in range(4 * FRESH_EVERY):
        new = surrogate(PROBLEM, TOLD, state.to_dict()).state
        unchanged = math.isclose(new.behind["known_3"], state.behind["known_3"], rel_tol=1e-12)  # but for rounding
        (sat_out if unchanged else afresh).append(state.asks)
        if unchanged:
            assert new.hyperparameters["known_3"] == state.hyperparameters["known_3"]
        state = new
    assert len(sat_out) > len(afresh)
    assert 1 <= len([n for n in afresh if n % FRESH_EVERY == 0]) == len(afresh)


def test_a_model_behind_by_mistake_comes_back(state: State) -> None:
    """The best one, said to be far behind, is the best again after a round of fresh fits."""
    best = min(state.behind, key=state.behind.__getitem__)
    wrong = {name: 0.0 if name == "known_3" else 2 * FAR for name in NAMES}
    state = State(**{**state.__dict__, "behind": wrong})
    for _ in range(4 * FRESH_EVERY + 1):
        state = surrogate(PROBLEM, TOLD, state.to_dict()).state
    assert state.behind[best] < 1.0


def test_predictions_by_factor_need_not_be_of_the_best_model(state: State) -> None:
    """Known factors that sit out asks are still what predictions are made by."""
    far = {**state.to_dict(), "behind": dict.fromkeys(NAMES, 2 * FAR)}
    [near], [away] = (predict(PROBLEM, TOLD, [point([0.5, 0.5, 0.5, 0.5])], state=s) for s in (state.to_dict(), far))
    assert math.isclose(near.mean, away.mean, rel_tol=1e-6)
