"""Stationary covariance functions as profiles of the squared scaled distance s.

Each is normalised to 1 at s = 0 and comes with its derivative in s, from which every gradient here is built: a
profile in s stays differentiable at 0, where one in the distance itself does not. Assumption 3.3 admits all three.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from core.problem import Kernel

RQ_ALPHA = 2.0
_SQRT5 = math.sqrt(5.0)


def profile(kernel: Kernel, s: Tensor) -> tuple[Tensor, Tensor]:
    """k(s) and dk/ds, of the shape of s."""
    if kernel == "matern52":
        a = s.sqrt().mul_(_SQRT5)  # sqrt(5 s)
        e = torch.exp(-a)
        slope = (1 + a).mul_(e)
        return slope + e.mul_(s).mul_(5 / 3), slope.mul(-5 / 6)
    if kernel == "squared_exponential":
        k = torch.exp(-0.5 * s)
        return k, -0.5 * k
    base = 1 + s / (2 * RQ_ALPHA)
    k = base**-RQ_ALPHA
    return k, -0.5 * k / base


def covariance(kernel: Kernel, s: Tensor) -> Tensor:
    """k(s) alone, where no gradient is wanted; s may be overwritten."""
    if kernel == "matern52":
        a = s.sqrt().mul_(_SQRT5)
        return torch.exp(-a).mul_(s.mul_(5 / 3).add_(a).add_(1.0))
    return profile(kernel, s)[0]


def squared_distances(A: Tensor, B: Tensor, b2: Tensor | None = None) -> Tensor:
    """... x a x m and ... x b x m (already scaled) give ... x a x b, never negative.

    One matrix product instead of a difference per pair; the cancellation it costs is of the order of 1e-16 times the
    squared norm, harmless because k is smooth in s. `b2` are the squared norms of B, where they are known already.
    """
    a2 = A.square().sum(-1, keepdim=True)
    return (a2 + (squared_norms(B) if b2 is None else b2)).sub_(2.0 * (A @ B.mT)).clamp_(min=0.0)


def squared_norms(B: Tensor) -> Tensor:
    """... x 1 x b"""
    return B.square().sum(-1, keepdim=True).mT
