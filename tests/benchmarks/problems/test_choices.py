"""Switches, choices and whole numbers against plain loops, brute force and what must hold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from benchmarks import problems
from benchmarks.problems import choices


@pytest.mark.parametrize("name", ["switches-4", "whole-4"])
def test_the_stated_optimizer_is_the_best_point_of_a_small_space(name: str) -> None:
    """Every combination of the whole numbers near it, with the floats at their best, has less."""
    problem = problems.make(name, seed=2)
    assert problem.optimizer is not None
    best = np.array(problem.optimizer)
    assert problem.f(best) == pytest.approx(0.0, abs=1e-12)
    ranges = [
        [v] if kind == "float" else [w for w in range(int(low), int(high) + 1) if abs(w - v) <= 2]
        for v, kind, (low, high) in zip(best, problem.kinds, problem.bounds, strict=True)
    ]
    others = [x for x in product(*ranges) if x != tuple(best)]
    assert len(others) >= 15
    assert max(problem.f(np.array(x)) for x in others) < -1e-3


def test_switches_are_best_with_the_floats_where_they_are() -> None:
    """Moving a float away from the optimizer costs, whatever the direction."""
    problem = problems.make("switches-20", seed=1)
    best = np.array(problem.optimizer)
    steps = np.zeros((200, 23))
    steps[:, :3] = np.random.default_rng(0).normal(scale=0.05, size=(200, 3))
    assert max(problem.f(best + step) for step in steps) < 0


def test_maxcut_counts_the_weight_within_the_parts() -> None:
    """By the weight of every edge, taken from divisions of two nodes; which part is which means nothing."""
    problem = problems.make("maxcut-8", seed=3)
    total = -problem.f(np.zeros(8))
    assert total > 0
    weight = np.zeros((8, 8))
    for i in range(8):
        for j in range(i):  # what is gained by parting i from j, all others being with neither
            pair, only_i, only_j = np.zeros((3, 8))
            pair[[i, j]], only_i[i], only_j[j] = 1, 1, 1
            weight[i, j] = (problem.f(only_i) + problem.f(only_j) - problem.f(pair) + total) / 2
    for x in np.random.default_rng(0).integers(0, 2, (30, 8)).astype(float):
        within = sum(weight[i, j] for i in range(8) for j in range(i) if x[i] == x[j])
        assert problem.f(x) == pytest.approx(-within)
        assert problem.f(x) == pytest.approx(problem.f(1 - x))


def test_pest_against_a_loop_over_stations_and_sites() -> None:
    """One site at a time, in the problem's own random numbers."""
    rng = np.random.default_rng([1, 0x9E5])
    start, spread = rng.beta(1, 30, 100), rng.beta(1, 20, (25, 100))
    works = rng.beta(8, 2, (25, 4, 100))
    problem = problems.make("pest", seed=1)
    for x in np.random.default_rng(0).integers(0, 5, (5, 25)):
        cost = sum(choices.PRICE[k - 1] for k in x if k)
        for site in range(100):
            infested = start[site]
            for station, k in enumerate(x):
                infested = 1 - (1 - infested) * (1 - spread[station, site])
                if k:
                    before = int((x[:station] == k).sum())
                    infested *= 1 - works[station, k - 1, site] * choices.EFFECT[k - 1] * choices.HABIT**before
                cost += (infested > choices.TOLERATED) / 100
        assert problem.f(x.astype(float)) == pytest.approx(-cost)


def test_treatments_do_less_each_time() -> None:
    """Four treatments by turns leave less of the pest than the last and weakest of them used again and again."""
    problem = problems.make("pest", seed=0)
    same = -problem.f(np.full(25, 4.0)) - 25 * choices.PRICE[3]
    turns = 1.0 + np.arange(25) % 4
    varied = -problem.f(turns) - choices.PRICE[turns.astype(int) - 1].sum()
    assert varied < same - 5
    assert -problem.f(np.zeros(25)) > 15  # nothing is spent, and nearly everything infested


def test_branches_depend_on_every_choice_and_float() -> None:
    """Each of the five parameters changes the value somewhere, and seeds are other instances."""
    problem, other = problems.make("branches", 0), problems.make("branches", 1)
    X = problem.from_unit(np.random.default_rng(0).random((50, 5)))
    for j in range(5):
        moved = X.copy()
        moved[:, j] = np.where(X[:, j] > 0, 0, 1)
        assert any(problem.f(a) != problem.f(b) for a, b in zip(X, moved, strict=True))
    assert all(problem.f(x) != other.f(x) for x in X)


def test_branch_functions_have_their_textbook_minima() -> None:
    """Rosenbrock's valley floor, the camel's two and Branin's three minima, in the units used here."""
    rosenbrock, camel, branin = choices.PLANES
    assert rosenbrock(np.array([0.5, 0.5])) == pytest.approx(0.0)
    for sign in (1, -1):
        assert camel(sign * np.array([0.0898 / 2, -0.7126])) == pytest.approx(-1.0316 / 5, abs=1e-4)
    for a, b in ((-np.pi, 12.275), (np.pi, 2.275), (9.42478, 2.475)):
        assert branin(np.array([(a - 2.5) / 7.5, (b - 7.5) / 7.5])) == pytest.approx(0.397887 / 50, abs=1e-5)
