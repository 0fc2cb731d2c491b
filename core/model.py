"""From a history to a conditioned surrogate: which kind of model, its fit, its decompositions, its posterior.

shared     infer, random, none: k decompositions of the sum, hyperparameters shared by all
known      the study's factors, told in sum only
tied       the same, but one signal variance for all of them explains the sums better ...
whole      ... or one factor of all variables ...
single     ... or one factor per variable
separate   the study's factors, told one by one (App. C), and sums where only those were told
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from core import layout as layouts
from core import partition
from core.budget import Budget
from core.evidence import Data
from core.fit import evaluations_from, fit, thinned
from core.graph import FactorGraph, Factors
from core.history import History
from core.hope import gain_of_structure, is_hopeful
from core.hyper import Hyperparameters
from core.layout import Layout
from core.mixture import WIDEST, mixture
from core.posterior import FactorPosterior, condition, condition_mixed
from core.problem import Problem
from core.space import Array, Space
from core.state import Sample, State
from core.sums import POWER_GAIN, POWER_OBS, fit_sum, given_noise, sum_data
from core.transform import BENDS, OutputTransform

Kind = Literal["shared", "known", "tied", "whole", "single", "separate"]

FAILED_NOISE = 0.25  # a failed point counts as a poor value, but a doubtful one


@dataclass(frozen=True)
class Model:
    """A surrogate conditioned on everything known; `state` is what the next ask starts from."""

    kind: Kind
    posterior: FactorPosterior
    samples: tuple[Sample, ...]  # one per model of the posterior
    gain: Tensor  # n: weight of each factor in the acquisition, in common units
    blocks: Tensor  # blocks x n_columns: columns that go together from one point to another
    transforms: tuple[OutputTransform, ...]  # one, or one per factor (separate)
    state: State
    acceptance: float | None
    evaluations: int
    hopeful: bool = False

    def model_weights(self) -> Tensor:
        """k: how much each model of the sum counts."""
        return torch.tensor([s.weight for s in self.samples], dtype=torch.float64)


def build(
    problem: Problem,
    space: Space,
    history: History,
    state: State,
    rng: np.random.Generator,
    budget: Budget,
    *,
    by_factor: bool = False,
) -> Model:
    """Fit, sample decompositions where they are not known, and condition.

    `by_factor` keeps to known factors, whatever explains their sums best, and to a fitted mean: not to search by, but
    to be looked at.
    """
    if problem.decomposition.mode == "known":
        factors = known_factors(problem)
        # Hyperparameters of a factor need a few values of its own; before that, only sums are used.
        if history.has_factors.sum() >= min(3, history.n_obs):
            return _separate(problem, space, history, state, factors, budget)
        return _known(problem, space, history, state, factors, budget, by_factor)
    hopeful = is_hopeful(state, history.y) and not by_factor
    return _shared(problem, space, history, state, rng, budget, hopeful)


def known_factors(problem: Problem) -> Factors:
    index = {name: j for j, name in enumerate(problem.names)}
    return tuple(tuple(index[name] for name in factor.parameters) for factor in problem.decomposition.factors)


def _with_failed(data: Data, failed: Array) -> Data:
    """Failed points join as doubtful observations of a poor value, so that the search moves away from them."""
    if not len(failed):
        return data
    poor = torch.quantile(data.Y, 0.25, dim=1, keepdim=True).expand(-1, len(failed))
    noise = data.given_noise.new_full((*data.given_noise.shape[:-1], len(failed)), FAILED_NOISE)
    X = torch.cat([data.X, torch.from_numpy(failed)])
    return Data(X, torch.cat([data.Y, poor], 1), torch.cat([data.given_noise, noise], -1))


def _known(
    problem: Problem,
    space: Space,
    history: History,
    state: State,
    factors: Factors,
    budget: Budget,
    by_factor: bool,
) -> Model:
    """The model of the sums that explains them best, given the known factors."""
    # In a sum, factors of the same variables cannot be told apart: together they are one.
    distinct = tuple(dict.fromkeys(tuple(sorted(members)) for members in factors))
    rivals = _rivals(space, factors)[:1] if by_factor else _rivals(space, distinct)
    hopeful = is_hopeful(state, history.y) and not by_factor
    each = [layout for _, _, layout in rivals]
    fitted = fit_sum(problem, each, history, state, "known", budget, hopeful=hopeful, turns=len(rivals))
    best = int(np.argmax(fitted.log_posteriors))
    kind, used, layout = rivals[best]
    transform = fitted.transform
    with budget.phase("condition"):
        data = _with_failed(sum_data(history, transform), history.failed)
        posterior = condition(layout, fitted.hypers[best], problem.algorithm.kernel, data)
    evidence = float(posterior.log_evidence[0])
    whole = next((g for g, rival in enumerate(rivals) if rival[1] == partition.full(space.n_dims)), None)
    split = gain_of_structure(fitted.log_posteriors, whole)
    new = _remember(state, fitted.kind, fitted.named, [transform], (Sample(factors, evidence, 1.0),), (), split)
    new = replace(new, behind={**state.behind, **fitted.behind})
    gain = torch.ones(layout.n_factors, dtype=torch.float64)
    blocks = rivals[0][2].blocks  # the study's own, whatever explains the sums
    sample = Sample(used, evidence, 1.0)
    return Model(kind, posterior, (sample,), gain, blocks, (transform,), new, None, fitted.evaluations, hopeful)


def _rivals(space: Space, factors: Factors) -> list[tuple[Kind, Factors, Layout]]:
    """How sums of known factors may be modelled, the factors as they are first.

    Knowing how f splits does not make each part a draw from a stationary prior: a model that takes the splitting for
    granted extrapolates every part by itself, into corners where the sum has long been seen to be poor. And a part may
    be a sum itself.
    """
    rivals: list[tuple[Kind, Factors, Layout]] = [("known", factors, layouts.known(space, factors))]
    whole, single = partition.full(space.n_dims), partition.singletons(space.n_dims)
    if factors != whole:
        rivals.append(("whole", whole, layouts.shared(space, [whole])))
    if len(factors) > 1:
        rivals.append(("tied", factors, layouts.shared(space, [factors])))
    if factors != single and space.n_dims <= WIDEST:  # beyond, so many factors would leave a fit few observations
        rivals.append(("single", single, layouts.shared(space, [single])))
    return rivals


def _remember(
    state: State,
    kind: str,
    hypers: dict[str, Hyperparameters],
    transforms: Sequence[OutputTransform],
    samples: tuple[Sample, ...],
    chains: tuple[Factors, ...],
    structured: float = 0.0,
) -> State:
    return replace(
        state,
        decompositions=samples,
        chains=chains,
        hyperparameters={**state.hyperparameters, **{name: h.to_dict() for name, h in hypers.items()}},
        powers={**state.powers, kind: [t.power for t in transforms]},
        asks=state.asks + 1,
        structured=0.5 * (state.structured + structured),
    )


def _shared(
    problem: Problem,
    space: Space,
    history: History,
    state: State,
    rng: np.random.Generator,
    budget: Budget,
    hopeful: bool,
) -> Model:
    mixed = mixture(problem, space, history, state, rng, budget, hopeful=hopeful)
    transform = mixed.fitted.transform
    with budget.phase("condition"):
        data = _with_failed(sum_data(history, transform), history.failed)
        hyper = Hyperparameters.joined(mixed.fitted.hypers)
        posterior = condition(mixed.layout, hyper, problem.algorithm.kernel, data)
    samples = tuple(
        Sample(v.partition, evidence, weight, v.chain)
        for (v, weight), evidence in zip(mixed.used, posterior.log_evidence.tolist(), strict=True)
    )
    known = samples
    if mixed.drawn is not mixed.used:
        known = tuple(Sample(v.partition, v.log_evidence, weight, v.chain) for v, weight in mixed.drawn)
    gain = torch.tensor([s.weight for s in samples], dtype=torch.float64)[mixed.layout.owner]
    fitted = mixed.fitted
    new = _remember(state, fitted.kind, fitted.named, [transform], known, mixed.chains, mixed.structured)
    return Model(
        "shared", posterior, samples, gain, mixed.layout.blocks, (transform,), new, mixed.acceptance,
        fitted.evaluations, fitted.hopeful,
    )  # fmt: skip


def _separate(
    problem: Problem, space: Space, history: History, state: State, factors: Factors, budget: Budget
) -> Model:
    """One GP per factor. Powers are chosen per factor only where no two factors meet: there units do not matter."""
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
        data = _with_failed(_factor_data(told, transforms), history.failed)
        if sums.n_obs:
            posterior = condition_mixed(
                layout, hyper, problem.algorithm.kernel, data, *_sum_data(sums, transforms, hyper, slopes)
            )
        else:
            posterior = condition(layout, hyper, problem.algorithm.kernel, data)
    gain = torch.ones(len(factors), dtype=torch.float64) if disjoint else slopes / slopes.max()
    sample = Sample(factors, float(posterior.log_evidence.sum()), 1.0)
    new = _remember(state, "separate", {"separate": hyper}, transforms, (sample,), ())
    return Model("separate", posterior, (sample,), gain, layout.blocks, tuple(transforms), new, None, evaluations)


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
    """As `_best_power`, for every factor by itself."""
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
