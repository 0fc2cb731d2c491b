"""Fit one Gaussian process per factor where factors are told one by one (App. C), and take in sums told beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core import layout as layouts
from core.budget import Budget
from core.evidence import Data
from core.fit import evaluations_from, fit, thinned
from core.graph import FactorGraph, Factors
from core.history import History
from core.hyper import Hyperparameters
from core.layout import Layout
from core.posterior import FactorPosterior, condition, condition_mixed
from core.problem import Problem
from core.space import Array, Space
from core.state import State
from core.sums import POWER_GAIN, POWER_OBS, given_noise, with_failed
from core.transform import BENDS, OutputTransform


@dataclass(frozen=True)
class FittedParts:
    """The factors' posterior with what it was made of, and how many evaluations that took."""

    posterior: FactorPosterior
    hyper: Hyperparameters
    transforms: tuple[OutputTransform, ...]  # one per factor
    gain: Tensor  # n: what a unit of each factor's model is worth, the largest 1 where factors meet
    evaluations: int


def fit_parts(
    problem: Problem, space: Space, history: History, state: State, factors: Factors, budget: Budget
) -> FittedParts:
    """Powers are chosen per factor only where no two factors meet: there units do not matter."""
    rows = np.flatnonzero(history.has_factors)
    told, sums = history.take(rows), history.take(np.flatnonzero(~history.has_factors))
    disjoint = len(FactorGraph(space.n_dims, factors).components) == len(factors)
    bend = disjoint and not sums.n_obs and problem.algorithm.transform == "auto"
    layout = layouts.separate(space, factors)
    hyper = Hyperparameters.default(layout).warmed(state.hyperparameters.get("separate"))
    stored = state.powers.get("separate", [])
    powers = stored if bend and len(stored) == len(factors) else [1.0] * len(factors)
    with budget.phase("fit", 0.4) as expired:
        part = thinned(told, len(factors))
        evaluations = 0
        for _ in range(2):
            transforms = [OutputTransform.fit(part.Y[:, i], p) for i, p in enumerate(powers)]
            fitted = fit(
                layout, problem.algorithm.kernel, _factor_data(part, transforms), hyper,
                max_evaluations=evaluations_from(state, "separate", history.n_obs, budget, state.asks % 2 == 0),
                expired=expired,
            )  # fmt: skip
            hyper, evaluations = fitted.hyper, evaluations + fitted.evaluations
            better = _best_powers(layout, hyper, problem, part, powers) if bend and not expired() else powers
            if better == powers:
                break
            powers = better
    with budget.phase("condition"):
        transforms = _factor_transforms(told.Y, powers)
        slopes = torch.tensor([t.scale * t.spread * t.unit for t in transforms], dtype=torch.float64)
        data = with_failed(_factor_data(told, transforms), history.failed)
        if sums.n_obs:
            posterior = condition_mixed(
                layout, hyper, problem.algorithm.kernel, data, *_sum_data(sums, transforms, hyper, slopes)
            )
        else:
            posterior = condition(layout, hyper, problem.algorithm.kernel, data)
    gain = torch.ones(len(factors), dtype=torch.float64) if disjoint else slopes / slopes.max()
    return FittedParts(posterior, hyper, tuple(transforms), gain, evaluations)


def _factor_transforms(Y: Array, powers: Sequence[float]) -> list[OutputTransform]:
    """One per column. A column that never changed has no scale of its own and takes the smallest of the others'."""
    transforms = [OutputTransform.fit(y, p) for y, p in zip(Y.T, powers, strict=True)]
    varies = np.ptp(Y, axis=0) > 0
    if varies.all() or not varies.any():
        return transforms
    slope = min(t.scale * t.spread * t.unit for t, moves in zip(transforms, varies, strict=True) if moves)
    return [
        t if moves else OutputTransform(unit=slope, center=float(y[0]) / slope)
        for t, moves, y in zip(transforms, varies, Y.T, strict=True)
    ]


def _factor_data(history: History, transforms: Sequence[OutputTransform]) -> Data:
    """Y as n_factors x t in each factor's model units; a told variance of the total is shared out evenly."""
    sem = history.sem / len(transforms) ** 0.5
    columns = [history.Y[:, i] for i in range(len(transforms))]
    Y = torch.stack([t.forward(torch.from_numpy(y)) for t, y in zip(transforms, columns, strict=True)])
    noise = torch.stack([given_noise(t, y, sem) for t, y in zip(transforms, columns, strict=True)])
    return Data(torch.from_numpy(history.X), Y, noise)


def _sum_data(
    sums: History, transforms: Sequence[OutputTransform], hyper: Hyperparameters, slopes: Tensor
) -> tuple[Data, Tensor]:
    """Sums as observations of sum_i gain_i f_i, everything in units of the largest factor's slope."""
    unit = float(slopes.max())
    gain = slopes / unit
    offset = sum(float(t.inverse(torch.zeros(1, dtype=torch.float64))) / unit for t in transforms)
    y = torch.from_numpy(sums.y / unit) - offset
    fitted = (gain.square() * torch.exp(hyper.log_noise)).sum()
    told = torch.from_numpy(sums.sem / unit).clamp(1e-4, 1e4).square()
    noise = torch.where(told.isnan(), fitted, told)
    return Data(torch.from_numpy(sums.X), y[None], noise), gain


def _best_powers(
    layout: Layout, hyper: Hyperparameters, problem: Problem, history: History, powers: list[float]
) -> list[float]:
    """As `core.sums.best_power`, for every factor by itself."""
    if history.n_obs < POWER_OBS:
        return powers
    now = [OutputTransform.fit(history.Y[:, i], p) for i, p in enumerate(powers)]
    base = condition(layout, hyper, problem.algorithm.kernel, _factor_data(history, now))
    table = []
    for candidate in BENDS:
        bent = [OutputTransform.fit(history.Y[:, i], candidate) for i in range(len(powers))]
        residual = _factor_data(history, bent).Y - base.constant()[:, None]
        fit_term = -0.5 * (base.whiten @ residual[..., None]).square().sum((1, 2))
        jacobian = [t.log_jacobian(torch.from_numpy(history.Y[:, i])) for i, t in enumerate(bent)]
        table.append(fit_term.numpy() + np.array(jacobian))
    scores = np.array(table)  # powers x n
    chosen = []
    for i, power in enumerate(powers):
        best = int(scores[:, i].argmax())
        present = scores[BENDS.index(power), i]
        chosen.append(BENDS[best] if scores[best, i] > present + POWER_GAIN else power)
    return chosen
