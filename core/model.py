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
from core.featured import behind
from core.graph import Factors
from core.history import History
from core.hope import gain_of_structure, is_hopeful
from core.hyper import Hyperparameters
from core.layout import Layout
from core.mixture import WIDEST, mixture
from core.parts import fit_parts
from core.posterior import FactorPosterior, condition
from core.problem import Problem
from core.space import Space
from core.state import Sample, State
from core.sums import fit_sum, sum_data, with_failed
from core.transform import OutputTransform

Kind = Literal["shared", "known", "tied", "whole", "single", "separate"]


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
        data = with_failed(sum_data(history, transform), history.failed)
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
        data = with_failed(sum_data(history, transform), history.failed)
        hyper = Hyperparameters.joined(mixed.hypers)
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
    hypers: dict[str, Hyperparameters] = {**fitted.named, **{f.feature: f.hyper for f in mixed.features}}
    new = _remember(state, fitted.kind, hypers, [transform], known, mixed.chains, mixed.structured)
    new = replace(new, behind={**state.behind, **behind(mixed.features, fitted.log_posteriors)})
    return Model(
        "shared", posterior, samples, gain, mixed.layout.blocks, (transform,), new, mixed.acceptance,
        fitted.evaluations + sum(f.evaluations for f in mixed.features), fitted.hopeful,
    )  # fmt: skip


def _separate(
    problem: Problem, space: Space, history: History, state: State, factors: Factors, budget: Budget
) -> Model:
    parts = fit_parts(problem, space, history, state, factors, budget)
    sample = Sample(factors, float(parts.posterior.log_evidence.sum()), 1.0)
    new = _remember(state, "separate", {"separate": parts.hyper}, parts.transforms, (sample,), ())
    blocks = parts.posterior.layout.blocks
    return Model(
        "separate", parts.posterior, (sample,), parts.gain, blocks, parts.transforms, new, None, parts.evaluations
    )  # fmt: skip
