"""The acquisition function and its additive pieces (eqs. 9 to 11).

    phi(x)   = sum_i gain_i (mean_i + sqrt(beta) sqrt(sum_{k in N_i} var_k / |N_k|^2))
    phi_i(x) = gain_i (mean_i + sqrt(beta) sqrt(var_i / |N_i|^2 + c_i)),   c_i = the same sum over k != i

`gain` is 1/k for each of k sampled decompositions (eq. 21), and the common unit of the factors where each is modelled
in units of its own. Neighbourhoods are those of one decomposition ("sample") or of the factor graph of phi itself, the
union of all sampled ones ("union"), which are larger and make a tighter bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from core.layout import Layout
from core.posterior import FactorPosterior
from core.problem import Neighborhood, Schedule
from core.space import Array


def beta(schedule: Schedule | float, n_dims: int, n_obs: int, log_size: float = math.inf, delta: float = 0.1) -> float:
    """beta_t by the theorem for a finite domain (log |D| = log_size), by the literature's practice, or as given."""
    t = max(1, n_obs)
    if not isinstance(schedule, str):
        return float(schedule)
    if schedule == "theory":
        # An infinite domain is taken as a grid of a thousand values per variable.
        known = log_size if math.isfinite(log_size) else n_dims * math.log(1000.0)
        return 2.0 * (known + math.log(math.pi**2 * t**2 / (6.0 * delta)))
    return 0.2 * n_dims * math.log(2.0 * t)


@dataclass(frozen=True)
class Acquisition:
    """phi over a conditioned set of factors. Points are rows of the unit cube (S x n_columns)."""

    posterior: FactorPosterior
    gain: Tensor  # n
    coupling: Tensor  # n x n: 1 / |N_k|^2 in the units of factor i where k is in N_i, else 0
    kappa: Tensor  # sqrt(beta): one for all points, or one for each of S

    @property
    def layout(self) -> Layout:
        return self.posterior.layout

    def terms(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """n x S each: what every factor adds to the mean, and to the exploration before its weight."""
        at = self.posterior.moments(self.layout.gather(x))
        return self.gain[:, None] * at.mean, self.gain[:, None] * (self.coupling @ at.var).sqrt()

    def value(self, x: Tensor) -> Tensor:
        """S"""
        mean, spread = self.terms(x)
        return mean.sum(0) + self.kappa * spread.sum(0)

    def weighing(self, kappa: float | Tensor) -> Acquisition:
        """The same with another exploration weight."""
        return replace(self, kappa=torch.as_tensor(kappa, dtype=torch.float64))

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """At one point (n_columns)."""
        single = self.posterior.single
        at = single.factors(x)
        gain, coupling, kappa = self.gain.numpy(), self.coupling.numpy(), float(self.kappa)
        spread = np.sqrt(coupling @ at.var)  # n
        value = float(gain @ (at.mean + kappa * spread))
        return value, single.gradient(at, gain, 0.5 * kappa * ((gain / spread) @ coupling))

    def local(self, x_local: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """phi_i at points of each factor's own (n x S x m) given c (n x S): values, gradients, variances."""
        at = self.posterior.tangent(x_local)
        diagonal = self.coupling.diagonal()[:, None]
        spread = (diagonal * at.var + c).sqrt()
        gain = self.gain[:, None]
        value = gain * (at.mean + self.kappa * spread)
        d_var = 0.5 * self.kappa * gain * diagonal / spread
        gradient = self.posterior.gradient(at, gain.expand_as(at.mean), d_var)
        return value, gradient * self.layout.mask[:, None, :], at.var

    def messages(self, var: Tensor) -> Tensor:
        """c (n x S) from every factor's variance (n x S), as the variable nodes pass them on."""
        return self.coupling @ var - self.coupling.diagonal()[:, None] * var


def neighborhoods(layout: Layout, kind: Neighborhood) -> Tensor:
    """n x n: whether k is in N_i."""
    if kind == "sample" and layout.n_models < layout.n_factors:
        return layout.touches & (layout.owner[:, None] == layout.owner[None, :])
    return layout.touches


def build(posterior: FactorPosterior, gain: Tensor, kappa: float | Tensor, kind: Neighborhood) -> Acquisition:
    """phi with the couplings of this factor graph; variances are converted between the units of the factors."""
    near = neighborhoods(posterior.layout, kind).double()
    sizes = near.sum(1)
    coupling = near * (gain / sizes)[None, :] ** 2 / gain[:, None] ** 2
    return Acquisition(posterior, gain, coupling, torch.as_tensor(kappa, dtype=torch.float64))
