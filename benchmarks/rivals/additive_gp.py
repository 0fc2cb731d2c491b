"""The additive Gaussian process of ADD-GPUCB and DEC-HBO: k = sum_i k_i, Matérn-5/2 on each factor's variables.

Lengthscales per variable, one scale for all factors and the noise are found by maximum a posteriori. y is
standardized inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize

from benchmarks.problems import Array

Factors = tuple[tuple[int, ...], ...]

JITTER = 1e-6
LENGTHSCALE_PRIOR = (math.log(0.5), 0.75)  # mean and standard deviation of the logarithm
NOISE_PRIOR = (math.log(1e-3), 1.5)
SCALE_SPREAD = 0.75


@dataclass(frozen=True)
class Hyperparameters:
    """Logarithms: of the lengthscales (d), of the variance of all factors together, and of the noise variance."""

    log_lengthscales: torch.Tensor
    log_scale: torch.Tensor
    log_noise: torch.Tensor

    @classmethod
    def unpack(cls, theta: torch.Tensor) -> Hyperparameters:
        return cls(theta[:-2], theta[-2], theta[-1])

    def log_prior(self) -> torch.Tensor:
        mean, sd = LENGTHSCALE_PRIOR
        terms = ((self.log_lengthscales - mean) / sd).square().sum() + (self.log_scale / SCALE_SPREAD).square()
        return -0.5 * (terms + ((self.log_noise - NOISE_PRIOR[0]) / NOISE_PRIOR[1]).square())


def matern52(squared: torch.Tensor) -> torch.Tensor:
    r = (5 * squared).clamp_min(1e-20).sqrt()
    return (1 + r + r.square() / 3) * torch.exp(-r)


class AdditiveGP:
    """Conditioned on data with given factors and hyperparameters."""

    def __init__(self, U: Array, y: Array, factors: Factors, hyper: Hyperparameters) -> None:
        self.X = torch.as_tensor(U)
        self.spread = float(y.std()) or 1.0
        self.y = torch.as_tensor((y - y.mean()) / self.spread)
        self.factors, self.hyper = factors, hyper
        self.variance = hyper.log_scale.exp() / len(factors)  # of one factor
        membership = torch.zeros(len(factors), U.shape[1], dtype=torch.double)
        for i, factor in enumerate(factors):
            membership[i, list(factor)] = 1.0
        scaled = self.X / hyper.log_lengthscales.exp()
        squared = (scaled[:, None] - scaled[None]).square()  # t x t x d
        K = self.variance * matern52(squared @ membership.T).sum(-1)
        noisy = K + (hyper.log_noise.exp() + JITTER) * torch.eye(len(y), dtype=torch.double)
        self.chol = torch.linalg.cholesky(noisy)
        self.weights = torch.cholesky_solve(self.y[:, None], self.chol)[:, 0]

    def log_evidence(self) -> torch.Tensor:
        fit = self.y @ self.weights
        return -0.5 * (fit + 2 * self.chol.diagonal().log().sum() + len(self.y) * math.log(2 * math.pi))

    def factor_posterior(self, i: int, Z: Array) -> tuple[Array, Array]:
        """Mean and deviation of factor i at points of its own variables (n x |V_i|), in units of y's spread."""
        columns = list(self.factors[i])
        scale = self.hyper.log_lengthscales.exp()[columns]
        difference = torch.as_tensor(Z)[:, None] / scale - (self.X[:, columns] / scale)[None]  # n x t x |V_i|
        k = self.variance * matern52(difference.square().sum(-1))  # n x t
        half = torch.linalg.solve_triangular(self.chol, k.T, upper=False)  # t x n
        variance = (self.variance - half.square().sum(0)).clamp_min(1e-12)
        return (k @ self.weights).numpy(), variance.sqrt().numpy()


def fit(U: Array, y: Array, factors: Factors, start: Array | None = None) -> Array:
    """The most probable hyperparameters, packed, by L-BFGS from the last ones or from the prior's mean."""
    if start is None:
        start = np.array([LENGTHSCALE_PRIOR[0]] * U.shape[1] + [0.0, NOISE_PRIOR[0]])

    def objective(theta: Array) -> tuple[float, Array]:
        packed = torch.tensor(theta, requires_grad=True)
        hyper = Hyperparameters.unpack(packed)
        value = -(AdditiveGP(U, y, factors, hyper).log_evidence() + hyper.log_prior())
        value.backward()
        assert packed.grad is not None
        return float(value.detach()), packed.grad.numpy()

    bounds = [(-5.0, 3.0)] * U.shape[1] + [(-4.0, 4.0), (-14.0, 1.0)]
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 50})
    return np.asarray(found.x)


def condition(U: Array, y: Array, factors: Factors, theta: Array) -> AdditiveGP:
    """The process given packed hyperparameters."""
    with torch.no_grad():
        return AdditiveGP(U, y, factors, Hyperparameters.unpack(torch.as_tensor(theta)))
