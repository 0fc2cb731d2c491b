"""When a feature is found, believed, remembered and left alone."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import NumericalError, Observation, Problem, propose
from core.feature import CENTER, FEATURES, Feature
from core.featured import EVERY, FROM, NEAR, PER_COLUMN, Featured, behind, believed, described
from core.gradient import PairEvidence
from core.model import Model
from core.space import Space
from core.state import State
from tests.core.support import Array, observe, unit_problem
from tests.core.test_model import surrogate

D = 6
DIRECTION = np.array([0.2, -0.5, 0.4, 0.1, 0.6, -0.3])
PLACE = np.array([0.3, 0.7, 0.4, 0.6, 0.5, 0.35])


def across(x: Array) -> float:
    """Changes along one direction only, at an angle to all axes."""
    return float(np.sin(6.0 * DIRECTION @ x))


def around(x: Array) -> float:
    """Depends on the distance from one place only."""
    return float(-np.cos(5.0 * np.linalg.norm(x - PLACE)))


def separable(x: Array) -> float:
    return float(np.sin(5.0 * x).sum())


def history(function: Any, n: int = 60, d: int = D) -> list[Observation]:
    return observe(np.random.default_rng(5).random((n, d)), function)


def modelled(told: list[Observation], asks: int = 0, state: State | None = None) -> Model:
    """The model of an ask of this number."""
    d = len(told[0].parameters)
    start = replace(state or State(), asks=asks)
    return surrogate(unit_problem(d, algorithm={"proposals": 10}), told, start.to_dict())


def found(function: Any, asks: int, state: State | None = None) -> State:
    """What such an ask leaves behind."""
    return modelled(history(function), asks, state).state


def turn_of(feature: Feature) -> int:
    """An ask at which it is sought, once there is something to seek by."""
    return EVERY * 4 + FEATURES.index(feature)


def test_a_planted_ridge_is_found_and_used() -> None:
    """The direction is the planted one, and the next model has it."""
    model = modelled(history(across), turn_of("ridge"))
    assert model.posterior.layout.feature == "ridge"
    assert model.state.behind["ridge"] < 0
    theta = np.array(model.state.hyperparameters["ridge"]["feature"])
    assert abs(theta @ DIRECTION) / np.linalg.norm(theta) / np.linalg.norm(DIRECTION) > 0.99
    assert model.state.structured > 0  # which is structure, too


def test_a_planted_bowl_is_found_around_its_place() -> None:
    state = found(around, turn_of("bowl"))
    assert state.behind["bowl"] < 0
    center = 0.5 + CENTER * np.array(state.hyperparameters["bowl"]["feature"][:-1])
    np.testing.assert_allclose(center, PLACE, atol=0.03)


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("function", [separable, lambda x: float(np.random.default_rng(int(1e6 * x[0])).normal())])
def test_what_is_not_there_is_not_believed(feature: Feature, function: Any) -> None:
    """Neither a sum over the variables nor noise earns what a feature costs."""
    model = modelled(history(function), turn_of(feature))
    assert model.state.behind[feature] > 0
    assert model.posterior.layout.feature is None


def test_a_feature_goes_on_while_it_is_near_the_best() -> None:
    """Between two searches it is fitted on if it was any good, else left alone; it never needs to be there."""
    state = found(across, turn_of("ridge"))
    later = turn_of("ridge") + EVERY // 2
    assert found(across, later, state).behind["ridge"] != state.behind["ridge"]
    far = replace(state, behind={**state.behind, "ridge": NEAR + 1.0})
    assert found(across, later, far).behind["ridge"] == NEAR + 1.0
    assert "ridge" not in found(across, later).behind


@pytest.mark.parametrize(("n", "d"), [(FROM - 1, 3), (PER_COLUMN * 12 - 1, 12), (FROM, 1)])
def test_few_observations_are_no_reason_to_seek_one(n: int, d: int) -> None:
    """Below twenty, below two for a column, and where there is nothing to mix."""
    model = modelled(history(lambda x: float(x.sum()), n, d), turn_of("ridge"))
    assert "ridge" not in model.state.hyperparameters


@given(
    bowl=st.floats(-50, 50),
    ridge=st.floats(-50, 50),
    plain=st.lists(st.floats(-50, 50), min_size=1),
    cautious=st.booleans(),
)
def test_the_likeliest_that_explains_more_than_all_others_is_believed(
    bowl: float, ridge: float, plain: list[float], cautious: bool
) -> None:
    """A bowl at every other ask only: it is sure of its centre before it is right."""
    hyper = modelled(history(separable, 12)).posterior.hyper
    features = [Featured("bowl", hyper, bowl, 1), Featured("ridge", hyper, ridge, 1)]
    allowed = {"ridge": ridge, "bowl": bowl} if cautious else {"ridge": ridge}
    likely = {name: reached for name, reached in allowed.items() if all(reached > p for p in plain)}
    got = believed(features, plain, cautious=cautious)
    assert (got is None) == (not likely)
    assert got is None or likely[got] == max(likely.values())


def test_a_fit_that_failed_is_not_remembered() -> None:
    """The state is JSON, which has no infinity."""
    hyper = modelled(history(separable, 12)).posterior.hyper
    assert behind([Featured("bowl", hyper, 3.0, 1)], [-math.inf]) == {}
    assert behind([Featured("bowl", hyper, 3.0, 1)], [5.0, 1.0]) == {"bowl": 2.0}


def test_asks_by_a_feature_are_answered_and_say_so() -> None:
    """Its state survives JSON, the ask after it goes on from there, and the same history gives the same point."""
    told, problem = history(across), unit_problem(D, algorithm={"proposals": 10})
    start = State(asks=turn_of("ridge")).to_dict()
    first = propose(problem, told, state=start)
    assert first.diagnostics["feature"]["kind"] == "ridge"
    state = json.loads(json.dumps(first.state, allow_nan=False))
    again = [propose(problem, told, state=state, count=2) for _ in range(2)]
    assert again[0].points == again[1].points
    assert again[0].diagnostics["feature"]["kind"] == "ridge"
    assert (
        across(np.array(list(first.points[0].values()))) > 0.9
    )  # of a largest value of 1, at most 60 random ones seen


def test_linear_algebra_that_fails_costs_the_feature_not_the_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """The point is the model's all the same, by decompositions."""

    def fail(*_: Any) -> None:
        raise NumericalError("singular", None)

    monkeypatch.setattr(PairEvidence, "ridge_curvature", fail)
    start = State(asks=turn_of("ridge")).to_dict()
    proposal = propose(unit_problem(D, algorithm={"proposals": 10}), history(across), state=start)
    assert proposal.origins == ["dumbo"]
    assert proposal.diagnostics["feature"] is None


def test_a_ridge_is_described_by_its_weights() -> None:
    """By parameter, the heaviest of them one."""
    model = modelled(history(across), turn_of("ridge"))
    told = described(model.posterior, Space(unit_problem(D)))
    assert told is not None
    assert told["kind"] == "ridge"
    weights = np.array(list(told["weights"].values()))
    np.testing.assert_allclose(weights, DIRECTION / 0.6, atol=0.05)


def test_a_bowl_is_described_by_its_center_in_the_parameters_own_units() -> None:
    """Also where a parameter is discrete, and where there is no feature to describe."""
    names = "abcd"
    problem = Problem.from_dict(
        {
            "direction": "minimize",
            "parameters": [
                *({"name": n, "type": "float", "bounds": [-10, 10]} for n in names),
                {"name": "n", "type": "int", "bounds": [0, 20]},
            ],
            "algorithm": {"proposals": 10},
        }
    )
    place = {"a": 3.0, "b": -4.0, "c": 0.0, "d": 5.0, "n": 12}
    rng = np.random.default_rng(0)
    points = [{**{n: float(rng.uniform(-10, 10)) for n in names}, "n": int(rng.integers(21))} for _ in range(80)]
    told = [Observation(p, value=math.dist(list(p.values()), list(place.values()))) for p in points]
    start = State(asks=turn_of("bowl")).to_dict()
    feature = propose(problem, told, state=start).diagnostics["feature"]
    assert feature["kind"] == "bowl"
    assert feature["center"] == pytest.approx(place, abs=2.5)  # of ranges of twenty; the fit is a short one
    assert isinstance(feature["center"]["n"], int)
    assert propose(problem, told[:12]).diagnostics["feature"] is None
