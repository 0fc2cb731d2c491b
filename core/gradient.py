"""The gradient of the log evidence in the hyperparameters, in closed form, over pairs of observations.

With A = 1/2 (C^-1 r r' C^-1 - C^-1), the derivative of the log evidence in any parameter is the sum of A * dC.
Only the pairs of observations are worked on (`core.pairs`); the distances of all factors are one product with their
squared differences.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from torch import Tensor

from core import feature
from core.evidence import (
    Data,
    add_to_models,
    cholesky,
    factor_scales,
    gaussian_log_density,
    noise_variances,
    residuals,
    weights,
)
from core.feature import Feature
from core.hyper import Hyperparameters
from core.kernels import covariance, profile
from core.layout import Layout
from core.pairs import Pairs
from core.problem import Kernel

# Factors are taken in chunks of about this many pairs: they fit a core's cache, which is worth a factor of two.
CHUNK = 60_000
# Up to this many covariances in all are kept for the gradient instead of being made twice.
KEEP = 3_000_000
LOG_2PI = math.log(2.0 * math.pi)


class _Solved(NamedTuple):
    """What one model's Cholesky factor gives: C^-1 r, and A on the diagonal and, doubled, for each pair."""

    log_density: float
    alpha: Tensor  # t
    diagonal: Tensor  # t
    pairs: Tensor  # P: every pair stands twice in the matrix


class PairEvidence:
    """The weighted sum of the models' log evidences on given data, as a function of the hyperparameters."""

    def __init__(self, layout: Layout, kernel: Kernel, data: Data, pairs: Pairs) -> None:
        self.layout, self.kernel, self.data, self.pairs = layout, kernel, data, pairs
        self.D = pairs.D
        n_rows = max(1, CHUNK // max(1, len(pairs)))
        self.parts = [layout.take(rows) for rows in torch.arange(layout.n_factors).split(n_rows)]
        self.keep = layout.n_factors * len(pairs) <= KEEP
        # A factor of few columns among many gathers its own; otherwise one product with all of them is quicker.
        self.gathers = layout.columns.shape[1] * 4 < len(self.D)
        keep = self.gathers and layout.columns.numel() * len(pairs) <= KEEP
        self.gathered = [self.D[part.columns] for part in self.parts] if keep else None
        self.centered = layout.gather(data.X - 0.5)[0] if layout.feature else data.X[:0]  # t x m

    def __call__(self, hyper: Hyperparameters, model_weights: Tensor) -> tuple[Tensor, Hyperparameters]:
        """The sum (a scalar) and its gradient, in the shape of `hyper`."""
        layout, data = self.layout, self.data
        noise = noise_variances(layout, hyper, data.given_noise)
        made = [self._profile(i, hyper) if self.keep else None for i in range(len(self.parts))]
        grams, R = self._gram(hyper, made, noise), residuals(layout, hyper, data)
        solved = [self._solve(C, r) for C, r in zip(grams, R, strict=True)]
        weight = model_weights[:, None]
        alpha = torch.stack([s.alpha for s in solved])  # k x t
        diagonal = weight * torch.stack([s.diagonal for s in solved])  # k x t
        pairs = weight * torch.stack([s.pairs for s in solved])  # k x P
        value = model_weights @ torch.tensor([s.log_density for s in solved], dtype=torch.float64)

        gradient = Hyperparameters(*map(torch.zeros_like, hyper.vectors()))
        for i, covariances in enumerate(made):
            k, slope = covariances or self._profile(i, hyper)
            self._add_factors(gradient, i, hyper, pairs, diagonal.sum(-1), k, slope)
        fitted = data.given_noise.isnan()
        gradient.log_noise.index_add_(0, layout.model_index, (diagonal * noise * fitted).sum(-1))
        gradient.mean.index_add_(0, layout.model_index, model_weights * alpha.sum(-1))
        return value, gradient

    def log_densities(self, hyper: Hyperparameters) -> Tensor:
        """k: each model's log evidence alone."""
        return gaussian_log_density(cholesky(self.gram(hyper)), residuals(self.layout, hyper, self.data))

    def ridge_curvature(self, hyper: Hyperparameters) -> Tensor:
        """m x m, for one factor: with r'x for a further column, r small, the log evidence grows by r' C r."""
        k, slope = self._profile(0, hyper)
        [gram] = self._gram(hyper, [(k, slope)], noise_variances(self.layout, hyper, self.data.given_noise))
        solved = self._solve(gram, residuals(self.layout, hyper, self.data)[0])
        G = slope[0] * factor_scales(self.layout, hyper)[0] * solved.pairs  # dE/ds
        # The sum over pairs of G (x - x') (x - x')' is X' (diag(W 1) - W) X, where W has G for every pair.
        W = self.pairs.lower(G, G.new_zeros(self.pairs.n_obs))
        W = W + W.T
        return self.centered.T @ (W.sum(1)[:, None] * self.centered - W @ self.centered)

    def _solve(self, C: Tensor, residual: Tensor) -> _Solved:
        """Of one model, from the lower triangle of C (t x t). LAPACK itself takes half the time of torch's calls."""
        U, failed = dpotrf(C.numpy().T, lower=0, clean=0)  # it reads by columns: our lower triangle is its upper one
        if failed:
            U = cholesky(C).numpy().T
        inverse, _ = dpotri(U, lower=0)
        r = residual.numpy()
        alpha, _ = dpotrs(U, r, lower=0)
        log_density = -0.5 * float(r @ alpha) - float(np.log(U.diagonal()).sum()) - 0.5 * len(r) * LOG_2PI
        row, col, flat = self.pairs.row.numpy(), self.pairs.col.numpy(), self.pairs.flat.numpy()
        pairs = alpha.take(row) * alpha.take(col) - inverse.T.take(flat)
        diagonal = 0.5 * (alpha * alpha - inverse.diagonal())
        return _Solved(log_density, *map(torch.from_numpy, (alpha, diagonal, pairs)))

    def gram(self, hyper: Hyperparameters) -> Tensor:
        """k x t x t: the lower triangles of C."""
        noise = noise_variances(self.layout, hyper, self.data.given_noise)
        return self._gram(hyper, [None] * len(self.parts), noise)

    def _gather(self, i: int) -> Tensor:
        """n x m x P: squared differences in the columns of each factor of part i."""
        return self.D[self.parts[i].columns] if self.gathered is None else self.gathered[i]

    def _distances(self, i: int, hyper: Hyperparameters) -> Tensor:
        """n x P: squared, scaled, of the pairs, for each factor of part i."""
        part = self.parts[i]
        w2 = weights(part, hyper).square()  # n x m
        if self.gathers:
            return (w2[:, None, :] @ self._gather(i))[:, 0]
        s = w2.new_zeros(part.n_factors, len(self.D)).scatter_add_(1, part.columns, w2) @ self.D
        return s if part.feature is None else s.add_(self._apart(part.feature, hyper).square())

    def _apart(self, kind: Feature, hyper: Hyperparameters) -> Tensor:
        """P: differences of the feature."""
        h = feature.value(kind, hyper.feature, self.centered)
        return h[self.pairs.row] - h[self.pairs.col]

    def _profile(self, i: int, hyper: Hyperparameters) -> tuple[Tensor, Tensor]:
        """n x P each: unit covariances of the pairs and their slopes in the squared distance."""
        return profile(self.kernel, self._distances(i, hyper))

    def _gram(self, hyper: Hyperparameters, made: list[tuple[Tensor, Tensor] | None], noise: Tensor) -> Tensor:
        """k x t x t: the lower triangles, noise included."""
        layout = self.layout
        total = self.D.new_zeros(layout.n_models, len(self.pairs))
        for i, (part, covariances) in enumerate(zip(self.parts, made, strict=True)):
            k = covariances[0] if covariances else covariance(self.kernel, self._distances(i, hyper))
            add_to_models(total, part, hyper, k)
        prior = total.new_zeros(layout.n_models).index_add_(0, layout.owner, factor_scales(layout, hyper))
        return self.pairs.lower(total, prior[:, None] + noise)

    def _add_factors(
        self,
        gradient: Hyperparameters,
        i: int,
        hyper: Hyperparameters,
        pairs: Tensor,
        trace: Tensor,
        k: Tensor,
        slope: Tensor,
    ) -> None:
        """Add the gradient's parts of the factors of part i, in place."""
        part = self.parts[i]
        scale = factor_scales(part, hyper)
        mine = pairs[part.owner] if len(pairs) > 1 else pairs  # n x P
        by_scale = scale * ((mine * k).sum(1) + trace[part.owner])
        gradient.log_scale.index_add_(0, part.scale_index, by_scale)
        G = (slope * scale[:, None]).mul_(mine)  # dE/ds
        if self.gathers:
            by_weight = (self._gather(i) * G[:, None, :]).sum(-1)  # n x m; quicker than a product of so few rows
        else:
            by_weight = (G @ self.D.T).gather(1, part.columns)
        by_lengthscale = -2.0 * weights(part, hyper).square() * by_weight  # ds/d log l = -2 w^2 (x - x')^2
        gradient.log_lengthscale.index_add_(0, part.lengthscale_index.flatten(), by_lengthscale.flatten())
        if part.feature is not None:
            by_pair = 2.0 * G[0] * self._apart(part.feature, hyper)
            by_value = torch.zeros(self.pairs.n_obs, dtype=G.dtype)
            by_value.index_add_(0, self.pairs.row, by_pair).index_add_(0, self.pairs.col, by_pair, alpha=-1.0)
            gradient.feature.add_(by_value @ feature.jacobian(part.feature, hyper.feature, self.centered))


def evidence_and_gradient(
    layout: Layout, hyper: Hyperparameters, kernel: Kernel, data: Data, model_weights: Tensor
) -> tuple[Tensor, Hyperparameters]:
    """As `PairEvidence`, for one evaluation."""
    return PairEvidence(layout, kernel, data, Pairs(data.X))(hyper, model_weights)
