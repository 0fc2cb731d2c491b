"""How much exploration pays: the maximisers of phi for several weights, judged by their expected improvement.

Every maximiser of the expected improvement lies on the front of large mean and large variance that phi's maximisers
trace as beta varies. So phi is maximised for a few weights, and the data say which of the results promises most. The
judge is exact where phi is a bound: it uses the variance of the sum itself, and averages over the decompositions. It
also looks whether a mixture of the candidates promises more than each of them: phi explores all factors at once, where
it often pays to explore one or two and to leave the others at their best. Where factors were told one by one, the parts
of the problem that share no variable are judged, and put together, each by itself. Once even the best promises next to
nothing, every fourth ask is bold: polishing one optimum to its last digit is no way to find out whether there is a
better one. It goes elsewhere (`core.elsewhere`), or takes the largest weight where that cannot be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import erfcx, log_ndtr, ndtr
from torch import Tensor

from core.posterior import FactorPosterior
from core.space import Array

KAPPAS = (0.1, 0.5, 2.0)
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
NEGLIGIBLE = 1e-3  # of the outputs' standard deviation: an improvement not worth an evaluation


@dataclass(frozen=True)
class Improvement:
    """The log of the expected improvement, averaged over the models of the sum, each over an incumbent of its own."""

    posterior: FactorPosterior
    log_weights: Tensor  # k
    best: Tensor  # k: the largest posterior mean among the points seen

    @classmethod
    def over(cls, posterior: FactorPosterior, weights: Tensor, seen: Tensor) -> Improvement:
        """`weights` (k) are those of the posterior's models, `seen` (t x n_columns) what is to be improved on."""
        return cls(posterior, weights.log(), posterior.total(seen)[0].amax(1))

    def value(self, x: Tensor) -> Tensor:
        """S, at the rows of x (S x n_columns)"""
        mean, var = self.posterior.total(x)  # k x S
        return torch.logsumexp(log_improvement(mean - self.best[:, None], var.sqrt()) + self.log_weights[:, None], 0)

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """At one point (n_columns)."""
        single = self.posterior.single
        at = single.sums(x)
        sd = np.sqrt(at.var)
        u = (at.mean + (self.posterior.constant() - self.best).numpy()) / sd
        shape = log_h(u)
        log_parts = shape + np.log(sd) + self.log_weights.numpy()
        value = float(np.logaddexp.reduce(log_parts))
        part = np.exp(log_parts - value)  # how much each model has to say
        ratio = np.exp(log_ndtr(u) - shape)  # d log_h / du
        d_mean = part * ratio / sd
        d_var = 0.5 * part * (1.0 - u * ratio) / at.var
        return value, single.gradient(at, d_mean[single.owner], d_var[single.owner])


def is_negligible(promise: Tensor) -> bool:
    """Whether even the largest of these log improvements is hardly worth an evaluation."""
    return float(promise.max()) < math.log(NEGLIGIBLE)


def best_by_component(
    posterior: FactorPosterior, gain: Tensor, x: Tensor, seen: Tensor, *, bold: bool = False
) -> tuple[Tensor, list[int]]:
    """The rows of x put together (n_columns): each component of the factor graph from the row that serves it best.

    Also which row that was, by component. Sums told without their factors couple components a little; that is ignored.
    """
    layout = posterior.layout
    at = posterior.moments(layout.gather(x))
    told = posterior.moments(layout.gather(seen)).mean
    mixed, chosen = x[0].clone(), []
    for component in range(int(layout.components.max()) + 1):
        rows = layout.components == component
        g = gain[rows]
        best = (g @ told[rows]).max()
        promise = log_improvement(g @ at.mean[rows] - best, (g.square() @ at.var[rows]).sqrt())
        columns = layout.uses[rows].any(0)
        promise = promise - g.max().log()
        last = bold and is_negligible(promise)
        chosen.append(len(promise) - 1 if last else int(promise.argmax()))
        mixed[columns] = x[chosen[-1]][columns]
    return mixed, chosen


def log_improvement(gap: Tensor, sd: Tensor) -> Tensor:
    """log E max(0, gap + sd Z) for a standard normal Z, exact far below zero too."""
    return torch.from_numpy(log_h((gap / sd).numpy())) + sd.log()


def log_h(u: Array) -> Array:
    """log(pdf(u) + u cdf(u))."""
    log_pdf = -0.5 * u * u - LOG_SQRT_2PI
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = np.log(np.exp(log_pdf) + u * ndtr(u))
        if (u > -1.0).all():
            return direct
        # Below -1 the terms cancel; the scaled complementary error function takes the cancellation into a logarithm,
        # and very far out, where that runs out of digits, the leading term 1/u^2 is all there is.
        low = np.minimum(u, -1.0)
        tail = log_pdf + np.log1p(low * math.sqrt(math.pi / 2.0) * erfcx(-low / math.sqrt(2.0)))
        far = log_pdf - 2.0 * np.log(-low)
    return np.where(u > -1.0, direct, np.where(u > -1e3, tail, far))
