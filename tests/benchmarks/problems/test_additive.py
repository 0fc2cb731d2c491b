"""Random additive functions: planted factors, the process they are drawn from, and their best known value."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from gpytorch.kernels import MaternKernel
from torch import tensor

from benchmarks import problems
from benchmarks.problems.additive import draw, plant_chain, plant_factors


@pytest.mark.parametrize(("n_dims", "max_size"), [(10, 1), (10, 3), (30, 4), (100, 8)])
def test_planted_factors_cover_every_variable_within_their_size(n_dims: int, max_size: int) -> None:
    """No variable is left out and no factor is too large; with room to spare some factors overlap."""
    factors = plant_factors(n_dims, max_size, np.random.default_rng(4))
    assert {j for factor in factors for j in factor} == set(range(n_dims))
    assert all(1 <= len(set(factor)) == len(factor) <= max_size for factor in factors)
    if max_size > 1:
        assert sum(map(len, factors)) > n_dims


def test_chain_neighbours_share_one_variable() -> None:
    """Consecutive factors overlap in exactly one variable and cover all of them."""
    factors = plant_chain(500)
    assert {j for factor in factors for j in factor} == set(range(500))
    assert all(len(set(a) & set(b)) == 1 for a, b in pairwise(factors))


def test_draws_have_the_matern_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many draws the covariance of two points is the Matérn-5/2 kernel at the lengthscale."""
    monkeypatch.setattr("benchmarks.problems.additive.LENGTHSCALES", (0.3, 0.3))
    x, z = np.array([0.2, 0.5]), np.array([0.45, 0.3])
    rng = np.random.default_rng(0)
    draws = [draw(((0, 1),), rng) for _ in range(4000)]
    values = np.array([[function.terms(x)[0], function.terms(z)[0]] for function in draws])
    kernel = MaternKernel(nu=2.5)
    kernel.lengthscale = 0.3 * np.sqrt(2)
    expected = kernel(tensor(x)[None].float(), tensor(z)[None].float()).to_dense().item()
    covariance = np.cov(values.T)
    assert covariance[0, 0] == pytest.approx(1.0, abs=0.1)
    assert covariance[0, 1] == pytest.approx(expected, abs=0.1)


def test_gradient_equals_finite_differences() -> None:
    """The gradient of the sum is right for overlapping factors of different sizes."""
    rng = np.random.default_rng(1)
    function = draw(((0, 2), (1,), (1, 2, 3)), rng)
    x = rng.random(4)
    numeric = [(function.terms(x + h).sum() - function.terms(x - h).sum()) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(function.gradient(x), numeric, rtol=1e-6)


def test_best_known_value_is_the_maximum_where_a_grid_can_tell() -> None:
    """With factors of one variable the maximum is the sum of one-dimensional maxima, found on a fine grid."""
    problem = problems.make("additive-10-1", seed=2)
    grid = np.linspace(0, 1, 2001)
    table = np.array([problem.terms(np.full(10, value)) for value in grid])  # grid x factors
    assert problem.optimum == pytest.approx(table.max(axis=0).sum(), abs=1e-3)


def test_each_seed_is_another_function() -> None:
    """Seeds differ in factors and values; the same seed gives the same function."""
    one, again, two = (problems.make("additive-10-3", seed) for seed in (1, 1, 2))
    x = np.full(10, 0.3)
    assert one.f(x) == again.f(x) != two.f(x)
    assert one.factors == again.factors
