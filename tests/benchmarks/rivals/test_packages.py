"""Random, Sobol, Optuna and BoTorch behind the one interface."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import problems, rivals
from benchmarks.arena.run import Task, execute
from benchmarks.problems import Array
from benchmarks.rivals.botorch_models import fit_standard_model, maximize, seeded, unit_bounds


def play(name: str, problem_name: str, n: int, seed: int = 0) -> Array:
    """The points asked for, each told its value."""
    problem = problems.make(problem_name, seed)
    optimizer = rivals.make(name, problem, seed)
    points = []
    for _ in range(n):
        x = optimizer.ask()
        optimizer.tell(x, problem.f(x))
        points.append(x)
    return np.array(points)


@pytest.mark.parametrize("name", ["random", "sobol", "optuna-tpe", "optuna-gp", "optuna-cmaes", "botorch-logei"])
def test_points_lie_in_the_box_and_follow_from_the_seed(name: str) -> None:
    """Every point is in bounds, the same seed asks the same, another seed asks otherwise."""
    X, again, other = play(name, "wlan-log", 11), play(name, "wlan-log", 11), play(name, "wlan-log", 1, seed=1)
    low, high = np.array(problems.make("wlan-log").bounds).T
    assert ((low <= X) & (high >= X)).all()
    np.testing.assert_array_equal(X, again)
    assert not np.array_equal(X[0], other[0])


@pytest.mark.parametrize("name", ["dumbo", "random", "sobol", "optuna-tpe", "optuna-gp"])
def test_whole_numbers_and_choices_are_asked_for_as_such(name: str) -> None:
    """Points of a mixed space are valid, every algorithm takes what it is told, and none asks for one choice only."""
    problem = problems.make("branches", 0)
    X = play(name, "branches", 14)
    for parameter, column in zip(problem.parameters, X.T, strict=True):
        low, high = parameter.bounds
        assert ((low <= column) & (column <= high)).all()
        assert len(set(column)) > 1
        if parameter.kind != "float":
            np.testing.assert_array_equal(column, np.rint(column))


def test_sobol_covers_every_quarter_of_each_axis() -> None:
    """Sixteen points of the sequence fall four to each quarter, which random points do not."""
    X = (play("sobol", "camel", 16) - [-3, -2]) / [6, 4]
    counts = [np.histogram(column, bins=4, range=(0, 1))[0].tolist() for column in X.T]
    assert counts == [[4, 4, 4, 4]] * 2


@pytest.mark.parametrize("name", ["optuna-gp", "botorch-logei"])
def test_model_based_packages_beat_random_search(name: str) -> None:
    """On shifted camel with 16 evaluations a model gets far nearer than random points."""
    regret, random = (execute(Task("camel-shifted", n, 1, 16)).regret() for n in (name, "random"))
    assert regret < 0.4 * random


def test_optuna_takes_in_points_it_did_not_ask_for() -> None:
    """A history from elsewhere counts as trials: the sampler's own start-up is over."""
    problem = problems.make("camel")
    optimizer = rivals.make("optuna-tpe", problem, 0)
    for u in np.random.default_rng(0).random((30, 2)):
        x = problem.from_unit(u)
        optimizer.tell(x, problem.f(x))
    assert optimizer.ask().shape == (2,)
    assert len(optimizer._study.get_trials(states=[1])) == 30  # type: ignore[attr-defined]


def test_botorch_maximization_finds_the_known_top_of_an_acquisition() -> None:
    """The multi-start search ends at the maximizer of a posterior mean that has one clear peak."""
    from botorch.acquisition.analytic import PosteriorMean

    U = np.random.default_rng(0).random((60, 2))
    y = -((U - [0.3, 0.7]) ** 2).sum(axis=1)
    with seeded(0):
        top = maximize(PosteriorMean(fit_standard_model(U, y)), unit_bounds(2))
    np.testing.assert_allclose(top, [0.3, 0.7], atol=0.02)
