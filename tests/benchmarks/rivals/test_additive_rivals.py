"""The additive rivals, ADD-GPUCB and DEC-HBO, and their parts, against gpytorch and exhaustive search."""

from __future__ import annotations

from itertools import product

import gpytorch
import numpy as np
import pytest
import torch

from benchmarks import problems
from benchmarks.rivals.add_gpucb import AddGPUCB
from benchmarks.rivals.additive_gp import JITTER, condition, fit
from benchmarks.rivals.dec_hbo import MAX_FACTOR_SIZE, DecHBO, move_variable
from benchmarks.rivals.max_sum import max_sum, total


def data(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Variables 0 and 1 interact, 2 and 3 do not."""
    U = np.random.default_rng(seed).random((n, 4))
    y = 3 * np.sin(6 * U[:, 0] * U[:, 1] + 3 * (U[:, 0] - U[:, 1])) + np.cos(4 * U[:, 2]) - 2 * (U[:, 3] - 0.6) ** 2
    return U, y


def test_additive_process_equals_gpytorchs() -> None:
    """Evidence, mean and the factors' variances are those of the dense formulas on gpytorch's kernels."""
    U, y = data(15)
    factors = ((0, 1), (1, 2), (3,))
    theta = np.array([-0.5, -1.0, 0.2, -0.3, 0.4, -4.0])
    model = condition(U, y, factors, theta)
    X = torch.as_tensor(U)
    kernels = []
    for factor in factors:
        kernel = gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=len(factor), active_dims=factor).double()
        kernel.lengthscale = torch.as_tensor(np.exp(theta[list(factor)]))
        kernels.append(kernel)
    scale = np.exp(0.4) / 3
    K = sum(scale * kernel(X).to_dense() for kernel in kernels).detach()
    K = K + (np.exp(-4.0) + JITTER) * torch.eye(15, dtype=torch.double)
    z = torch.as_tensor((y - y.mean()) / y.std())
    expected = torch.distributions.MultivariateNormal(torch.zeros(15, dtype=torch.double), K).log_prob(z)
    assert float(model.log_evidence()) == pytest.approx(float(expected), rel=1e-8)
    Z = np.random.default_rng(1).random((7, 4))
    cross = (scale * kernels[1](torch.as_tensor(Z), X).to_dense()).detach()
    mean, sd = model.factor_posterior(1, Z[:, [1, 2]])
    np.testing.assert_allclose(mean, (cross @ torch.linalg.solve(K, z)).numpy(), rtol=1e-7, atol=1e-9)
    variance = scale - (cross * torch.linalg.solve(K, cross.T).T).sum(1)
    np.testing.assert_allclose(sd**2, variance.numpy(), rtol=1e-6, atol=1e-9)


def test_fit_finds_which_variable_is_smooth() -> None:
    """A variable without effect gets a longer lengthscale than one with a quick one."""
    U = np.random.default_rng(0).random((40, 2))
    theta = fit(U, np.sin(12 * U[:, 0]), ((0,), (1,)))
    assert theta[0] < theta[1] - 0.5


def test_add_gpucb_maximizes_each_variable_by_itself() -> None:
    """On separable data each coordinate of the proposal has the largest bound on a grid of its own."""
    problem = problems.make("rastrigin-5")
    optimizer = AddGPUCB(problem, 0)
    for u in np.random.default_rng(0).random((25, 5)):
        optimizer.tell(problem.from_unit(u), problem.f(problem.from_unit(u)))
    u = problem.to_unit(optimizer.ask())
    assert optimizer._theta is not None
    model = condition(optimizer.U, optimizer.y, optimizer.factors, optimizer._theta)
    root_beta = np.sqrt(0.2 * np.log(50))
    for j in range(5):
        mean, sd = model.factor_posterior(j, np.append(np.linspace(0, 1, 333), u[j])[:, None])
        bound = mean + root_beta * sd
        assert bound[-1] >= bound.max() - 1e-4


def test_add_gpucb_solves_a_separable_problem() -> None:
    """A sum of one-dimensional bumps in eight dimensions is all but solved with thirty evaluations."""
    problem = problems.make("additive-8-1", 3)
    optimizer = AddGPUCB(problem, 3)
    values = []
    for _ in range(30):
        x = optimizer.ask()
        values.append(problem.f(x))
        optimizer.tell(x, values[-1])
    assert problem.optimum is not None
    assert problem.optimum - max(values) < 0.25 * (problem.optimum - max(values[:10]))


@pytest.mark.parametrize("factors", [[(0, 1), (1, 2), (1, 3, 4)], [(0,), (1, 2), (3, 4)], [(0, 1, 2), (2, 3), (4,)]])
def test_max_sum_is_exact_on_trees(factors: list[tuple[int, ...]]) -> None:
    """On graphs without cycles the assignment is the best of all."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        tables = [rng.normal(size=(4,) * len(factor)) for factor in factors]
        found = max_sum(tables, factors, 5)
        best = max(total(tables, factors, np.array(a)) for a in product(range(4), repeat=5))
        assert total(tables, factors, found) == pytest.approx(best)


def test_max_sum_is_good_on_a_cycle() -> None:
    """On a ring it is within a tenth of the range of the best, and mostly is the best."""
    factors = [(0, 1), (1, 2), (2, 3), (3, 0)]
    rng = np.random.default_rng(1)
    exact = 0
    for _ in range(20):
        tables = [rng.normal(size=(4, 4)) for _ in factors]
        values = [total(tables, factors, np.array(a)) for a in product(range(4), repeat=4)]
        found = total(tables, factors, max_sum(tables, factors, 4))
        exact += found == pytest.approx(max(values))
        assert found >= max(values) - 0.1 * (max(values) - min(values))
    assert exact >= 15


def test_moved_variables_leave_a_partition_into_small_factors() -> None:
    """Whatever is moved, every variable stays in exactly one factor of at most three."""
    rng = np.random.default_rng(0)
    factors = tuple((j,) for j in range(7))
    seen = set()
    for _ in range(300):
        factors = move_variable(factors, 7, rng)
        assert sorted(j for factor in factors for j in factor) == list(range(7))
        assert max(map(len, factors)) <= MAX_FACTOR_SIZE
        seen.add(frozenset(factors))
    assert len(seen) > 100


def test_dec_hbo_finds_the_interacting_pair_and_proposes_on_its_grid() -> None:
    """After eighty points the two variables that interact share a factor, and asks stay in the box."""
    problem = problems.make("ackley-4")
    optimizer = DecHBO(problem, 0)
    U, y = data(80)
    for u, value in zip(U, y, strict=True):
        optimizer.tell(problem.from_unit(u), value)
    together = 0
    for _ in range(5):
        u = problem.to_unit(optimizer.ask())
        assert ((u >= 0) & (u <= 1)).all()
        together += any({0, 1} <= set(factor) for factor in optimizer.factors)
    assert together >= 4
