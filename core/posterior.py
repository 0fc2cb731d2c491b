"""What the data say of each factor: posterior means, variances and their gradients (Prop. 3.4, App. C).

For factor i, with k_i the vector of its covariances to the conditioning points,

    mean_i = k_i' alpha_i        var_i = scale_i - |T_i k_i|^2

where T_i' T_i = (K + noise)^-1 of the model the factor belongs to. T is the inverse of a Cholesky factor, as accurate
as a triangular solve and one matrix product to apply; every factor of a model shares it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from core import feature
from core.evidence import (
    Data,
    cholesky,
    factor_scales,
    gaussian_log_density,
    grams,
    noise_variances,
    scaled,
    weights,
    with_feature,
)
from core.hyper import Hyperparameters
from core.kernels import covariance, profile, squared_distances, squared_norms
from core.layout import Layout
from core.problem import Kernel
from core.single import SinglePoint


@dataclass(frozen=True)
class Moments:
    """Posterior moments of n factors at S points each."""

    mean: Tensor  # n x S
    var: Tensor  # n x S
    whitened: Tensor  # n x S x t: T k


@dataclass(frozen=True)
class Tangent:
    """The same with what the gradients need."""

    mean: Tensor  # n x S
    var: Tensor  # n x S
    slope: Tensor  # n x S x t: dk/ds times the factor's scale
    solved: Tensor  # n x S x t: (K + noise)^-1 k
    centered: Tensor  # n x S x m
    z: Tensor  # the same scaled; one column more where the layout has a feature


@dataclass(frozen=True)
class FactorPosterior:
    """The factors of k models, conditioned. Means are of the factors alone; the constant is in `hyper.mean`."""

    layout: Layout
    hyper: Hyperparameters
    kernel: Kernel
    Z: Tensor  # n x t x m: scaled conditioning inputs; one column more where the layout has a feature
    alpha: Tensor  # n x t
    whiten: Tensor  # k x t x t: T of each model
    log_evidence: Tensor  # k
    n_factor_rows: int = 0  # conditioning points told factor by factor, before ...
    n_sum_rows: int = 0  # ... those that are observations of the sum of all factors

    @property
    def n_factors(self) -> int:
        return self.layout.n_factors

    @cached_property
    def inverse_lengthscales(self) -> Tensor:
        """n x 1 x m, 0 in the padding."""
        return weights(self.layout, self.hyper)[:, None, :]

    @cached_property
    def scale(self) -> Tensor:
        """n: each factor's prior variance."""
        return factor_scales(self.layout, self.hyper)

    @cached_property
    def precision(self) -> Tensor:
        """k x t x t: (K + noise)^-1 of each model."""
        return self.whiten.mT @ self.whiten

    @cached_property
    def _norms(self) -> Tensor:
        """n x 1 x t: those of the conditioning inputs."""
        return squared_norms(self.Z)

    @cached_property
    def single(self) -> SinglePoint:
        """The same at one point after the other."""
        return SinglePoint(self)

    @cached_property
    def factors_per_model(self) -> list[int]:
        return torch.bincount(self.layout.owner, minlength=self.layout.n_models).tolist()

    def constant(self) -> Tensor:
        """k: each model's constant mean."""
        return self.hyper.mean[self.layout.model_index]

    def noise(self) -> Tensor:
        """k: each model's fitted noise variance."""
        return torch.exp(self.hyper.log_noise[self.layout.model_index])

    def scaled(self, x_local: Tensor) -> Tensor:
        """As `Z`, at points of every factor's own (n x S x m)."""
        return with_feature(self.layout, self.hyper, x_local - 0.5, self.inverse_lengthscales)

    def moments(self, x_local: Tensor) -> Moments:
        """x_local: n x S x m, every factor at points of its own."""
        z = self.scaled(x_local)
        k = covariance(self.kernel, squared_distances(z, self.Z, self._norms)).mul_(self.scale[:, None, None])
        whitened = self._per_model(k, self.whiten.mT)
        var = self.scale[:, None] - whitened.square().sum(-1)
        return Moments(self._mean(k), var.clamp_(min=1e-12), whitened)

    def tangent(self, x_local: Tensor) -> Tangent:
        """As `moments`, for a search: one product gives variance and gradient, at the price of the last digits."""
        z = self.scaled(x_local)
        k, slope = profile(self.kernel, squared_distances(z, self.Z, self._norms))
        k, slope = k.mul_(self.scale[:, None, None]), slope.mul_(self.scale[:, None, None])
        solved = self._per_model(k, self.precision)
        var = self.scale[:, None] - (k * solved).sum(-1)
        return Tangent(self._mean(k), var.clamp_(min=1e-12), slope, solved, x_local - 0.5, z)

    def gradient(self, at: Tangent, d_mean: Tensor, d_var: Tensor) -> Tensor:
        """n x S x m: the chain rule through the moments, given derivatives (n x S) in the mean and the variance."""
        g = d_mean[..., None] * self.alpha[:, None, :]
        g = g.addcmul_(d_var[..., None], at.solved, value=-2.0).mul_(at.slope)
        # ds/dx = 2 w (z - Z): sum_j g_j 2 w (z - Z_j), as one product
        inner = at.z * g.sum(-1, keepdim=True) - g @ self.Z
        if self.layout.feature is None:
            return inner.mul_(2.0 * self.inverse_lengthscales)
        by_feature = feature.slope(self.layout.feature, self.hyper.feature, at.centered)
        return 2.0 * (inner[..., :-1] * self.inverse_lengthscales + inner[..., -1:] * by_feature)

    def _mean(self, k: Tensor) -> Tensor:
        return (k * self.alpha[:, None, :]).sum(-1)

    def total(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (with the constant) and variance of each model's sum of factors at x (S x n_columns): k x S each."""
        z = self.scaled(self.layout.gather(x))
        k = covariance(self.kernel, squared_distances(z, self.Z, self._norms)).mul_(self.scale[:, None, None])
        zeros = k.new_zeros(self.layout.n_models, *k.shape[1:])
        mean = zeros[..., 0].index_add(0, self.layout.owner, self._mean(k))
        whitened = zeros.index_add(0, self.layout.owner, k) @ self.whiten.mT
        prior = zeros[:, 0, 0].index_add(0, self.layout.owner, self.scale)
        return mean + self.constant()[:, None], (prior[:, None] - whitened.square().sum(-1)).clamp(min=1e-12)

    def variance_of_sum(self, at: Moments, gain: Tensor) -> Tensor:
        """S: the variance of sum_i gain_i f_i where every factor is a model of its own.

        Factors told one by one are independent; what they have learned from sums they have learned together.
        """
        learned = at.whitened[..., self.n_factor_rows : self.n_factor_rows + self.n_sum_rows]  # n x S x s
        alone = at.var + learned.square().sum(-1)
        together = (gain[:, None, None] * learned).sum(0)
        return (gain.square() @ alone - together.square().sum(-1)).clamp(min=1e-12)

    def extended(self, X_new: Tensor, noise: float | None = None) -> FactorPosterior:
        """Conditioned on hallucinated observations at X_new (p x n_columns): variances shrink, means stay (GP-BUCB).

        The Cholesky factor [[L, 0], [B, M]] of the larger matrix has the inverse [[T, 0], [-N B T, N]], N = M^-1.
        """
        z = scaled(self.layout, self.hyper, X_new)
        scale = factor_scales(self.layout, self.hyper)[:, None, None]
        zeros = z.new_zeros(self.layout.n_models, z.shape[1], self.Z.shape[1])
        cross = zeros.index_add(0, self.layout.owner, covariance(self.kernel, squared_distances(z, self.Z)) * scale)
        own = zeros.new_zeros(self.layout.n_models, z.shape[1], z.shape[1]).index_add(
            0, self.layout.owner, covariance(self.kernel, squared_distances(z, z)) * scale
        )
        level = self.noise() if noise is None else torch.full_like(self.noise(), noise)
        B = cross @ self.whiten.mT  # k x p x t
        M = cholesky(own - B @ B.mT + torch.diag_embed(level[:, None].expand(-1, z.shape[1])))
        N = _inverse(M)
        whiten = torch.cat(
            [
                torch.cat([self.whiten, zeros.mT], -1),
                torch.cat([-N @ B @ self.whiten, N], -1),
            ],
            -2,
        )
        alpha = torch.cat([self.alpha, self.alpha.new_zeros(self.n_factors, z.shape[1])], -1)
        return replace(self, Z=torch.cat([self.Z, z], 1), alpha=alpha, whiten=whiten)

    def _per_model(self, k: Tensor, T: Tensor) -> Tensor:
        """n x S x t times each factor's own k x t x t matrix. Factors of a model are contiguous."""
        if self.layout.n_models == self.n_factors:
            return k @ T
        if self.layout.n_models == 1:
            return k @ T[0]
        return torch.cat([part @ T[m] for m, part in enumerate(k.split(self.factors_per_model))])


def _inverse(L: Tensor) -> Tensor:
    """The inverse of a lower triangular matrix."""
    eye = torch.eye(L.shape[-1], dtype=L.dtype).expand_as(L)
    return torch.linalg.solve_triangular(L, eye, upper=False)


def condition(layout: Layout, hyper: Hyperparameters, kernel: Kernel, data: Data) -> FactorPosterior:
    """The posterior given outputs of each model: of the sum (y), or, with one model per factor, of the factors (Y)."""
    C = grams(layout, hyper, kernel, data.X) + torch.diag_embed(noise_variances(layout, hyper, data.given_noise))
    L = cholesky(C)
    residuals = (data.Y - hyper.mean[layout.model_index][:, None]).expand(layout.n_models, -1)
    whiten = _inverse(L)
    alpha = (whiten.mT @ (whiten @ residuals[..., None]))[..., 0]  # k x t
    return FactorPosterior(
        layout, hyper, kernel, scaled(layout, hyper, data.X), alpha[layout.owner], whiten,
        gaussian_log_density(L, residuals),
    )  # fmt: skip


def condition_mixed(
    layout: Layout,
    hyper: Hyperparameters,
    kernel: Kernel,
    data: Data,
    sums: Data,
    gain: Tensor,
) -> FactorPosterior:
    """As `condition` with one model per factor, then on observations of the sum of all factors alone.

    `sums.Y` (1 x s) are values of sum_i gain_i (f_i + mean_i), `sums.given_noise` (s) their noise variances.
    Conditioning goes in two steps: given Y the factors are independent, so the covariance S of the sums (s x s) is the
    sum of theirs, and the inverse covariance of factor i becomes

        [[G^-1, 0], [0, 0]] + P S^-1 P',   P = gain_i [-G^-1 K(X, X_sum); I].
    """
    base = condition(layout, hyper, kernel, data)
    z = scaled(layout, hyper, sums.X)  # n x s x m
    scale = factor_scales(layout, hyper)[:, None, None]
    cross = covariance(kernel, squared_distances(base.Z, z)) * scale  # n x t x s
    own = covariance(kernel, squared_distances(z, z)) * scale  # n x s x s
    half = base.whiten @ cross  # n x t x s
    S = (gain.square()[:, None, None] * (own - half.mT @ half)).sum(0) + torch.diag_embed(sums.given_noise)
    L = cholesky(S)
    N = _inverse(L)
    eye = torch.eye(sums.n_obs, dtype=S.dtype).expand(len(z), -1, -1)
    P = gain[:, None, None] * torch.cat([-(base.whiten.mT @ half), eye], 1)  # n x (t + s) x s
    predicted = gain @ ((cross.mT @ base.alpha[..., None])[..., 0] + base.constant()[:, None])
    residual = sums.Y[0] - predicted
    surprise = N.mT @ (N @ residual)  # s
    log_evidence_sums = gaussian_log_density(L, residual)
    zeros = S.new_zeros(len(z), data.n_obs, sums.n_obs)
    alpha = torch.cat([base.alpha, zeros[:, 0, :]], -1) + P @ surprise
    whiten = torch.cat([torch.cat([base.whiten, zeros], -1), N @ P.mT], 1)
    # The sums' evidence belongs to no factor more than to another.
    log_evidence = base.log_evidence + log_evidence_sums / len(z)
    return replace(
        base,
        Z=torch.cat([base.Z, z], 1),
        alpha=alpha,
        whiten=whiten,
        log_evidence=log_evidence,
        n_factor_rows=data.n_obs,
        n_sum_rows=sums.n_obs,
    )
