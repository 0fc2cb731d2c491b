"""The log evidence of additive models.

For one model: log p(y | X, theta) = -1/2 r' C^-1 r - 1/2 log|C| - t/2 log(2 pi) with r = y - mean and
C = sum_i scale_i k_i + noise. It is the full log evidence, not divided by t. Its gradient is in `core.gradient`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from core import feature
from core.errors import NumericalError
from core.hyper import Hyperparameters
from core.kernels import profile, squared_distances
from core.layout import Layout
from core.problem import Kernel

# Factors are taken in chunks of about this many Gram entries: they fit a core's cache, a factor of two.
CHUNK = 100_000
JITTERS = (1e-8, 1e-6, 1e-4)


@dataclass(frozen=True)
class Data:
    """What a model is conditioned on: inputs, outputs per model, and noise variances that are given (else NaN)."""

    X: Tensor  # t x n_columns
    Y: Tensor  # k x t, or 1 x t when every model sees the same outputs
    given_noise: Tensor  # t or k x t, in model units; NaN where the noise is fitted

    @property
    def n_obs(self) -> int:
        return len(self.X)


def scaled(layout: Layout, hyper: Hyperparameters, X: Tensor) -> Tensor:
    """n x t x m: each factor's columns divided by its lengthscales, so that distances are plain."""
    return with_feature(layout, hyper, layout.gather(X - 0.5), weights(layout, hyper)[:, None, :])


def with_feature(layout: Layout, hyper: Hyperparameters, centered: Tensor, inverse_lengthscales: Tensor) -> Tensor:
    """n x S x m: scaled; one column more where the layout has a feature."""
    z = centered * inverse_lengthscales
    if layout.feature is None:
        return z
    return torch.cat([z, feature.value(layout.feature, hyper.feature, centered)[..., None]], -1)


def weights(layout: Layout, hyper: Hyperparameters) -> Tensor:
    """n x m: 1 / (lengthscale * sqrt(factor size)), 0 in the padding."""
    inverse = torch.exp(-hyper.log_lengthscale[layout.lengthscale_index])
    return layout.mask * inverse / layout.sizes.sqrt()[:, None]


def factor_scales(layout: Layout, hyper: Hyperparameters) -> Tensor:
    """n: each factor's prior variance."""
    return layout.share * torch.exp(hyper.log_scale[layout.scale_index])


def noise_variances(layout: Layout, hyper: Hyperparameters, given: Tensor) -> Tensor:
    """k x t"""
    fitted = torch.exp(hyper.log_noise[layout.model_index])[:, None]
    return torch.where(given.isnan(), fitted, given)


def chunks(layout: Layout, n_obs: int) -> list[Tensor]:
    """Row indices of the layout in pieces that keep n x t x t small."""
    return list(torch.arange(layout.n_factors).split(max(1, CHUNK // max(1, n_obs * n_obs))))


def grams(layout: Layout, hyper: Hyperparameters, kernel: Kernel, X: Tensor) -> Tensor:
    """k x t x t: the sum of each model's factor covariances, without noise."""
    K = X.new_zeros(layout.n_models, len(X), len(X))
    for rows in chunks(layout, len(X)):
        part = layout.take(rows)
        Z = scaled(part, hyper, X)
        k, _ = profile(kernel, squared_distances(Z, Z))
        add_to_models(K.flatten(1), part, hyper, k.flatten(1))
    return K


def add_to_models(total: Tensor, layout: Layout, hyper: Hyperparameters, k: Tensor) -> None:
    """Add each factor's covariances (n x E) to its model's (k x E): one product instead of a pass per factor."""
    first, last = int(layout.owner[0]), int(layout.owner[-1])  # factors of a model are contiguous
    share = k.new_zeros(last + 1 - first, layout.n_factors)
    share[layout.owner - first, torch.arange(layout.n_factors)] = factor_scales(layout, hyper)
    total[first : last + 1].addmm_(share, k)


def cholesky(C: Tensor) -> Tensor:
    """The lower Cholesky factor, with the least jitter that makes it exist."""
    L, info = torch.linalg.cholesky_ex(C)
    if not bool(info.any()):
        return L
    size = C.diagonal(dim1=-2, dim2=-1).mean().clamp(min=1e-300)
    for jitter in JITTERS:
        L, info = torch.linalg.cholesky_ex(C + jitter * size * torch.eye(C.shape[-1], dtype=C.dtype))
        if not bool(info.any()):
            return L
    raise NumericalError(f"a Gram matrix of size {C.shape[-1]} is not positive definite even with jitter 1e-4", C)


def log_evidence(layout: Layout, hyper: Hyperparameters, kernel: Kernel, data: Data) -> Tensor:
    """k: the log evidence of every model."""
    C = grams(layout, hyper, kernel, data.X) + torch.diag_embed(noise_variances(layout, hyper, data.given_noise))
    return gaussian_log_density(cholesky(C), residuals(layout, hyper, data))


def gaussian_log_density(L: Tensor, R: Tensor) -> Tensor:
    """k: log N(r; 0, L L') for each row of R."""
    v = torch.linalg.solve_triangular(L, R[..., None], upper=False)[..., 0]
    log_det = 2.0 * L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return -0.5 * (v.square().sum(-1) + log_det + R.shape[-1] * math.log(2.0 * math.pi))


def residuals(layout: Layout, hyper: Hyperparameters, data: Data) -> Tensor:
    """k x t"""
    return data.Y - hyper.mean[layout.model_index][:, None]
