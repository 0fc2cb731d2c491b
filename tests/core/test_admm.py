"""ADMM, against closed-form maximisers of concave quadratics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import Tensor

from core import layout as layouts
from core.admm import admm
from core.graph import Factors
from core.layout import Layout
from tests.core.support import APPENDIX_A, Array, random_factors, unit_space
from tests.core.test_acquisition import phi


@dataclass(frozen=True)
class Quadratics:
    """phi_i(x) = -1/2 x' A_i x + b_i' x on each factor's own columns: no variances, so no messages."""

    layout: Layout
    A: Tensor  # n x m x m
    b: Tensor  # n x m

    def local(self, x_local: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = x_local * self.layout.mask[:, None, :]
        Ax = torch.einsum("nij,nsj->nsi", self.A, x)
        gradient = (self.b[:, None, :] - Ax) * self.layout.mask[:, None, :]
        return (x * (self.b[:, None, :] - 0.5 * Ax)).sum(-1), gradient, torch.zeros(x.shape[:2], dtype=x.dtype)

    def value(self, x: Tensor) -> Tensor:
        return self.local(self.layout.gather(x), torch.zeros(()))[0].sum(0)

    def messages(self, var: Tensor) -> Tensor:
        return torch.zeros_like(var)


def quadratics(factors: Factors, d: int, seed: int) -> tuple[Quadratics, Array]:
    """Random ones whose common maximiser lies inside the cube, and that maximiser by one linear solve."""
    rng = np.random.default_rng(seed)
    layout = layouts.known(unit_space(d), factors)
    n, m = layout.columns.shape
    A, b = np.zeros((n, m, m)), np.zeros((n, m))
    H, target = np.zeros((d, d)), rng.uniform(0.2, 0.8, d)
    for i, members in enumerate(factors):
        size = len(members)
        root = rng.normal(size=(size, size))
        A[i, :size, :size] = root @ root.T / size + 0.5 * np.eye(size)
        H[np.ix_(members, members)] += A[i, :size, :size]
    slopes = rng.normal(scale=0.3, size=(n, d))
    share = np.array([[j in members for j in range(d)] for members in factors], dtype=float)
    slopes = slopes * share
    slopes += share * (H @ target - slopes.sum(0)) / share.sum(0)
    for i, members in enumerate(factors):
        b[i, : len(members)] = slopes[i, list(members)]
    return Quadratics(layout, torch.from_numpy(A), torch.from_numpy(b)), np.linalg.solve(H, slopes.sum(0))


def dual_sums(layout: Layout, duals: Tensor, d: int) -> Tensor:
    """S x d: the duals of each variable, summed over the factors that use it."""
    total = torch.zeros(duals.shape[1], d, dtype=torch.float64)
    for i in range(layout.n_factors):
        for c in range(layout.columns.shape[1]):
            if layout.mask[i, c] > 0:
                total[:, int(layout.columns[i, c])] += duals[i, :, c]
    return total


@settings(max_examples=6)
@given(seed=st.integers(0, 10_000), d=st.integers(2, 6), n=st.integers(2, 6))
def test_concave_quadratics_converge_to_the_closed_form(seed: int, d: int, n: int) -> None:
    """Over random overlapping factors the consensus is the maximiser of the sum to 1e-4, from every start."""
    factors = random_factors(np.random.default_rng(seed), d, n)
    objective, best = quadratics(factors, d, seed)
    starts = torch.from_numpy(np.random.default_rng(seed).random((3, d)))
    result = admm(objective, starts, max_iterations=300, local_steps=12, tolerance=1e-6)
    np.testing.assert_allclose(result.consensus.numpy(), np.tile(best, (3, 1)), atol=1e-4)
    torch.testing.assert_close(result.value, objective.value(result.consensus))


def test_appendix_a_quadratics_converge_by_residuals() -> None:
    """On the example of App. A the loop ends because both residuals are small, and says so."""
    objective, best = quadratics(APPENDIX_A, 3, 1)
    result = admm(objective, torch.full((1, 3), 0.5, dtype=torch.float64), max_iterations=500, local_steps=20,
                  tolerance=1e-6)  # fmt: skip
    assert result.stopped_by == "residuals"
    assert result.primal_residuals[-1] <= 1e-6
    assert result.dual_residuals[-1] <= 1e-6
    assert len(result.primal_residuals) == len(result.dual_residuals) == result.iterations
    np.testing.assert_allclose(result.consensus[0].numpy(), best, atol=1e-5)


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), iterations=st.integers(1, 15))
def test_duals_sum_to_zero_per_variable(seed: int, iterations: int) -> None:
    """The condition under eq. 17 holds after any number of iterations, for every start."""
    factors = random_factors(np.random.default_rng(seed), 5, 4)
    objective, _ = quadratics(factors, 5, seed)
    starts = torch.from_numpy(np.random.default_rng(seed).random((2, 5)))
    result = admm(objective, starts, max_iterations=iterations, tolerance=0.0)
    assert float(dual_sums(objective.layout, result.duals, 5).abs().max()) < 1e-10


def test_duals_are_the_local_gradients_at_the_solution() -> None:
    """At convergence eq. 15 is stationary: each factor's gradient equals its duals."""
    objective, _ = quadratics(((0, 1), (1, 2), (0, 2)), 3, 2)
    start = torch.full((1, 3), 0.5, dtype=torch.float64)
    result = admm(objective, start, max_iterations=1000, local_steps=30, tolerance=1e-8)
    x = objective.layout.gather(result.consensus)
    torch.testing.assert_close(objective.local(x, torch.zeros(()))[1], result.duals, rtol=0, atol=1e-4)


def test_single_factor_is_plain_ascent() -> None:
    """With one factor there is nobody to agree with: no dual moves, no primal gap, and the maximum is found."""
    objective, best = quadratics(((0, 1, 2),), 3, 3)
    result = admm(objective, torch.rand(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)),
                  max_iterations=200, local_steps=20, tolerance=1e-8)  # fmt: skip
    assert float(result.duals.abs().max()) == 0.0
    assert max(result.primal_residuals) == 0.0
    np.testing.assert_allclose(result.consensus.numpy(), np.tile(best, (2, 1)), atol=1e-5)


def test_maximum_on_the_boundary_is_found() -> None:
    """Where the unconstrained maximiser is outside, the consensus is the one of the cube, as L-BFGS-B finds it."""
    objective, _ = quadratics(((0, 1), (1, 2)), 3, 4)
    pushed = Quadratics(objective.layout, objective.A, objective.b + 2.0)
    result = admm(pushed, torch.full((1, 3), 0.5, dtype=torch.float64), max_iterations=500, local_steps=20,
                  tolerance=1e-7)  # fmt: skip
    peer = minimize(lambda x: -float(pushed.value(torch.from_numpy(x)[None])), np.full(3, 0.5), bounds=[(0, 1)] * 3)
    assert (peer.x == 1).any()
    np.testing.assert_allclose(result.consensus[0].numpy(), peer.x, atol=1e-4)


def test_fixed_columns_do_not_move() -> None:
    """Held variables stay where they are to the bit; the others reach the maximiser given them."""
    objective, _ = quadratics(((0, 1), (1, 2), (0, 2)), 3, 5)
    starts = torch.tensor([[0.3, 0.9, 0.1]], dtype=torch.float64)
    free = torch.tensor([True, False, True])
    result = admm(objective, starts, free=free, max_iterations=500, local_steps=20, tolerance=1e-8)
    assert float(result.consensus[0, 1]) == 0.9
    grid = torch.linspace(0, 1, 201, dtype=torch.float64)
    around = torch.cartesian_prod(grid, torch.tensor([0.9], dtype=torch.float64), grid)
    assert float(result.value[0]) >= float(objective.value(around).max()) - 1e-6


def test_factors_may_start_apart_from_the_consensus() -> None:
    """Starting each factor elsewhere leads to the same maximiser."""
    objective, best = quadratics(APPENDIX_A, 3, 6)
    apart = torch.from_numpy(np.random.default_rng(0).random((4, 1, 2)))
    result = admm(objective, torch.full((1, 3), 0.5, dtype=torch.float64), x_local=apart, max_iterations=400,
                  local_steps=20, tolerance=1e-6)  # fmt: skip
    np.testing.assert_allclose(result.consensus[0].numpy(), best, atol=1e-4)


def test_no_start_ever_ends_below_where_it_began() -> None:
    """Anytime: on a true acquisition no start loses, and the value told is that of its point."""
    a, rng = phi(((0, 1), (1, 2), (2, 3), (0, 3)), 4, 7)
    starts = torch.from_numpy(rng.random((5, 4)))
    for iterations in (1, 2, 10):
        result = admm(a, starts, max_iterations=iterations)
        assert bool((result.value >= a.value(starts)).all())
        torch.testing.assert_close(a.value(result.consensus), result.value, rtol=0, atol=1e-9)
        assert bool(((result.consensus >= 0) & (result.consensus <= 1)).all())


def test_deadline_ends_the_loop_with_a_usable_answer() -> None:
    """An expired budget stops after the iteration under way and labels it."""
    a, rng = phi(((0, 1), (1, 2)), 3, 8)
    result = admm(a, torch.from_numpy(rng.random((2, 3))), tolerance=0.0, expired=lambda: True)
    assert (result.stopped_by, result.iterations) == ("deadline", 1)
    assert bool(torch.isfinite(result.value).all())


def test_iteration_cap_is_labelled() -> None:
    """Without convergence the cap ends the loop."""
    a, rng = phi(((0, 1), (1, 2)), 3, 8)
    result = admm(a, torch.from_numpy(rng.random((2, 3))), max_iterations=3, tolerance=0.0)
    assert (result.stopped_by, result.iterations) == ("iterations", 3)


def test_starts_are_independent_of_each_other() -> None:
    """A start alone ends where it ends among others, given the same number of iterations."""
    a, rng = phi(((0, 1), (1, 2)), 3, 9)
    starts = torch.from_numpy(rng.random((3, 3)))
    together = admm(a, starts, max_iterations=6, tolerance=0.0)
    alone = admm(a, starts[1:2], max_iterations=6, tolerance=0.0)
    torch.testing.assert_close(alone.consensus[0], together.consensus[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("penalty", [1e-3, 1.0, 1e3])
def test_residual_balancing_forgives_a_bad_penalty(penalty: float) -> None:
    """From penalties far off the loop still reaches the closed-form maximiser."""
    objective, best = quadratics(((0, 1), (1, 2), (0, 2)), 3, 10)
    result = admm(objective, torch.full((1, 3), 0.5, dtype=torch.float64), penalty=penalty, max_iterations=500,
                  local_steps=20, tolerance=1e-7)  # fmt: skip
    np.testing.assert_allclose(result.consensus[0].numpy(), best, atol=1e-4)


def test_starts_are_left_alone() -> None:
    """The caller's tensor of starts is not written to."""
    a, rng = phi(((0, 1), (1, 2)), 3, 9)
    starts = torch.from_numpy(rng.random((3, 3)))
    before = starts.clone()
    admm(a, starts)
    assert torch.equal(starts, before)
