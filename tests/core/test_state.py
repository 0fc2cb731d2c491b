"""State is plain versioned data, and tells the structure."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from core import InvalidState, predict, propose
from core.state import VERSION, Sample, State, structure
from tests.core.support import known_problem, observe, point, unit_problem

STATE = State(
    (Sample(((0, 1), (2,)), -3.5, 0.6), Sample(((0,), (1, 2)), -4.0, 0.4, 1)),
    (((0, 1, 2),), ((0,), (1,), (2,))),
    {"shared_0": {"log_lengthscale": [0.1, 0.2, 0.3], "log_scale": [0.0], "log_noise": [-3.0], "mean": [0.5]}},
    {"shared": [1.5]},
    7,
    2.5,
    {"known_1": 12.0},
)


def test_state_survives_json() -> None:
    """from_dict(json(to_dict())) is the same state, and the version is in it."""
    data = STATE.to_dict()
    assert data["version"] == VERSION
    assert State.from_dict(json.loads(json.dumps(data, allow_nan=False)), 3) == STATE


def test_no_state_is_a_fresh_start() -> None:
    """None reads as the empty state."""
    assert State.from_dict(None, 3) == State()


@pytest.mark.parametrize("version", [0, VERSION + 1, None, "1"])
def test_another_version_is_refused(version: Any) -> None:
    """A state of another version raises InvalidState that names both."""
    with pytest.raises(InvalidState, match=f"version {VERSION}"):
        State.from_dict({**STATE.to_dict(), "version": version}, 3)


def test_an_ask_refuses_a_state_of_another_version() -> None:
    """propose raises InvalidState with data, and already without: a bad state is not handed on."""
    problem = unit_problem(2)
    bad = {**STATE.to_dict(), "version": VERSION + 1}
    with pytest.raises(InvalidState):
        propose(problem, observe(np.random.default_rng(0).random((12, 2)), lambda x: float(x.sum())), state=bad)
    with pytest.raises(InvalidState):
        propose(problem, state=bad)


@pytest.mark.parametrize(
    "change",
    [
        {"decompositions": [{"factors": [[0]]}]},
        {"decompositions": 3},
        {"chains": [[["a"]]]},
        {"chains": None},
        {"hyperparameters": None},
        {"hyperparameters": {"shared_0": [1.0]}},
        {"chains": [[[0], [1]]]},
        {"chains": [[[0, 1, 2], [-1]]]},
        {"hyperparameters": {"shared_0": {**STATE.hyperparameters["shared_0"], "mean": ["x"]}}},
        {"powers": [1]},
        {"powers": {"shared": []}},
        {"behind": [1.0]},
        {"behind": {"known_0": None}},
        {"behind": {"known_0": float("inf")}},
    ],
)
def test_malformed_state_is_invalid_not_a_crash(change: dict[str, Any]) -> None:
    """Missing or mistyped parts raise InvalidState from an ask, whatever is wrong."""
    told = observe(np.random.default_rng(0).random((12, 3)), lambda x: float(x.sum()))
    with pytest.raises(InvalidState):
        propose(unit_problem(3, algorithm={"proposals": 2}), told, state={**STATE.to_dict(), **change})


def test_a_sample_of_a_chain_that_is_not_there_is_invalid() -> None:
    """A stored sample that goes with no chain's hyperparameters is InvalidState, not IndexError."""
    told = observe(np.random.default_rng(0).random((12, 3)), lambda x: float(x.sum()))
    lost = {**STATE.to_dict()["decompositions"][0], "chain": 7}
    with pytest.raises(InvalidState):
        predict(unit_problem(3), told, [point([0.5, 0.5, 0.5])], state={**STATE.to_dict(), "decompositions": [lost]})


def test_hyperparameters_of_another_shape_start_afresh() -> None:
    """Stored vectors that do not fit are left aside: the ask answers as without them."""
    told = observe(np.random.default_rng(0).random((12, 3)), lambda x: float(x.sum()))
    problem = unit_problem(3, algorithm={"proposals": 2})
    odd = {"shared_0": {"log_scale": [0.0]}, "shared_1": {**STATE.hyperparameters["shared_0"], "mean": [0.0, 0.0]}}
    fresh, strange = (propose(problem, told, state={**STATE.to_dict(), "hyperparameters": h}).points for h in ({}, odd))
    assert fresh == strange


def test_state_of_another_problem_is_invalid_not_a_crash() -> None:
    """Factors over parameters that this problem does not have raise InvalidState."""
    told = observe(np.random.default_rng(0).random((12, 2)), lambda x: float(x.sum()))
    with pytest.raises(InvalidState):
        propose(unit_problem(2), told, state=STATE.to_dict())


def test_structure_before_any_sample_is_fully_dependent() -> None:
    """Where inference starts: one factor of every parameter, all co-occurring."""
    told = structure(unit_problem(3), None)
    assert told["mode"] == "infer"
    assert told["map"] == [["x0", "x1", "x2"]]
    assert told["co_occurrence"] == {"parameters": ["x0", "x1", "x2"], "matrix": [[1.0] * 3] * 3}


def test_structure_weighs_the_samples() -> None:
    """Co-occurrence is the weighted share of samples in which two parameters meet; the map weighs most."""
    told = structure(unit_problem(3), STATE.to_dict())
    matrix = np.array(told["co_occurrence"]["matrix"])
    np.testing.assert_allclose(matrix, [[1, 0.6, 0], [0.6, 1, 0.4], [0, 0.4, 1]])
    assert told["map"] == [["x0", "x1"], ["x2"]]
    assert [s["factors"] for s in told["samples"]] == [[["x0", "x1"], ["x2"]], [["x0"], ["x1", "x2"]]]
    assert [s["log_evidence"] for s in told["samples"]] == [-3.5, -4.0]


def test_structure_of_known_factors_is_theirs() -> None:
    """Known factors are the one sample, overlapping or not, before and after the first ask."""
    problem = known_problem([[0, 1], [1, 2]])
    told = structure(problem, None)
    assert told["mode"] == "known"
    assert told["map"] == [["x0", "x1"], ["x1", "x2"]]
    assert told["samples"][0]["log_evidence"] is None
    assert told["co_occurrence"]["matrix"] == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    json.dumps(told, allow_nan=False)
