"""Problems and observations are checked when made, and say everything that is wrong."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from core import InvalidObservation, InvalidPoint, InvalidProblem, Observation, Parameter, Problem
from tests.core.support import known_problem, unit_problem

SPEC: dict[str, Any] = {
    "direction": "minimize",
    "parameters": [
        {"name": "lr", "type": "float", "bounds": [1e-5, 1.0], "scale": "log"},
        {"name": "width", "type": "int", "bounds": [16, 1024], "scale": "log"},
        {"name": "batch", "type": "ordinal", "values": [16, 32, 64]},
        {"name": "opt", "type": "categorical", "values": ["adam", "sgd"]},
    ],
    "decomposition": {
        "mode": "known",
        "factors": [
            {"name": "quality", "parameters": ["lr", "opt"]},
            {"name": "cost", "parameters": ["width", "batch"]},
        ],
    },
    "algorithm": {"seed": 7},
}


def test_study_spec_makes_a_problem_and_comes_back_from_json() -> None:
    """from_dict(to_dict()) is the same problem, through JSON too."""
    problem = Problem.from_dict(SPEC)
    assert Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem
    assert problem.sign == -1.0


BAD_PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"type": "double", "bounds": [0, 1]}, "expected one of float"),
    ({"type": "float"}, "two finite numbers"),
    ({"type": "float", "bounds": [0]}, "two finite numbers"),
    ({"type": "float", "bounds": [0, math.nan]}, "two finite numbers"),
    ({"type": "float", "bounds": [0, math.inf]}, "two finite numbers"),
    ({"type": "float", "bounds": [False, True]}, "two finite numbers"),
    ({"type": "float", "bounds": [0, 10**400]}, "two finite numbers"),
    ({"type": "float", "bounds": "ab"}, "two finite numbers"),
    ({"type": "float", "bounds": [1, 0]}, "low must not exceed high"),
    ({"type": "float", "bounds": [0, 1], "scale": "log"}, "above zero"),
    ({"type": "float", "bounds": [0, 1], "scale": "cubic"}, "linear or log"),
    ({"type": "float", "bounds": [-1.7e308, 1.7e308]}, "overflows"),
    ({"type": "int", "bounds": [0, 1.5]}, "whole bounds"),
    ({"type": "int", "bounds": [0, 2**41]}, "whole bounds"),
    ({"type": "float", "bounds": [0, 1], "values": [1]}, "takes bounds, not values"),
    ({"type": "ordinal", "values": []}, "at least one value"),
    ({"type": "ordinal"}, "at least one value"),
    ({"type": "ordinal", "values": [1, 1.0]}, "listed twice"),
    ({"type": "categorical", "values": ["a", None]}, "string, a boolean or a finite number"),
    ({"type": "categorical", "values": [math.inf]}, "string, a boolean or a finite number"),
    ({"type": "categorical", "values": ["a"], "bounds": [0, 1]}, "takes values, not bounds"),
    ({"type": "categorical", "values": ["a"], "scale": "log"}, "no scale"),
]


@pytest.mark.parametrize(("spec", "said"), BAD_PARAMETERS)
def test_bad_parameters_are_refused_with_the_reason(spec: dict[str, Any], said: str) -> None:
    """Every way a parameter can make no sense names itself and its place."""
    with pytest.raises(InvalidProblem, match=said) as caught:
        Problem.from_dict({"direction": "maximize", "parameters": [{"name": "p", **spec}]})
    assert caught.value.faults[0].loc[:2] == ("parameters", 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"direction": "up"}, "minimize or maximize"),
        ({"parameters": []}, "at least one parameter"),
        ({"parameters": SPEC["parameters"] + SPEC["parameters"][:1]}, "used twice"),
        ({"decomposition": {"mode": "guess"}}, "expected one of infer"),
        ({"decomposition": {"mode": "known"}}, "at least one factor"),
        ({"decomposition": {"mode": "none", "factors": SPEC["decomposition"]["factors"]}}, "go with mode known"),
        ({"decomposition": {"max_factor_size": 0}}, "at least 1"),
        ({"decomposition": {"samples": 0}}, "from 1 to"),
        ({"algorithm": {"seed": -1}}, "seed"),
        ({"algorithm": {"initial_trials": 0}}, "at least 1"),
        ({"algorithm": {"beta": "big"}}, "a number or one of"),
        ({"algorithm": {"beta": -1.0}}, "at least 0"),
        ({"algorithm": {"beta": math.nan}}, "at least 0"),
        ({"algorithm": {"kernel": "linear"}}, "expected one of matern52"),
        ({"algorithm": {"neighborhood": "far"}}, "expected one of sample"),
        ({"algorithm": {"transform": "log"}}, "expected one of auto"),
        ({"algorithm": {"proposals": -1}}, "proposals"),
        ({"algorithm": {"speed": 1}}, "malformed"),
        ({"parameters": [{"name": "p", "kind": "float"}]}, "malformed"),
        ({"parameters": 3}, "malformed"),
    ],
)
def test_bad_problems_are_refused_with_the_reason(change: dict[str, Any], said: str) -> None:
    """Direction, decomposition and knobs are checked as well."""
    with pytest.raises(InvalidProblem, match=said):
        Problem.from_dict({**SPEC, **change})


@pytest.mark.parametrize("knob", ["seed", "initial_trials", "proposals"])
def test_knobs_that_count_must_be_whole(knob: str) -> None:
    """2.5 initial trials, or a fractional seed, make no sense and are refused before they break an ask."""
    with pytest.raises(InvalidProblem):
        unit_problem(2, algorithm={knob: 2.5})


@pytest.mark.parametrize("knob", ["samples", "max_factor_size"])
def test_counts_of_the_decomposition_must_be_whole(knob: str) -> None:
    """2.5 samples, or factors of 1.5 variables, are refused."""
    with pytest.raises(InvalidProblem):
        unit_problem(2, decomposition={"mode": "infer", knob: 2.5})


def test_missing_direction_is_refused() -> None:
    """There is no default direction."""
    with pytest.raises(InvalidProblem, match="direction"):
        Problem.from_dict({"parameters": SPEC["parameters"]})


def test_empty_factor_is_refused() -> None:
    """A factor without parameters is named."""
    with pytest.raises(InvalidProblem, match="at least one parameter") as caught:
        known_problem([[0, 1], []])
    assert caught.value.faults[0].loc == ("decomposition", "factors", 1, "parameters")


def test_unknown_parameter_in_a_factor_is_refused() -> None:
    """A factor over a parameter that does not exist is named."""
    factors = [{"name": "f", "parameters": ["x0", "x9"]}]
    with pytest.raises(InvalidProblem, match="unknown parameter 'x9'"):
        unit_problem(1, decomposition={"mode": "known", "factors": factors})


def test_uncovered_variable_is_refused() -> None:
    """Factors must cover every parameter; the missing ones are listed."""
    with pytest.raises(InvalidProblem, match="missing: x1, x2"):
        unit_problem(3, decomposition={"mode": "known", "factors": [{"name": "f", "parameters": ["x0"]}]})


def test_doubled_names_in_factors_are_refused() -> None:
    """A factor name used twice, or a parameter twice in one factor."""
    twice = [{"name": "f", "parameters": ["x0", "x0"]}, {"name": "f", "parameters": ["x1"]}]
    with pytest.raises(InvalidProblem) as caught:
        unit_problem(2, decomposition={"mode": "known", "factors": twice})
    assert "listed twice" in str(caught.value)
    assert "used twice" in str(caught.value)


def test_every_fault_is_told_at_once() -> None:
    """Three things wrong are three faults."""
    with pytest.raises(InvalidProblem) as caught:
        Problem((Parameter("p", "float"), Parameter("q", "ordinal")), "up")  # type: ignore[arg-type]
    assert len(caught.value.faults) == 3


@pytest.mark.parametrize(
    ("point", "name"),
    [
        ({"lr": 2.0}, "lr"),
        ({"lr": math.nan}, "lr"),
        ({"lr": True}, "lr"),
        ({"lr": "0.1"}, "lr"),
        ({"lr": None}, "lr"),
        ({"lr": 10**400}, "lr"),
        ({"width": 16.5}, "width"),
        ({"width": 8}, "width"),
        ({"batch": 17}, "batch"),
        ({"batch": True}, "batch"),
        ({"opt": "rms"}, "opt"),
        ({"opt": ["adam"]}, "opt"),
        ({"speed": 1}, "speed"),
    ],
)
def test_bad_points_are_refused_by_name(point: dict[str, Any], name: str) -> None:
    """Values out of range, of the wrong type or of no parameter raise InvalidPoint at that name."""
    good = {"lr": 0.1, "width": 32, "batch": 16, "opt": "adam"}
    with pytest.raises(InvalidPoint) as caught:
        Problem.from_dict(SPEC).check_point({**good, **point})
    assert [fault.loc for fault in caught.value.faults] == [(name,)]


def test_points_come_back_in_stored_form_and_order() -> None:
    """An int told as 32.0 is 32, keys follow the problem, and partial points may leave some out."""
    problem = Problem.from_dict(SPEC)
    checked = problem.check_point({"opt": "sgd", "batch": 32.0, "width": 64.0, "lr": 1})
    assert list(checked.items()) == [("lr", 1.0), ("width", 64), ("batch", 32), ("opt", "sgd")]
    assert isinstance(checked["width"], int)
    assert isinstance(checked["lr"], float)
    assert problem.check_point({"batch": 64}, partial=True) == {"batch": 64}
    with pytest.raises(InvalidPoint, match="missing"):
        problem.check_point({"batch": 64})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "1", None, 10**400])
def test_values_that_are_no_finite_numbers_are_refused(value: Any) -> None:
    """NaN, infinities, booleans, strings, nothing, and integers beyond a float are no observation."""
    with pytest.raises(InvalidObservation):
        unit_problem(1).check_values(value, None, None)


@pytest.mark.parametrize("sem", [math.nan, math.inf, -0.1, "0", True])
def test_bad_standard_errors_are_refused(sem: Any) -> None:
    """A standard error is a finite number of at least 0."""
    with pytest.raises(InvalidObservation, match="sem"):
        unit_problem(1).check_values(1.0, None, sem)


def test_value_is_the_sum_of_factor_values() -> None:
    """y is the sum; a value beside it may differ by rounding only."""
    problem = known_problem([[0], [1], [2]])
    told = {"f0": 0.1, "f1": 0.2, "f2": 0.3}
    assert problem.check_values(None, told, None)[0] == pytest.approx(0.6)
    assert problem.check_values(0.6, told, 0.1) == (math.fsum(told.values()), told, 0.1)
    with pytest.raises(InvalidObservation, match="differs from the sum"):
        problem.check_values(0.61, told, None)


@pytest.mark.parametrize(
    "told", [{"f0": 1.0}, {"f0": 1.0, "f1": 2.0, "f9": 3.0}, {"f0": 1.0, "f1": math.nan}, {"f0": 1e308, "f1": 1.7e308}]
)
def test_bad_factor_values_are_refused(told: dict[str, float]) -> None:
    """Missing, unknown, not finite, or of an overflowing sum."""
    with pytest.raises(InvalidObservation):
        known_problem([[0], [1]]).check_values(None, told, None)


def test_factor_values_need_known_factors() -> None:
    """Without known factors there is nothing to tell factor by factor."""
    with pytest.raises(InvalidObservation, match="mode known"):
        unit_problem(2).check_values(None, {"a": 1.0}, None)


def test_number_of_values() -> None:
    """Ranges and lists count their values; a float range has one or infinitely many."""
    assert Parameter("p", "int", (3, 7)).n_values == 5
    assert Parameter("p", "float", (2.0, 2.0)).n_values == 1
    assert Parameter("p", "ordinal", values=(1, 2)).n_values == 2
    assert math.isinf(Parameter("p", "float", (0.0, 1.0)).n_values)


def test_observations_are_plain_values() -> None:
    """Two equal observations are equal; state defaults to completed."""
    assert Observation({"x": 1}, 2.0) == Observation({"x": 1}, 2.0)
    assert Observation({"x": 1}).state == "completed"
