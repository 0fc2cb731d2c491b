"""Hopeful asks: when they come, what their model is, and that models leave a poor fit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Observation, Problem, predict
from core.evidence import log_evidence
from core.fit import fit
from core.hope import CLEAR, EVERY, FROM, LATEST, MOST, gain_of_structure, is_hopeful, records
from core.hyper import Hyperparameters
from core.state import State
from core.sums import FRESH_EVERY
from tests.core.support import Array, known_problem, observe, point, unit_problem
from tests.core.test_evidence import told as told_data
from tests.core.test_fit import example
from tests.core.test_model import planted, surrogate


def product(x: Array) -> float:
    return float(np.sin(4 * x[0] * x[1] * x[2]))


def random_told(n_dims: int, n: int = 30, function: Any = product) -> list[Observation]:
    return observe(np.random.default_rng(4).random((n, n_dims)), function)


def test_half_of_the_asks_are_hopeful_unless_structure_is_clear() -> None:
    """None at the beginning, and none once decompositions explain the sums clearly better."""
    asks, still = range(FROM, FROM + 10 * EVERY), np.zeros(30)
    assert not any(is_hopeful(State(asks=n), still) for n in range(FROM))
    assert sum(is_hopeful(State(asks=n), still) for n in asks) == 10 * EVERY // 2
    assert not any(is_hopeful(State(asks=n, structured=CLEAR), still) for n in asks)


@given(gains=st.lists(st.booleans(), min_size=1, max_size=40))
def test_a_search_that_gains_needs_no_hope(gains: list[bool]) -> None:
    """New best values among the latest observations end it, older ones do not."""
    y = np.where(gains, np.arange(1.0, len(gains) + 1), -1.0)  # what gains is larger than all before it
    best, new = -np.inf, []
    for value in y:
        new.append(value > best)
        best = max(best, value)
    assert records(y).tolist() == new
    assert is_hopeful(State(asks=EVERY * 3 + 2), y) == (sum(new[-LATEST:]) <= MOST)


def test_gain_of_structure_is_over_one_factor_of_all_variables() -> None:
    """Zero where that one is best, or is not among them."""
    assert gain_of_structure([3.0, 5.0, 1.0], 2) == 4.0
    assert gain_of_structure([3.0, 5.0], 1) == 0.0
    assert gain_of_structure([3.0, 5.0], None) == 0.0


def test_a_failed_fit_leaves_a_state_that_can_be_read() -> None:
    """Its log posterior is minus infinity, which must not be stored."""
    assert gain_of_structure([3.0, -math.inf], 1) == 0.0
    assert gain_of_structure([-math.inf, -math.inf], 1) == 0.0
    assert gain_of_structure([-math.inf, 3.0], 1) == 0.0


def test_a_held_mean_is_zero_and_the_rest_is_fitted() -> None:
    """Under the held mean no other hyperparameters near by do better, and the fitted mean does."""
    layout, X, y = example()
    data = told_data(X, y + 2.0)
    start = Hyperparameters.default(layout)
    held, free = (fit(layout, "matern52", data, start, hold_mean=h, max_evaluations=300) for h in (True, False))
    assert float(held.hyper.mean) == 0.0
    assert abs(float(free.hyper.mean)) > 0.1
    assert held.log_posterior < free.log_posterior

    def posterior(hyper: Hyperparameters) -> float:
        return float(log_evidence(layout, hyper, "matern52", data).sum()) + hyper.log_prior()

    for name in ("log_lengthscale", "log_scale"):
        for step in (-0.1, 0.1):
            moved = replace(held.hyper, **{name: getattr(held.hyper, name) + step})
            assert posterior(moved) < held.log_posterior + 1e-3


@pytest.mark.parametrize("problem", [unit_problem(3), known_problem(((0, 1), (1, 2)))])
def test_a_hopeful_ask_keeps_hyperparameters_of_its_own(problem: Problem) -> None:
    """Its mean is zero; what the other asks have fitted stays as it was."""
    told = random_told(3)
    before = surrogate(problem, told, State(asks=EVERY * 3 + 1).to_dict())
    after = surrogate(problem, told, before.state.to_dict())
    assert (before.hopeful, after.hopeful) == (False, True)
    assert (before.posterior.hyper.mean != 0.0).any()
    assert (after.posterior.hyper.mean == 0.0).all()
    old, new = before.state.hyperparameters, after.state.hyperparameters
    assert all(new[name] == old[name] for name in old)
    assert {name for name in new if name not in old} == {f"hopeful_{name}" for name in old}


def test_structure_ends_hope() -> None:
    """Planted factors are found and end it; a product of all variables never does."""
    for n_dims, function, n, hopeful in ((10, planted, 120, False), (3, product, 30, True)):
        problem, told = unit_problem(n_dims), random_told(n_dims, n, function)
        state = State(asks=EVERY * 3).to_dict()
        for _ in range(6):
            state = surrogate(problem, told, state).state.to_dict()
        found = surrogate(problem, told, {**state, "asks": EVERY * 5 + 2})
        assert found.hopeful == hopeful
        assert (found.state.structured >= CLEAR) != hopeful


@pytest.mark.parametrize("mode", ["infer", "random"])
def test_no_hope_where_structure_cannot_be_judged(mode: str) -> None:
    """With bounded factors there is no factor of all variables to compare with."""
    problem = unit_problem(4, decomposition={"mode": mode, "max_factor_size": 2})
    assert not surrogate(problem, random_told(4), State(asks=EVERY * 3 + 2).to_dict()).hopeful


def test_predictions_are_never_hopeful() -> None:
    """Far from the data they say the fitted mean, whichever ask comes next."""
    problem, told = unit_problem(3), random_told(3)
    state = surrogate(problem, told, State(asks=EVERY * 3 + 1).to_dict()).state.to_dict()
    assert surrogate(problem, told, state).hopeful
    assert not surrogate(problem, told, state, by_factor=True).hopeful
    points = [{"x0": 0.3, "x1": 0.9, "x2": 0.1}]
    [now], [later] = (predict(problem, told, points, state={**state, "asks": n}) for n in (EVERY * 3 + 2, EVERY * 4))
    assert now.mean == pytest.approx(later.mean, rel=0.05)


def test_a_model_leaves_a_poor_fit() -> None:
    """Noise explains everything, says the stored fit, and a few steps from there do not leave it; a fresh fit does."""
    rng = np.random.default_rng(0)
    problem = unit_problem(1, decomposition={"mode": "none"}, algorithm={"transform": "none"})
    told = observe(rng.random((60, 1)), lambda x: float(np.sin(40 * x[0])))
    stuck = {"log_lengthscale": [math.log(30.0)], "log_scale": [-4.0], "log_noise": [-0.02], "mean": [0.0]}
    state = State(hyperparameters={"shared_0": stuck}, powers={"shared": [1.0]})
    noise = {}
    for asks in (2, FRESH_EVERY):
        model = surrogate(problem, told, replace(state, asks=asks).to_dict())
        noise[asks] = float(model.posterior.noise()[0])
    assert noise[2] > 0.5
    assert noise[FRESH_EVERY] < 0.01


def test_a_model_leaves_a_fit_that_takes_noise_for_signal() -> None:
    """The other way round, on points that gather at a peak: every one of them stands alone, says the stored fit."""
    rng = np.random.default_rng(0)
    problem = unit_problem(4, decomposition={"mode": "none"}, algorithm={"transform": "none"})
    points = np.concatenate([rng.random((20, 4)), rng.uniform(0.2, 0.6, (80, 4))])
    y = -((points - 0.4) ** 2).sum(1) + 0.1 * rng.normal(size=100)
    told = [Observation(point(x), value=float(v)) for x, v in zip(points, y, strict=True)]
    stuck = {"log_lengthscale": [math.log(0.05)] * 4, "log_scale": [0.0], "log_noise": [math.log(1e-4)], "mean": [0.0]}
    state = State(hyperparameters={"shared_0": stuck}, powers={"shared": [1.0]})
    noise, evidence = {}, {}
    for asks in (2, FRESH_EVERY):
        model = surrogate(problem, told, replace(state, asks=asks).to_dict())
        noise[asks], evidence[asks] = float(model.posterior.noise()[0]), float(model.posterior.log_evidence[0])
    assert noise[2] < 0.01
    assert noise[FRESH_EVERY] == pytest.approx(0.1**2 / y.var(), rel=0.3)
    assert evidence[FRESH_EVERY] > evidence[2] + 10.0
