"""A further column that all the others are mixed into, in which the objective of one factor of all variables is simple.

ridge    a direction at an angle to the axes: where parameters make up for each other, good values lie along a line
bowl     the distance from a centre: where values rise from all sides towards one place

Lengthscales of single parameters can say neither. A feature h adds to the squared distance of two points,

    s(x, x') = mean_j ((x_j - x'_j) / l_j)^2 + (h(x) - h(x'))^2

and its numbers (`theta`) are hyperparameters, standard normal a priori. Points are centred here: the middle of the unit
cube is the origin. What takes arrays takes tensors as well.
"""

from __future__ import annotations

from typing import Literal, TypeVar, get_args

import torch
from torch import Tensor

from core.space import Array

Feature = Literal["ridge", "bowl"]
FEATURES: tuple[Feature, ...] = get_args(Feature)
Numbers = TypeVar("Numbers", Array, Tensor)

RIDGE = 10.0  # the deviation of a ridge's weights, by the number of columns: as steep as a short lengthscale
CENTER = 0.35  # the deviation of a bowl's centre: anywhere in the cube
STEEPNESS = 2.0  # of a bowl: two lengthscales over the length of an edge, ...
SPREAD = 1.0  # ... with this deviation
ROUND = 1e-3  # at its centre, a bowl is round rather than pointed


def n_numbers(feature: Feature, n_columns: int) -> int:
    return n_columns if feature == "ridge" else n_columns + 1


def value(feature: Feature, theta: Numbers, x: Numbers) -> Numbers:
    """h at x (... x m): ..."""
    m = x.shape[-1]
    if feature == "ridge":
        return x @ theta * (RIDGE / m)
    return (STEEPNESS + SPREAD * theta[m]) * _radius(theta[:m], x)


def slope(feature: Feature, theta: Numbers, x: Numbers) -> Numbers:
    """dh/dx, for each row of x: ... x m, or m where it is the same everywhere."""
    m = x.shape[-1]
    if feature == "ridge":
        return theta * (RIDGE / m)
    radius = _radius(theta[:m], x)
    return (x - CENTER * theta[:m]) * ((STEEPNESS + SPREAD * theta[m]) / radius)[..., None]


def jacobian(feature: Feature, theta: Tensor, x: Tensor) -> Tensor:
    """dh/dtheta, for each row of x (t x m): t x numbers."""
    m = x.shape[-1]
    if feature == "ridge":
        return x * (RIDGE / m)
    by_center = -CENTER * slope(feature, theta, x)
    return torch.cat([by_center, SPREAD * _radius(theta[:m], x)[:, None]], 1)


def _radius(center: Numbers, x: Numbers) -> Numbers:
    """The distance from a centre in units of `CENTER`: ..."""
    away = x - CENTER * center
    radius: Numbers = ((away * away).sum(-1) + ROUND**2) ** 0.5
    return radius
