"""The posterior at one point after the other, with gradients, for searches that go step by step.

At a single point the calls cost more than the numbers, and numpy's cost the least. What is computed is the same as in
`core.posterior`; one product with the precision gives variance and gradient, at the price of the last digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core import feature
from core.kernels import profile_array
from core.space import Array

if TYPE_CHECKING:
    from core.posterior import FactorPosterior


@dataclass(frozen=True)
class At:
    """Moments at one point, of the n factors or of the k sums, and what their gradients need."""

    mean: Array
    var: Array
    slope: Array  # n x t: dk/ds times the factor's scale
    solved: Array  # n x t, or 1 x t for all: (K + noise)^-1 k, of the factor or of its sum
    away: Array  # n x t x m: scaled differences to the conditioning points; one column more with a feature
    by_feature: Array | None  # n x m: slopes of the feature, if there is one


class SinglePoint:
    """What the data say at x (n_columns)."""

    def __init__(self, posterior: FactorPosterior) -> None:
        layout = posterior.layout
        self.kernel = posterior.kernel
        self.columns = layout.columns.numpy()
        self.weights = posterior.inverse_lengthscales[:, 0, :].numpy()  # n x m, 0 in the padding
        self.feature, self.theta = layout.feature, posterior.hyper.feature.numpy()
        self.scale = posterior.scale.numpy()
        self.Z, self.alpha = posterior.Z.numpy(), posterior.alpha.numpy()
        self.precision = posterior.precision.numpy()  # k x t x t
        self.owner = layout.owner.numpy()
        counts = np.array(posterior.factors_per_model)
        self.first = np.cumsum(counts) - counts  # factors of a model are contiguous
        self.prior = np.add.reduceat(self.scale, self.first)  # k

    def factors(self, x: Array) -> At:
        """Each factor by itself."""
        k, slope, away, by_feature = self._covariances(x)
        if len(self.precision) == 1:
            solved = k @ self.precision[0]
        else:
            solved = np.empty_like(k)
            for matrix, first, end in zip(self.precision, self.first, [*self.first[1:], len(k)], strict=True):
                solved[first:end] = k[first:end] @ matrix
        mean = np.einsum("nt,nt->n", k, self.alpha)
        var = self.scale - np.einsum("nt,nt->n", k, solved)
        return At(mean, np.maximum(var, 1e-12), slope, solved, away, by_feature)

    def sums(self, x: Array) -> At:
        """Each model's sum of factors, without its constant."""
        k, slope, away, by_feature = self._covariances(x)
        if len(self.precision) == 1:
            together = k.sum(0)
            solved = together @ self.precision[0]
            mean = np.array([np.vdot(k, self.alpha)])
            var = self.prior - together @ solved
            return At(mean, np.maximum(var, 1e-12), slope, solved[None], away, by_feature)
        together = np.add.reduceat(k, self.first, axis=0)  # k x t
        solved = (together[:, None, :] @ self.precision)[:, 0]
        mean = np.add.reduceat(np.einsum("nt,nt->n", k, self.alpha), self.first)
        var = self.prior - np.einsum("kt,kt->k", together, solved)
        return At(mean, np.maximum(var, 1e-12), slope, solved[self.owner], away, by_feature)

    def gradient(self, at: At, d_mean: Array, d_var: Array) -> Array:
        """n_columns: the chain rule, given derivatives in the mean and the variance of each factor (or of its sum)."""
        g = (d_mean[:, None] * self.alpha - 2.0 * d_var[:, None] * at.solved) * at.slope
        inner = 2.0 * np.einsum("nt,ntm->nm", g, at.away)  # ds/dx = 2 w (z - Z)
        if at.by_feature is None:
            local = self.weights * inner
        else:
            local = self.weights * inner[:, :-1] + at.by_feature * inner[:, -1:]
        total: Array = np.bincount(self.columns.ravel(), weights=local.ravel())  # type: ignore[assignment]
        return total

    def _covariances(self, x: Array) -> tuple[Array, Array, Array, Array | None]:
        """n x t each: covariances and their slopes; and what `At` has of the differences."""
        centered = x[self.columns] - 0.5
        z, by_feature = centered * self.weights, None
        if self.feature is not None:
            z = np.append(z, feature.value(self.feature, self.theta, centered)[:, None], 1)
            by_feature = feature.slope(self.feature, self.theta, centered)
        away = z[:, None, :] - self.Z
        k, slope = profile_array(self.kernel, np.einsum("ntm,ntm->nt", away, away))
        k *= self.scale[:, None]
        slope *= self.scale[:, None]
        return k, slope, away, by_feature
