"""Covariance profiles, against gpytorch and automatic differentiation."""

from __future__ import annotations

import gpytorch
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.kernels import RQ_ALPHA, covariance, profile, squared_distances
from core.problem import Kernel
from tests.core.support import KERNELS, kernel_matrix


def peer(kernel: Kernel, m: int) -> gpytorch.kernels.Kernel:
    if kernel == "matern52":
        made = gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=m)
    elif kernel == "squared_exponential":
        made = gpytorch.kernels.RBFKernel(ard_num_dims=m)
    else:
        made = gpytorch.kernels.RQKernel(ard_num_dims=m).double()
        made.initialize(alpha=RQ_ALPHA)
    return made.double()


@pytest.mark.parametrize("kernel", KERNELS)
def test_covariance_equals_gpytorch(kernel: Kernel) -> None:
    """Scaled inputs through the profile give gpytorch's covariance matrix."""
    torch.manual_seed(0)
    A, B = torch.rand(7, 3, dtype=torch.float64), torch.rand(5, 3, dtype=torch.float64)
    ell = torch.tensor([0.2, 0.7, 3.0], dtype=torch.float64)
    other = peer(kernel, 3)
    other.lengthscale = ell
    expected = other(A, B).to_dense().detach()
    k, _ = profile(kernel, squared_distances(A / ell, B / ell))
    torch.testing.assert_close(k, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@given(s=st.floats(1e-6, 50.0))
def test_slope_is_the_derivative(kernel: Kernel, s: float) -> None:
    """dk/ds equals automatic differentiation of the textbook formula."""
    x = torch.tensor([s], dtype=torch.float64, requires_grad=True)
    r = x.sqrt()
    formula = {
        "matern52": (1 + 5**0.5 * r + 5 * x / 3) * torch.exp(-(5**0.5) * r),
        "squared_exponential": torch.exp(-x / 2),
        "rational_quadratic": (1 + x / (2 * RQ_ALPHA)) ** -RQ_ALPHA,
    }[kernel]
    (expected,) = torch.autograd.grad(formula.sum(), x)
    k, slope = profile(kernel, x.detach())
    torch.testing.assert_close(k, formula.detach(), rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(slope, expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("kernel", KERNELS)
def test_profile_at_zero_is_one_with_a_finite_slope(kernel: Kernel) -> None:
    """At distance 0 the covariance is 1 and the slope its one-sided limit, not NaN."""
    k, slope = profile(kernel, torch.zeros(1, dtype=torch.float64))
    near, _ = profile(kernel, torch.full((1,), 1e-7, dtype=torch.float64))
    assert float(k) == 1.0
    assert float(slope) == pytest.approx(float(near - k) / 1e-7, rel=1e-2)


@pytest.mark.parametrize("kernel", KERNELS)
def test_profile_leaves_its_input_alone(kernel: Kernel) -> None:
    """In-place tricks inside do not write to the caller's distances."""
    s = torch.linspace(0, 3, 5, dtype=torch.float64)
    before = s.clone()
    profile(kernel, s)
    assert torch.equal(s, before)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gram_is_positive_definite(kernel: Kernel) -> None:
    """The smallest eigenvalue of a Gram matrix of distinct points is not negative beyond rounding."""
    rng = np.random.default_rng(1)
    X = rng.random((40, 2))
    Z = torch.from_numpy(X / 0.3 / 2**0.5)
    K = profile(kernel, squared_distances(Z, Z))[0].numpy()
    assert np.linalg.eigvalsh(K).min() > -1e-10
    np.testing.assert_allclose(K, kernel_matrix(kernel, X, X, np.array([0.3, 0.3])), atol=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_squared_distances_equal_differences(seed: int, m: int) -> None:
    """One matrix product gives what a difference per pair gives, batched, and never a negative number."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, 4, m)), rng.normal(size=(2, 5, m))
    B[:, 0] = A[:, 0]
    expected = ((A[:, :, None, :] - B[:, None, :, :]) ** 2).sum(-1)
    got = squared_distances(torch.from_numpy(A), torch.from_numpy(B)).numpy()
    assert (got >= 0).all()
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("kernel", ["matern52", "squared_exponential", "rational_quadratic"])
def test_covariance_alone_is_the_profile(kernel: Kernel) -> None:
    """Without its slope the covariance is the same."""
    s = torch.linspace(0.0, 30.0, 61, dtype=torch.float64)
    torch.testing.assert_close(covariance(kernel, s.clone()), profile(kernel, s)[0], rtol=0, atol=1e-15)
