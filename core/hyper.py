"""Hyperparameters of the surrogate: what they are, their priors, and the box they are fitted in.

All live on the log scale except the means. The model sees inputs in the unit cube and standardised outputs, so that
one set of priors suits every problem.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.feature import n_numbers
from core.layout import Layout
from core.space import Array

# name: (prior mean, prior sd, lower bound, upper bound)
LOG_LENGTHSCALE = (math.log(0.3), 0.7, math.log(0.02), math.log(50.0))  # sd: around what they have in common ...
LEVEL_SD = 1.0  # ... which varies by so much itself, from problem to problem
LOG_SCALE = (0.0, 1.0, math.log(1e-4), math.log(1e2))
LOG_NOISE = (math.log(1e-4), 2.0, math.log(1e-6), math.log(1.0))
MEAN = (0.0, 0.7, -3.0, 3.0)
DOUBTFUL = (math.log(0.5), math.log(1e-2))  # longer lengthscales and more noise than the priors' middles
HELD_MEAN = (0.0, 0.7, 0.0, 0.0)  # where it is not fitted
FEATURE = (0.0, 1.0, -20.0, 20.0)


@dataclass(frozen=True)
class Prior:
    """Normal, and independent but for the lengthscales: those of one problem tend to be long or short together.

    Were they independent, a problem of many parameters that are all smooth would have to overcome the prior once for
    each of them.
    """

    center: Array
    sd: Array
    low: Array
    high: Array
    n_lengthscales: int  # the first so many are lengthscales

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """The log density up to a constant, and its gradient."""
        gap = theta - self.center
        slope = -gap / self.sd**2
        n, own, common = self.n_lengthscales, LOG_LENGTHSCALE[1] ** 2, LEVEL_SD**2
        # The inverse of own * I + common * 11' takes from every gap what all have in common.
        slope[:n] += gap[:n].sum() * common / (own + n * common) / own
        return 0.5 * float(gap @ slope), slope


@dataclass(frozen=True)
class Hyperparameters:
    """Vectors indexed by a `Layout`: lengthscales, signal variances; noise variances and means per model.

    `feature` has the numbers of the layout's feature, where it has one (`core.feature`).
    """

    log_lengthscale: Tensor
    log_scale: Tensor
    log_noise: Tensor
    mean: Tensor
    feature: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.float64))

    @classmethod
    def default(cls, layout: Layout) -> Hyperparameters:
        def at(value: float, n: int) -> Tensor:
            return torch.full((n,), value, dtype=torch.float64)

        n_models = int(layout.model_index.max()) + 1
        return cls(
            at(LOG_LENGTHSCALE[0], layout.n_lengthscales),
            at(LOG_SCALE[0], layout.n_scales),
            at(LOG_NOISE[0], n_models),
            at(MEAN[0], n_models),
            at(FEATURE[0], n_numbers(layout.feature, layout.columns.shape[1]) if layout.feature else 0),
        )

    @classmethod
    def doubtful(cls, layout: Layout) -> Hyperparameters:
        """Where a fit begins to find out whether noise explains what short lengthscales do.

        From the priors' middle it would not: few steps lead to ever shorter lengthscales, in whose likelihood every
        observation stands alone, and the way back to smooth functions and noise is long and flat.
        """
        middle = cls.default(layout)
        lengthscale, noise = DOUBTFUL
        return replace(
            middle,
            log_lengthscale=torch.full_like(middle.log_lengthscale, lengthscale),
            log_noise=torch.full_like(middle.log_noise, noise),
        )

    def pack(self) -> Tensor:
        return torch.cat(self.vectors())

    def unpack(self, theta: Tensor) -> Hyperparameters:
        """The same shapes with other numbers."""
        return Hyperparameters(*theta.split([len(v) for v in self.vectors()]))

    def vectors(self) -> list[Tensor]:
        return [self.log_lengthscale, self.log_scale, self.log_noise, self.mean, self.feature]

    @classmethod
    def joined(cls, parts: Sequence[Hyperparameters]) -> Hyperparameters:
        """One group after the other, as `core.layout.shared` indexes them."""
        return cls(*(torch.cat([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))

    def log_prior(self) -> float:
        """The log prior density, up to a constant per parameter."""
        return self.prior()(self.pack().numpy())[0]

    def prior(self, *, hold_mean: bool = False) -> Prior:
        """That of numbers of these shapes, in the order of `pack`; the means may be held at zero."""
        rows = (LOG_LENGTHSCALE, LOG_SCALE, LOG_NOISE, HELD_MEAN if hold_mean else MEAN, FEATURE)
        center, sd, low, high = np.repeat(rows, [len(v) for v in self.vectors()], axis=0).T
        return Prior(center, sd, low, high, len(self.log_lengthscale))

    def to_dict(self) -> dict[str, list[float]]:
        named = zip(self.__dataclass_fields__, self.vectors(), strict=True)
        return {name: vector.tolist() for name, vector in named if len(vector)}

    def warmed(self, stored: dict[str, Any] | None) -> Hyperparameters:
        """These shapes with the stored numbers where they fit; a changed layout starts afresh."""
        if not stored or stored.keys() - self.__dataclass_fields__.keys():
            return self
        vectors = [torch.tensor(stored.get(name, ()), dtype=torch.float64) for name in self.__dataclass_fields__]
        if any(len(new) != len(old) for new, old in zip(vectors, self.vectors(), strict=True)):
            return self
        return Hyperparameters(*vectors)
