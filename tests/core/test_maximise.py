"""Finding argmax phi, against fine grids and exhaustive search."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from core import Problem
from core import layout as layouts
from core.acquisition import Acquisition, build
from core.graph import Factors
from core.maximise import Maximum, maximise, recombine
from core.posterior import condition
from core.search import Region, polish
from core.space import Space
from tests.core.support import Array, random_factors, random_hyper, unit_problem
from tests.core.test_evidence import told


def phi(space: Space, factors: Factors, seed: int, kappa: float = 1.0, t: int = 8) -> tuple[Acquisition, Array, Array]:
    rng = np.random.default_rng(seed)
    layout = layouts.known(space, factors)
    X, y = space.snap(rng.random((t, space.n_columns))), rng.standard_normal(t)
    posterior = condition(layout, random_hyper(layout, rng), "matern52", told(X, y))
    return build(posterior, torch.ones(len(factors), dtype=torch.float64), kappa, "union"), X, y


def region(space: Space, X: Array, y: Array, fixed: dict[str, Any] | None = None) -> Region:
    held, at = space.fixed_columns(fixed or {})
    best = X[np.argsort(-y)][:8]
    return Region(torch.from_numpy(~held), torch.from_numpy(at), torch.from_numpy(np.where(held, at, best)))


def one(a: Acquisition, space: Space, where: Region, seed: int = 0, **more: Any) -> Maximum:
    """The search with the acquisition's own exploration weight."""
    (found,) = maximise(a, space, where, np.random.default_rng(seed), kappas=[float(a.kappa)], **more)
    return found


def search(space: Space, factors: Factors, seed: int, **more: Any) -> tuple[Acquisition, Maximum]:
    a, X, y = phi(space, factors, seed, **more)
    return a, one(a, space, region(space, X, y), seed)


@pytest.mark.parametrize("seed", range(5))
def test_one_factor_in_one_dimension_finds_the_argmax_of_gp_ucb(seed: int) -> None:
    """d = 1, one factor: the same maximiser of mean + sqrt(beta) sigma as a grid of 10,001 points."""
    space = Space(unit_problem(1))
    a, found = search(space, ((0,),), seed)
    grid = torch.linspace(0, 1, 10_001, dtype=torch.float64)[:, None]
    mean, var = a.posterior.total(grid)
    ucb = mean[0] + a.kappa * var[0].sqrt()
    assert float(found.x[0, 0]) == pytest.approx(float(grid[int(ucb.argmax()), 0]), abs=2e-3)
    constant = float(a.posterior.constant()[0])
    assert float(found.value[0]) >= float(ucb.max()) - constant - 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_one_factor_in_two_dimensions_finds_the_argmax_of_gp_ucb(seed: int) -> None:
    """d = 2, one factor: as good as a grid of 201 x 201 points, and at the same place."""
    space = Space(unit_problem(2))
    a, found = search(space, ((0, 1),), seed)
    axis = torch.linspace(0, 1, 201, dtype=torch.float64)
    grid = torch.cartesian_prod(axis, axis)
    mean, var = a.posterior.total(grid)
    ucb = mean[0] - a.posterior.constant()[0] + a.kappa * var[0].sqrt()
    assert float(found.value[0]) >= float(ucb.max()) - 1e-6
    torch.testing.assert_close(found.x[0], grid[int(ucb.argmax())], rtol=0, atol=2e-2)


@pytest.mark.parametrize("seed", range(4))
def test_overlapping_factors_reach_the_best_of_a_dense_grid(seed: int) -> None:
    """Three variables with overlapping factors: at least as good as 51^3 grid points."""
    space = Space(unit_problem(3))
    a, found = search(space, ((0, 1), (1, 2), (0, 2)), seed)
    axis = torch.linspace(0, 1, 51, dtype=torch.float64)
    grid = torch.cartesian_prod(axis, axis, axis)
    best = max(float(a.value(part).max()) for part in grid.split(20_000))
    assert float(found.value[0]) >= best - 1e-3


def test_candidates_are_told_with_their_true_values_best_first() -> None:
    """Values belong to their points, in falling order, and each point decodes to itself."""
    space = Space(unit_problem(4))
    a, found = search(space, ((0, 1), (1, 2, 3)), 3)
    torch.testing.assert_close(a.value(found.x), found.value)
    assert bool((found.value.diff() <= 0).all())
    np.testing.assert_array_equal(space.snap(found.x.numpy()), found.x.numpy())


def test_report_holds_admm_and_polish() -> None:
    """Iterations, residuals, why it stopped, and phi before and after the polish, which never loses."""
    space = Space(unit_problem(4))
    _, found = search(space, ((0, 1), (1, 2, 3)), 4)
    report = found.diagnostics
    assert set(report) >= {"iterations", "primal_residuals", "dual_residuals", "stopped_by", "acquisition_admm",
                           "acquisition_polished"}  # fmt: skip
    assert report["acquisition_polished"] == pytest.approx(float(found.value[0]))
    assert report["acquisition_polished"] >= report["acquisition_admm"] - 1e-9


MIXED = {
    "direction": "maximize",
    "parameters": [
        {"name": "i", "type": "int", "bounds": [0, 6]},
        {"name": "o", "type": "ordinal", "values": [1, 10, 100]},
        {"name": "c", "type": "categorical", "values": ["a", "b", "d"]},
        {"name": "l", "type": "int", "bounds": [1, 8], "scale": "log"},
    ],
}


@pytest.mark.parametrize("seed", range(4))
def test_discrete_space_finds_the_best_of_all_points(seed: int) -> None:
    """Over 504 discrete points the answer is the exhaustive maximum."""
    space = Space(Problem.from_dict(MIXED))
    a, found = search(space, ((0, 1), (1, 2), (3,)), seed)
    names = space.problem.names
    everything = [
        dict(zip(names, row, strict=True)) for row in product(range(7), (1, 10, 100), ("a", "b", "d"), range(1, 9))
    ]
    value = a.value(torch.from_numpy(space.encode(everything)))  # type: ignore[arg-type]
    assert float(found.value[0]) == pytest.approx(float(value.max()), abs=1e-9)


def test_held_columns_keep_their_values() -> None:
    """Fixed values are in every candidate, and the rest is as good as a grid around them."""
    space = Space(unit_problem(3))
    a, X, y = phi(space, ((0, 1), (1, 2)), 5)
    found = one(a, space, region(space, X, y, {"x1": 0.35}))
    assert bool((found.x[:, 1] == 0.35).all())
    axis = torch.linspace(0, 1, 101, dtype=torch.float64)
    grid = torch.cartesian_prod(axis, torch.tensor([0.35], dtype=torch.float64), axis)
    assert float(found.value[0]) >= float(a.value(grid).max()) - 1e-4


def test_everything_held_gives_that_point() -> None:
    """With no free column the one point left is the answer."""
    space = Space(unit_problem(2))
    a, X, y = phi(space, ((0,), (1,)), 6)
    found = one(a, space, region(space, X, y, {"x0": 0.25, "x1": 0.75}))
    assert found.x.unique(dim=0).tolist() == [[0.25, 0.75]]


def test_no_incumbents_is_no_trouble() -> None:
    """Without a good point to search around, the search still answers."""
    space = Space(unit_problem(2))
    a, _, _ = phi(space, ((0,), (1,)), 6)
    nowhere = Region(torch.ones(2, dtype=torch.bool), torch.full((2,), 0.5).double(), torch.zeros(0, 2).double())
    assert len(one(a, space, nowhere).x) > 0


@pytest.mark.parametrize("seed", range(3))
def test_polish_never_loses_and_stays_inside(seed: int) -> None:
    """The joint ascent ends at least as high as it began, in the cube, with held columns untouched."""
    space = Space(unit_problem(4))
    rng = np.random.default_rng(seed)
    a, X, y = phi(space, random_factors(rng, 4, 3), seed)
    held = region(space, X, y, {"x2": 0.6})
    x = held.hold(torch.from_numpy(rng.random(4)))
    before = x.clone()
    end = polish(a, held, x)
    assert torch.equal(x, before)
    assert float(a.value(end[None])) >= float(a.value(x[None])) - 1e-12
    assert bool(((end >= 0) & (end <= 1)).all())
    assert float(end[2]) == 0.6


@pytest.mark.parametrize("factors", [((0,), (1,), (2, 3)), ((0, 1), (1, 2), (2, 3))])
def test_recombining_is_at_least_as_good_as_every_point(factors: Factors) -> None:
    """The best mixture beats each of its parts; for disjoint factors it is the best mixture there is."""
    space = Space(unit_problem(4))
    a, _, _ = phi(space, factors, 7)
    points = torch.from_numpy(np.random.default_rng(1).random((5, 4)))
    mean, spread = a.terms(points)
    found = recombine(a, points, mean + a.kappa * spread)
    mixed = float(a.value(found.x))
    assert mixed == pytest.approx(float(found.value), abs=1e-12)
    assert mixed >= float(a.value(points).max()) - 1e-12
    if factors[0] == (0,):
        rows = [[points[i, 0], points[j, 1], points[k, 2], points[k, 3]] for i, j, k in product(range(5), repeat=3)]
        assert mixed == pytest.approx(float(a.value(torch.tensor(rows, dtype=torch.float64)).max()), abs=1e-9)


def test_search_is_a_function_of_its_generator() -> None:
    """The same generator gives the same candidates to the bit."""
    space = Space(unit_problem(3))
    a, X, y = phi(space, ((0, 1), (1, 2)), 8)
    first, again = (one(a, space, region(space, X, y), 5) for _ in range(2))
    assert torch.equal(first.x, again.x)


def test_deadline_is_labelled_and_still_answers() -> None:
    """Out of time, ADMM stops after one round, says so, and the best candidate is still a real one."""
    space = Space(unit_problem(3))
    a, X, y = phi(space, ((0, 1), (1, 2)), 9)
    found = one(a, space, region(space, X, y), expired=lambda: True)
    assert found.diagnostics["stopped_by"] == "deadline"
    assert found.diagnostics["iterations"] == 1
    torch.testing.assert_close(a.value(found.x[:1]), found.value[:1])


def test_several_weights_give_the_maximum_of_each() -> None:
    """One batch for several exploration weights finds, for each, what a grid finds for it alone."""
    space = Space(unit_problem(2))
    a, X, y = phi(space, ((0, 1),), 10)
    kappas = (0.1, 0.5, 2.0)
    axis = torch.linspace(0, 1, 101, dtype=torch.float64)
    grid = torch.cartesian_prod(axis, axis)
    found = maximise(a, space, region(space, X, y), np.random.default_rng(0), kappas=kappas)
    for kappa, result in zip(kappas, found, strict=True):
        weighed = a.weighing(kappa)
        torch.testing.assert_close(weighed.value(result.x), result.value)
        assert float(result.value[0]) >= float(weighed.value(grid).max()) - 1e-5
