"""Bad or awkward input to an ask: a right answer or a clear error, each by its own test."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from core import (
    CoreError,
    InvalidObservation,
    InvalidPoint,
    Observation,
    Problem,
    SpaceExhausted,
    propose,
)
from tests.core.support import QUICK, bowl, history, known_problem, observe, point, unit_problem, valid


def test_no_data_gives_a_point_of_the_initial_design() -> None:
    """The first ask needs nothing told."""
    problem = unit_problem(3)
    proposal = propose(problem)
    valid(problem, proposal)
    assert proposal.origins == ["initial"]


@pytest.mark.parametrize("mode", ["infer", "none", "random"])
def test_one_point_is_enough_for_the_model(mode: str) -> None:
    """After one observation the model answers when the initial design is over."""
    problem = unit_problem(2, decomposition={"mode": mode}, algorithm={**QUICK, "initial_trials": 1})
    proposal = propose(problem, history(t=1))
    valid(problem, proposal)
    assert proposal.origins == ["dumbo"]


def test_two_equal_points_are_no_trouble() -> None:
    """The same input with the same value twice."""
    problem = unit_problem(2, algorithm={**QUICK, "initial_trials": 1})
    proposal = propose(problem, history(t=1) * 2)
    valid(problem, proposal)
    assert proposal.diagnostics["fallbacks"] == []


@pytest.mark.parametrize("value", [0.0, 5.0, -1e300, 0.1])
def test_constant_y_still_explores(value: float) -> None:
    """All values equal: a new valid point, without a fallback."""
    problem = unit_problem(2, algorithm=QUICK)
    told = observe(np.random.default_rng(1).random((12, 2)), lambda x: value)
    proposal = propose(problem, told)
    valid(problem, proposal)
    assert proposal.origins == ["dumbo"]


def test_repeated_x_with_different_y_is_noise() -> None:
    """Contradicting values at one input are information about the noise, not an error."""
    problem = unit_problem(2, algorithm=QUICK)
    X = np.repeat(np.random.default_rng(2).random((4, 2)), 3, axis=0)
    y = np.random.default_rng(3).normal(size=12).tolist()
    told = [Observation(point(x), value=v) for x, v in zip(X, y, strict=True)]
    proposal = propose(problem, told)
    valid(problem, proposal)
    assert proposal.origins == ["dumbo"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_or_infinite_y_is_refused(value: float) -> None:
    """No number, no observation: InvalidObservation says which."""
    with pytest.raises(InvalidObservation, match=r"1\.value"):
        propose(unit_problem(1), [Observation({"x0": 0.1}, value=1.0), Observation({"x0": 0.2}, value=value)])


@pytest.mark.parametrize("size", [1e300, 1e-300, 1.7e308])
def test_extreme_magnitudes_change_no_proposal(size: float) -> None:
    """y of 1e300 or of 1e-300 proposes what y of 1 does (up to rounding in the fit)."""
    problem = unit_problem(2, decomposition={"mode": "none"}, algorithm=QUICK)
    X = np.random.default_rng(4).random((12, 2))
    plain = propose(problem, observe(X, bowl))
    scaled = propose(problem, observe(X, lambda x: size * bowl(x)))
    valid(problem, scaled)
    assert scaled.origins == ["dumbo"]
    np.testing.assert_allclose(list(scaled.points[0].values()), list(plain.points[0].values()), atol=0.02)


@pytest.mark.parametrize(
    "y", [[1.0, *(k * 1e-300 for k in range(1, 12))], [1e300, -1e300, *range(1, 11)], [10.0**k for k in range(-6, 6)]]
)
def test_values_over_many_orders_of_magnitude_are_modelled(y: list[float]) -> None:
    """Tiny and huge values in one history still make a model, without a warning."""
    problem = unit_problem(2, algorithm=QUICK)
    X = np.random.default_rng(5).random((12, 2))
    proposal = propose(problem, [Observation(point(x), value=float(v)) for x, v in zip(X, y, strict=True)])
    valid(problem, proposal)
    assert proposal.diagnostics["fallbacks"] == []


@pytest.mark.parametrize("sem", [0.0, 1e-300, 1e200, 1e308])
def test_any_finite_standard_error_is_taken(sem: float) -> None:
    """A standard error of zero or of absurd size is legal, and the answer no fallback."""
    problem = unit_problem(2, algorithm=QUICK)
    told = history()
    told[3] = Observation(told[3].parameters, value=told[3].value, sem=sem)
    proposal = propose(problem, told)
    valid(problem, proposal)
    assert proposal.diagnostics["fallbacks"] == []


def test_one_dimension_has_one_decomposition() -> None:
    """d = 1 works in every mode and finds the top of a bowl."""
    for mode in ("infer", "none", "random"):
        problem = unit_problem(1, decomposition={"mode": mode}, algorithm=QUICK)
        proposal = propose(problem, history(d=1))
        valid(problem, proposal)
        assert proposal.points[0]["x0"] == pytest.approx(0.3, abs=0.1)


def test_a_parameter_with_one_value_stays_there() -> None:
    """Degenerate ranges and lists of one are legal and constant in every proposal."""
    parameters = [
        {"name": "x", "type": "float", "bounds": [0, 1]},
        {"name": "one", "type": "float", "bounds": [2.5, 2.5]},
        {"name": "k", "type": "int", "bounds": [4, 4]},
        {"name": "c", "type": "categorical", "values": ["only"]},
    ]
    knobs = {**QUICK, "initial_trials": 2}
    problem = Problem.from_dict({"direction": "maximize", "algorithm": knobs, "parameters": parameters})
    told: list[Observation] = []
    for _ in range(5):
        proposal = propose(problem, told)
        valid(problem, proposal)
        x = proposal.points[0]
        assert (x["one"], x["k"], x["c"]) == (2.5, 4, "only")
        told.append(Observation(x, value=-abs(float(x["x"]) - 0.3)))


def test_all_parameters_fixed_gives_that_point() -> None:
    """Everything fixed: the one point, again when it was told, and SpaceExhausted while it is pending."""
    problem = unit_problem(2, algorithm=QUICK)
    fixed = {"x0": 0.25, "x1": 0.5}
    assert propose(problem, fixed=fixed).points == [fixed]
    assert propose(problem, history(), fixed=fixed).points == [fixed]
    assert propose(problem, [*history(), Observation(fixed, value=0.0)], fixed=fixed).points == [fixed]
    with pytest.raises(SpaceExhausted):
        propose(problem, history(), fixed=fixed, pending=[fixed])


def test_two_thousand_observations_are_answered() -> None:
    """t = 2,000 gives a model-based point."""
    problem = unit_problem(3, decomposition={"mode": "infer", "samples": 2}, algorithm=QUICK)
    proposal = propose(problem, history(3, 2000))
    valid(problem, proposal)
    assert proposal.origins == ["dumbo"]


def test_numerically_singular_gram_is_no_trouble() -> None:
    """Forty points within 1e-9 of each other, without noise: a valid model-based point and no warning."""
    problem = unit_problem(2, algorithm=QUICK)
    X = 0.5 + 1e-9 * np.random.default_rng(6).random((40, 2))
    told = [Observation(point(x), value=1.0 + 1e-12 * i, sem=0.0) for i, x in enumerate(X)]
    proposal = propose(problem, told)
    valid(problem, proposal)
    assert proposal.origins == ["dumbo"]


def test_a_vast_discrete_space_with_a_float_is_answered() -> None:
    """A hundred wide ints beside one float: more points than a float can count, and still an answer."""
    parameters: list[dict[str, Any]] = [{"name": f"i{j}", "type": "int", "bounds": [0, 10_000]} for j in range(100)]
    parameters.append({"name": "f", "type": "float", "bounds": [0, 1]})
    knobs = {"initial_trials": 1, "proposals": 0}
    problem = Problem.from_dict({"direction": "maximize", "algorithm": knobs, "parameters": parameters})
    told = [Observation(x, value=1.0) for x in propose(problem).points]
    valid(problem, propose(problem, told))


def test_one_row_of_factor_values_is_enough() -> None:
    """Decomposed output works from its first row on, and with a factor that never changes."""
    problem = known_problem([[0, 1], [1]], algorithm={"initial_trials": 1})
    X = np.random.default_rng(8).random((6, 2))
    told = [Observation(point(x), factor_values={"f0": bowl(x), "f1": 0.0}) for x in X]
    for t in (1, 2, 6):
        proposal = propose(problem, told[:t])
        valid(problem, proposal)
        assert (proposal.origins, proposal.diagnostics["model"]) == (["dumbo"], "separate")


def test_nothing_but_failures_keeps_filling_the_space() -> None:
    """With no value told there is nothing to model: initial points go on, never a failed one again."""
    problem = unit_problem(2)
    told: list[Observation] = []
    for _ in range(15):
        proposal = propose(problem, told)
        valid(problem, proposal)
        assert proposal.points[0] not in [o.parameters for o in told]
        told.append(Observation(proposal.points[0], state="failed"))


@pytest.mark.parametrize("count", [0, -1])
def test_count_below_one_is_refused(count: int) -> None:
    """At least one point must be asked for."""
    with pytest.raises(CoreError, match="count"):
        propose(unit_problem(1), count=count)


def test_bad_points_are_refused_wherever_they_come_in() -> None:
    """Observed, pending and fixed values are all checked against the space."""
    problem = unit_problem(2)
    with pytest.raises(InvalidPoint):
        propose(problem, [Observation({"x0": 0.5}, value=1.0)])
    with pytest.raises(InvalidPoint):
        propose(problem, pending=[{"x0": 0.5, "x1": 7.0}])
    with pytest.raises(InvalidPoint):
        propose(problem, fixed={"x9": 0.5})
