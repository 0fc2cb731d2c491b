"""What all problems share: the unit cube, the spec for the core, noise, and names."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import problems
from core import Problem

SLOW_TO_MAKE = ("additive-30", "additive-50", "additive-100", "chain")
CHEAP = [name for name in problems.PAPER + problems.FAMILIES + problems.LATER if not name.startswith(SLOW_TO_MAKE)]


@pytest.mark.parametrize("name", ["camel", "powell-24", "wlan", "wlan-log", "cosmo"])
def test_unit_cube_round_trip(name: str) -> None:
    """A point of the cube comes back from the box, and the cube's corners are the box's."""
    problem = problems.make(name)
    u = np.random.default_rng(0).random((20, problem.n_dims))
    np.testing.assert_allclose(problem.to_unit(problem.from_unit(u)), u, atol=1e-12)
    low, high = np.array(problem.bounds).T
    np.testing.assert_allclose(problem.from_unit(np.zeros(problem.n_dims)), low, rtol=1e-15)
    np.testing.assert_allclose(problem.from_unit(np.ones(problem.n_dims)), high, rtol=1e-15)


@pytest.mark.parametrize("name", CHEAP)
def test_spec_is_a_problem_of_the_core(name: str) -> None:
    """The spec passes the core's checks in every mode that fits, and so do the problem's points."""
    problem = problems.make(name, seed=1)
    for mode in ("infer", "none", "random", *(["known"] if problem.factors else [])):
        core_problem = Problem.from_dict(problem.to_spec(mode, seed=3))
        assert core_problem.names == problem.parameter_names
        assert core_problem.algorithm.seed == 3
    x = problem.from_unit(np.random.default_rng(1).random(problem.n_dims))
    point = problem.point(x)
    assert core_problem.check_point(point) == point
    np.testing.assert_array_equal(problem.array(point), x)


@pytest.mark.parametrize("name", ["boosting", "whole-12", "pest"])
def test_whole_numbers_own_equal_parts_of_the_cube(name: str) -> None:
    """On a linear scale each is drawn as often as any other; the middle of its part leads back to it."""
    problem = problems.make(name)
    X = problem.from_unit(np.random.default_rng(0).random((4000, problem.n_dims)))
    np.testing.assert_allclose(problem.from_unit(problem.to_unit(X)), X, rtol=1e-12)
    for parameter, column in zip(problem.parameters, X.T, strict=True):
        low, high = parameter.bounds
        if parameter.kind != "float":
            values, counts = np.unique(column, return_counts=True)
            np.testing.assert_array_equal(values, np.arange(low, high + 1))
            if parameter.scale == "linear":
                assert counts.min() > 0.7 * counts.mean()


def test_known_mode_without_factors_is_refused() -> None:
    """A problem without a decomposition cannot claim one."""
    with pytest.raises(ValueError, match="no known decomposition"):
        problems.make("rover").to_spec("known")


def test_observations_carry_the_stated_noise() -> None:
    """Noise has the stated standard deviation, is reproducible, and reaches the factor values too."""
    problem = problems.make("hartmann-6-noisy")
    x = problem.from_unit(np.full(6, 0.3))
    rng = np.random.default_rng(0)
    draws = [problem.observe(x, rng) for _ in range(2000)]
    errors = np.array([y for y, _ in draws]) - problem.f(x)
    assert errors.std() == pytest.approx(problem.noise, rel=0.1)
    assert abs(errors.mean()) < 4 * problem.noise / np.sqrt(2000)
    y, Y = draws[0]
    assert Y is not None
    assert sum(Y.values()) == pytest.approx(y)
    assert problem.observe(x, np.random.default_rng(0))[0] == y


def test_noiseless_observation_is_f() -> None:
    """Without noise an observation is the function's value."""
    problem = problems.make("powell-24-shifted", 2)
    x = problem.from_unit(np.full(24, 0.7))
    assert problem.observe(x, np.random.default_rng(0))[0] == problem.f(x)


@pytest.mark.parametrize(
    "name",
    ["nonsense", "camel-log", "rover-shifted", "wlan-shifted", "hartmann-7", "pest-cornered", "pest-3", "camel-2"],
)
def test_a_name_that_means_nothing_is_refused(name: str) -> None:
    """An unknown problem, or one that cannot be moved, is an error and not another problem."""
    with pytest.raises(ValueError, match=r"unknown problem|cannot be moved|has 6 dimensions"):
        problems.make(name)
