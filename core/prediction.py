"""Prediction of the objective and of each factor, from the same model that asks use."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from core.budget import Budget
from core.errors import CoreError
from core.history import read
from core.model import Model, build
from core.parameter import Value
from core.posterior import FactorPosterior
from core.problem import Observation, Problem
from core.space import Space
from core.state import State
from core.transform import OutputTransform

QUADRATURE = 32


@dataclass(frozen=True)
class Prediction:
    """The model's belief at one point, in the objective's units and direction.

    `factors` maps a factor's name to (mean, sd). They are in the objective's units and sum to `mean` when `scale` is
    "objective"; while a nonlinear output transform is in force they are the model's and sum to `model_mean`.
    """

    mean: float
    sd: float
    scale: Literal["objective", "model"]
    model_mean: float
    factors: dict[str, tuple[float, float]]


def predict(
    problem: Problem,
    observations: Sequence[Observation],
    points: Sequence[Mapping[str, Value]],
    *,
    state: Mapping[str, Any] | None = None,
) -> list[Prediction]:
    """Predict at the points. Factors are the known ones, or `factor_0`, `factor_1`, ... of the heaviest sample."""
    if not points:
        return []
    space = Space(problem)
    X = torch.from_numpy(space.encode([problem.check_point(point) for point in points]))
    history = read(problem, space, observations)
    if not history.n_obs:
        raise CoreError("nothing to predict from: no completed observation yet")
    rng = np.random.default_rng([problem.algorithm.seed, len(observations)])
    # Decompositions are those of the last ask: a prediction must not wander with a chain of its own.
    still = replace(problem, algorithm=replace(problem.algorithm, proposals=0))
    stored, budget = State.from_dict(state, space.n_dims), Budget(time.monotonic)
    model = build(still, space, history, stored, rng, budget, by_factor=True)
    if model.kind == "separate":
        return _from_factors(problem, model, X)
    return _from_sum(problem, model, X)


def _names(problem: Problem, n_factors: int) -> list[str]:
    known = [factor.name for factor in problem.decomposition.factors]
    return known or [f"factor_{i}" for i in range(n_factors)]


def _heaviest(model: Model) -> tuple[FactorPosterior, Tensor]:
    """The posterior, and the factors (rows of it) of the sample that weighs most."""
    best = max(range(len(model.samples)), key=lambda k: model.samples[k].weight)
    return model.posterior, torch.nonzero(model.posterior.layout.owner == best)[:, 0]


def _from_sum(problem: Problem, model: Model, X: Tensor) -> list[Prediction]:
    """A model of the sum: its constant mean is spread evenly over the factors."""
    posterior, rows = _heaviest(model)
    owner = int(posterior.layout.owner[rows[0]])
    at = posterior.moments(posterior.layout.gather(X))
    constant = float(posterior.constant()[owner]) / len(rows)
    mean, sd = at.mean[rows] + constant, at.var[rows].sqrt()  # n x S
    total_mean, total_var = (part[owner] for part in posterior.total(X))
    transform = model.transforms[0]
    y_mean, y_sd = objective_moments(transform, total_mean, total_var.sqrt())
    scale: Literal["objective", "model"] = "model"
    if transform.is_affine:
        slope = transform.inverse_slope(torch.zeros(1, dtype=torch.float64))
        offset = transform.inverse(torch.zeros(1, dtype=torch.float64))
        mean, sd, scale = mean * slope + offset / len(rows), sd * slope, "objective"
        total_mean = y_mean
    return _collect(problem, _names(problem, len(rows)), y_mean, y_sd, scale, total_mean, mean, sd)


def _from_factors(problem: Problem, model: Model, X: Tensor) -> list[Prediction]:
    """One model per factor: each is turned back into the objective's units by itself."""
    means, sds, sd = _by_factor(model, X, torch.zeros(model.posterior.n_factors, dtype=torch.float64))
    total = means.sum(0)
    return _collect(problem, _names(problem, len(means)), total, sd, "objective", total, means, sds)


def _by_factor(model: Model, X: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Means and sds of the factors (n x S each), and the sd of their sum (S); noise of these variances (n) on top."""
    posterior = model.posterior
    at = posterior.moments(posterior.layout.gather(X))
    mean, var = at.mean + posterior.constant()[:, None], at.var + noise[:, None]
    moments = [objective_moments(t, m, v.sqrt()) for t, m, v in zip(model.transforms, mean, var, strict=True)]
    means, sds = (torch.stack(part) for part in zip(*moments, strict=True))
    sd = root_sum_square(sds, 0)
    if posterior.n_sum_rows:  # then every transform is affine
        slopes = torch.stack([t.inverse_slope(torch.zeros(1, dtype=torch.float64))[0] for t in model.transforms])
        share = slopes / slopes.max()
        sd = (posterior.variance_of_sum(at, share) + share.square() @ noise).sqrt() * slopes.max()
    return means, sds, sd


def expected(problem: Problem, model: Model, x: Tensor) -> tuple[float, float]:
    """Mean and sd of what a measurement at x (n_columns) would give by this model, noise included, samples averaged."""
    noise, X = model.posterior.noise(), x[None]
    if model.kind == "separate":
        means, _, sd = _by_factor(model, X, noise)
        return problem.sign * float(means.sum()), float(sd)
    mean, var = (part[:, 0] for part in model.posterior.total(X))  # k
    means, sds = objective_moments(model.transforms[0], mean, (var + noise).sqrt())
    share = model.model_weights()
    center = share @ means
    spread = torch.cat([share.sqrt() * sds, share.sqrt() * (means - center)])
    return problem.sign * float(center), float(root_sum_square(spread, 0))


def objective_moments(transform: OutputTransform, mean: Tensor, sd: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and sd, in the objective's units, of a Gaussian in model units (Gauss-Hermite quadrature).

    Turned back by a strong power, the tails of a Gaussian have no moments: values count as no further beyond those
    seen than these are apart.
    """
    if transform.is_affine:
        return transform.inverse(mean), transform.inverse_slope(mean) * sd
    nodes, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE)
    w = torch.from_numpy(weights / weights.sum())
    y = transform.inverse(mean[:, None] + sd[:, None] * torch.from_numpy(nodes))
    apart = transform.high - transform.low
    y = y.clamp(transform.low - apart, transform.high + apart)
    center = y @ w
    return center, root_sum_square((y - center[:, None]) * w.sqrt(), 1)


def root_sum_square(x: Tensor, dim: int) -> Tensor:
    """The Euclidean norm along a dimension, of numbers whose squares may overflow or vanish."""
    largest = x.abs().amax(dim, keepdim=True).clamp(min=1e-308)
    return (x / largest).square().sum(dim).sqrt() * largest.squeeze(dim)


def _collect(
    problem: Problem,
    names: list[str],
    mean: Tensor,
    sd: Tensor,
    scale: Literal["objective", "model"],
    model_mean: Tensor,
    factor_mean: Tensor,
    factor_sd: Tensor,
) -> list[Prediction]:
    sign = problem.sign
    return [
        Prediction(
            sign * float(mean[s]), float(sd[s]), scale, sign * float(model_mean[s]),
            {n: (sign * float(factor_mean[i, s]), float(factor_sd[i, s])) for i, n in enumerate(names)},
        )
        for s in range(len(mean))
    ]  # fmt: skip
