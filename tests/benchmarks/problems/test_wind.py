"""The wind farm: Jensen's formula by hand, and what must hold however turbines stand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import problems
from benchmarks.problems.wind import DIAMETER, DIRECTIONS, SIDE, SPREAD, THRUST, deficits

PLACES = st.lists(st.tuples(st.floats(0, SIDE), st.floats(0, SIDE)), min_size=1, max_size=8).map(np.array)


def test_a_turbine_in_a_wake_is_slowed_by_jensens_formula() -> None:
    """1 - sqrt(1 - C) times the squared ratio of the rotor to the widened wake, in one direction; none upwind."""
    behind = deficits(np.array([[500.0, 800.0], [1500.0, 800.0]]))  # the wind of the first direction blows along x
    widened = DIAMETER / 2 + SPREAD * 1000
    expected = (1 - np.sqrt(1 - THRUST)) * (DIAMETER / 2 / widened) ** 2
    assert behind[0].tolist() == pytest.approx([0.0, expected])
    assert behind[6].tolist() == pytest.approx([expected, 0.0])  # from the other side
    assert (behind[[1, 2, 3, 4, 5, 7, 8, 9, 10, 11]] == 0).all()


def test_wakes_add_up_as_a_root_of_squares() -> None:
    """The third in a row has the wakes of both before it."""
    row = np.array([[300.0, 0.0], [1100.0, 0.0], [2400.0, 0.0]])
    third = deficits(row)[0, 2]
    alone = [deficits(row[[i, 2]])[0, 1] for i in (0, 1)]
    assert third == pytest.approx(np.hypot(*alone))


@settings(max_examples=60, deadline=None)
@given(PLACES)
def test_turning_farm_and_wind_together_changes_nothing(places: np.ndarray) -> None:
    """By a quarter, three of the twelve directions; nor does the order of the turbines matter."""
    turned = np.stack([SIDE - places[:, 1], places[:, 0]], 1)
    # What lies on the very edge of a wake may fall on either side of it by rounding.
    close = np.isclose(np.roll(deficits(places), 3, axis=0), deficits(turned), atol=1e-9)
    assert close.mean() > 0.9
    np.testing.assert_allclose(deficits(places[::-1]), deficits(places)[:, ::-1], atol=1e-12)
    assert ((deficits(places) >= 0) & (deficits(places) <= 1)).all()


def test_turbines_lose_nothing_alone_and_much_in_one_place() -> None:
    """One turbine has no wakes; far ones lose little; all in one corner lose nearly all."""
    assert problems.make("wind-1", 4).f(np.array([100.0, 100.0])) == 0
    farm = problems.make("wind-4", 4)
    apart = farm.f(np.array([0, 0, SIDE, 0.37 * SIDE, 0.2 * SIDE, SIDE, 0.6 * SIDE, 0.55 * SIDE]))
    together = farm.f(np.zeros(8))
    assert -15 < apart < 0
    assert -100 <= together < -50
    assert len(DIRECTIONS) == 12
