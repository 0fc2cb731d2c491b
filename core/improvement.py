"""How much exploration pays: the maximisers of phi for several weights, judged by their expected improvement.

Every maximiser of the expected improvement lies on the front of large mean and large variance that phi's maximisers
trace as beta varies. So phi is maximised for a few weights, and the data say which of the results promises most. The
judge is exact where phi is a bound: it uses the variance of the sum itself, and averages over the decompositions. It
also looks whether a mixture of the candidates promises more than each of them: phi explores all factors at once, where
it often pays to explore one or two and to leave the others at their best. Where factors were told one by one, the parts
of the problem that share no variable are judged, and put together, each by itself. Once even the best promises next to
nothing, every other ask is bold and takes the largest weight: polishing one optimum to its last digit is no way to find
out whether there is a better one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from core.acquisition import scatter, share_matrix
from core.graph import FactorGraph
from core.layout import Layout
from core.posterior import FactorPosterior

KAPPAS = (0.1, 0.5, 2.0)
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

    @property
    def layout(self) -> Layout:
        return self.posterior.layout

    def value(self, x: Tensor) -> Tensor:
        """S, at the rows of x (S x n_columns)"""
        mean, var = self.posterior.total(x)  # k x S
        return torch.logsumexp(log_improvement(mean - self.best[:, None], var.sqrt()) + self.log_weights[:, None], 0)

    def value_and_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """S, and S x n_columns"""
        at = self.posterior.total_tangent(x)
        sd = at.var.sqrt()
        u = (at.mean + (self.posterior.constant() - self.best)[:, None]) / sd
        shape = log_h(u)
        log_parts = shape + sd.log() + self.log_weights[:, None]
        value = torch.logsumexp(log_parts, 0)
        part = torch.exp(log_parts - value)  # how much each model has to say
        ratio = torch.exp(torch.special.log_ndtr(u) - shape)  # d log_h / du
        d_mean = part * ratio / sd
        d_var = 0.5 * part * (1.0 - u * ratio) / at.var
        owner = self.layout.owner
        local = self.posterior.gradient(at, d_mean[owner], d_var[owner]) * self.layout.mask[:, None, :]
        return value, scatter(self.layout, local, x.shape[-1])


def is_negligible(promise: Tensor) -> bool:
    """Whether even the largest of these log improvements is hardly worth an evaluation."""
    return float(promise.max()) < math.log(NEGLIGIBLE)


def best_by_component(
    posterior: FactorPosterior, gain: Tensor, x: Tensor, seen: Tensor, *, bold: bool = False
) -> tuple[Tensor, list[int]]:
    """The rows of x put together (n_columns): each component of the factor graph from the row that serves it best.

    Also which row that was, by component. Sums told without their factors couple components a little; that is ignored.
    """
    layout, n_columns = posterior.layout, x.shape[1]
    uses = share_matrix(layout, n_columns) > 0
    factors = tuple(tuple(torch.nonzero(row)[:, 0].tolist()) for row in uses)
    at = posterior.moments(layout.gather(x))
    told = posterior.moments(layout.gather(seen)).mean
    mixed, chosen = x[0].clone(), []
    for component in FactorGraph(n_columns, factors).components:
        rows = list(component)
        g = gain[rows]
        best = (g @ told[rows]).max()
        promise = log_improvement(g @ at.mean[rows] - best, (g.square() @ at.var[rows]).sqrt())
        columns = uses[rows].any(0)
        promise = promise - g.max().log()
        last = bold and is_negligible(promise)
        chosen.append(len(promise) - 1 if last else int(promise.argmax()))
        mixed[columns] = x[chosen[-1]][columns]
    return mixed, chosen


def log_improvement(gap: Tensor, sd: Tensor) -> Tensor:
    """log E max(0, gap + sd Z) for a standard normal Z, exact far below zero too."""
    return log_h(gap / sd) + sd.log()


def log_h(u: Tensor) -> Tensor:
    """log(pdf(u) + u cdf(u))."""
    pdf = torch.exp(-0.5 * u.square()) / math.sqrt(2.0 * math.pi)
    cdf = 0.5 * torch.erfc(-u / math.sqrt(2.0))
    direct = (pdf + u * cdf).clamp(min=1e-300).log()
    if bool((u > -1.0).all()):
        return direct
    # Below -1 the terms cancel; the scaled complementary error function takes the cancellation into a logarithm, and
    # very far out, where that runs out of digits, the leading term 1/u^2 is all there is.
    v = u.clamp(max=-1.0)
    mills = math.sqrt(math.pi / 2.0) * torch.special.erfcx(-v / math.sqrt(2.0))
    log_pdf = -0.5 * v.square() - 0.5 * math.log(2.0 * math.pi)
    tail = log_pdf + torch.log1p((v * mills).clamp(min=-1.0 + 1e-16))
    far = log_pdf - 2.0 * v.abs().log()
    return torch.where(u > -1.0, direct, torch.where(u > -1e3, tail, far))
