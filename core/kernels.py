"""Stationary covariance functions as profiles of the squared scaled distance s.

Each is normalised to 1 at s = 0 and comes with its derivative in s, from which every gradient here is built: a
profile in s stays differentiable at 0, where one in the distance itself does not. Assumption 3.3 admits all three.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from core.problem import Kernel
from core.space import Array

RQ_ALPHA = 2.0
_SQRT5 = math.sqrt(5.0)


def profile(kernel: Kernel, s: Tensor) -> tuple[Tensor, Tensor]:
    """k(s) and dk/ds, of the shape of s."""
    k, slope = profile_array(kernel, s.numpy())
    return torch.from_numpy(k), torch.from_numpy(slope)


def covariance(kernel: Kernel, s: Tensor) -> Tensor:
    """k(s) alone, where no gradient is wanted; s may be overwritten."""
    return torch.from_numpy(covariance_array(kernel, s.numpy()))


def profile_array(kernel: Kernel, s: Array) -> tuple[Array, Array]:
    """`profile` of arrays: NumPy is called at half of torch's price, and has the quicker square root."""
    if kernel == "matern52":
        a = np.sqrt(s)
        a *= _SQRT5  # sqrt(5 s)
        k = _exp(-a)
        slope = a + 1.0
        slope *= k
        k *= s
        k *= 5 / 3
        k += slope
        slope *= -5 / 6
        return k, slope
    if kernel == "squared_exponential":
        k = _exp(-0.5 * s)
        return k, -0.5 * k
    base = 1 + s / (2 * RQ_ALPHA)
    k = base**-RQ_ALPHA
    return k, -0.5 * k / base


def covariance_array(kernel: Kernel, s: Array) -> Array:
    """`covariance` of arrays; s may be overwritten."""
    if kernel == "matern52":
        a = np.sqrt(s)
        a *= _SQRT5
        s *= 5 / 3
        s += a
        s += 1.0
        s *= _exp(np.negative(a, out=a))
        return s
    return profile_array(kernel, s)[0]


def _exp(x: Array) -> Array:
    """In place, by torch: NumPy's takes twice the time."""
    torch.from_numpy(x).exp_()
    return x


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
