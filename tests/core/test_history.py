"""Observations as numbers, against reading them by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from core import InvalidObservation, InvalidPoint, Observation
from core.history import read
from core.space import Space
from tests.core.support import known_problem, unit_problem


def test_rows_stay_in_order_with_repeats() -> None:
    """Trap: repeated inputs neither move nor vanish; each row keeps its own value."""
    problem = unit_problem(2)
    X = [(0.9, 0.1), (0.2, 0.3), (0.9, 0.1), (0.2, 0.3)]
    told = [Observation({"x0": a, "x1": b}, value=float(i)) for i, (a, b) in enumerate(X)]
    history = read(problem, Space(problem), told)
    np.testing.assert_allclose(history.X, X)
    assert history.y.tolist() == [0, 1, 2, 3]


def test_minimised_values_are_turned_over() -> None:
    """Larger is better inside: y and factor values change sign, standard errors do not."""
    problem = known_problem([[0], [1]], direction="minimize")
    told = [Observation({"x0": 0.5, "x1": 0.5}, factor_values={"f1": 2.0, "f0": 1.0}, sem=0.3)]
    history = read(problem, Space(problem), told)
    assert history.y.tolist() == [-3.0]
    assert history.Y.tolist() == [[-1.0, -2.0]]
    assert history.sem.tolist() == [0.3]


def test_states_are_kept_apart() -> None:
    """Failed and abandoned points carry no value; completed ones are the history."""
    problem = unit_problem(1)
    told = [Observation({"x0": 0.1}, value=1.0), Observation({"x0": 0.2}, state="failed"),
            Observation({"x0": 0.3}, state="abandoned"), Observation({"x0": 0.4}, value=2.0)]  # fmt: skip
    history = read(problem, Space(problem), told)
    assert history.n_obs == 2
    np.testing.assert_allclose(history.failed, [[0.2]])
    np.testing.assert_allclose(history.abandoned, [[0.3]])


def test_mixed_rows_are_told_apart() -> None:
    """A row told in sum only has no factor values; one told by factors has both."""
    problem = known_problem([[0], [1]])
    at = {"x0": 0.5, "x1": 0.5}
    told = [Observation(at, value=5.0), Observation(at, factor_values={"f0": 1.0, "f1": 2.0})]
    history = read(problem, Space(problem), told)
    assert history.has_factors.tolist() == [False, True]
    assert history.y.tolist() == [5.0, 3.0]
    assert np.isnan(history.Y[0]).all()
    assert math.isnan(history.sem[0])


def test_nothing_told_is_an_empty_history() -> None:
    """No observations give arrays of the right widths."""
    problem = unit_problem(3)
    history = read(problem, Space(problem), [])
    assert history.X.shape == (0, 3)
    assert history.n_obs == 0
    assert history.has_factors.shape == (0,)


def test_taking_rows_keeps_everything_aligned() -> None:
    """A subset has the same rows of every array."""
    problem = unit_problem(1)
    told = [Observation({"x0": i / 10}, value=float(i), sem=i / 100) for i in range(5)]
    part = read(problem, Space(problem), told).take(np.array([3, 1]))
    np.testing.assert_allclose(part.X[:, 0], [0.3, 0.1])
    assert part.y.tolist() == [3, 1]
    np.testing.assert_allclose(part.sem, [0.03, 0.01])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "3"])
def test_bad_value_names_its_observation(value: Any) -> None:
    """NaN or infinite y is InvalidObservation at its index."""
    problem = unit_problem(1)
    told = [Observation({"x0": 0.1}, value=1.0), Observation({"x0": 0.2}, value=value)]
    with pytest.raises(InvalidObservation) as caught:
        read(problem, Space(problem), told)
    assert caught.value.faults[0].loc == (1, "value")


def test_bad_point_and_bad_state_name_their_observation() -> None:
    """A point outside and an unknown state are told with their index."""
    problem = unit_problem(1)
    with pytest.raises(InvalidPoint) as caught:
        read(problem, Space(problem), [Observation({"x0": 1.5}, value=1.0)])
    assert caught.value.faults[0].loc == (0, "x0")
    with pytest.raises(InvalidObservation, match="unknown state"):
        read(problem, Space(problem), [Observation({"x0": 0.5}, state="lost")])  # type: ignore[arg-type]
