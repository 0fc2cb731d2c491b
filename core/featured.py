"""One factor of all variables with a feature (`core.feature`): when one is sought, fitted and believed.

As many numbers as there are columns explain something of any data. A feature must therefore earn what they cost by
Schwarz's criterion, half the logarithm of the number of observations each, before it is used. A bowl is sure of its
centre before it is right, and asks by it would all go there: every other one is left to the models without it.

A ridge is sought along the direction in which the evidence grows most: at no ridge at all it has no slope, only a
curvature. A bowl is sought around the best observations. Both begin in doubt, with long lengthscales and much noise:
where lengthscales are short already, there is nothing left for a feature to explain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core import layout as layouts
from core import partition
from core.budget import Budget
from core.errors import NumericalError
from core.feature import CENTER, FEATURES, RIDGE, Feature, n_numbers
from core.fit import WARM_EVALUATIONS, fit
from core.gradient import PairEvidence
from core.hyper import Hyperparameters
from core.layout import Layout
from core.posterior import FactorPosterior
from core.problem import Problem
from core.space import Space
from core.state import State
from core.sums import FittedSum, sum_data
from core.transform import OutputTransform

EVERY = 8  # asks: then each is sought afresh
FROM = 20  # observations, ...
PER_COLUMN = 2  # ... or so many for each column
EVALUATIONS = 32  # of the fit that seeks it
NEAR = 5.0  # nats behind the best model: a feature further behind is left alone until it is sought again
LENGTHS = (0.5, 1.0, 2.0, 4.0)  # of a ridge to begin with
STEEPNESSES = (-1.0, 0.0, 1.0)  # of a bowl, in deviations
BEST = 5  # observations around which a bowl is sought


@dataclass(frozen=True)
class Featured:
    """A feature that was looked at. Its log posterior has been charged what its numbers cost."""

    feature: Feature
    hyper: Hyperparameters
    log_posterior: float
    evaluations: int


def featured(space: Space, feature: Feature) -> Layout:
    return replace(layouts.shared(space, [partition.full(space.n_dims)]), feature=feature)


def fit_features(problem: Problem, space: Space, fitted: FittedSum, state: State, budget: Budget) -> list[Featured]:
    """Go on with those that are any good, and seek them afresh when it is time: all that were looked at."""
    seen, kernel, found = fitted.seen, problem.algorithm.kernel, []
    data = sum_data(seen, OutputTransform.fit(seen.y, fitted.transform.power))
    enough = seen.n_obs >= max(FROM, PER_COLUMN * space.n_columns) and space.n_columns > 1
    for turn, feature in enumerate(FEATURES):
        stored = state.hyperparameters.get(feature) if state.behind.get(feature, 0.0) <= NEAR else None
        due = enough and state.asks % EVERY == turn
        if not (stored or due):
            continue
        layout = featured(space, feature)
        go_on = partial(fit, layout, kernel, data, pairs=fitted.pairs)
        fits = []
        with budget.phase("fit", 0.4) as expired:
            if stored:
                start = Hyperparameters.default(layout).warmed(stored)
                evaluations = WARM_EVALUATIONS if state.asks % 2 == 0 else 1
                fits.append(go_on(start, max_evaluations=evaluations, expired=expired))
            if due:
                with suppress(NumericalError):  # an ask can do without
                    start = _sought(PairEvidence(layout, kernel, data, fitted.pairs))
                    fits.append(go_on(start, max_evaluations=EVALUATIONS, expired=expired))
        best = max(fits, key=lambda f: f.log_posterior, default=None)
        if best and math.isfinite(best.log_posterior):
            cost = 0.5 * n_numbers(feature, space.n_columns) * math.log(seen.n_obs)
            found.append(Featured(feature, best.hyper, best.log_posterior - cost, sum(f.evaluations for f in fits)))
    return found


def believed(features: Sequence[Featured], log_posteriors: Sequence[float], *, cautious: bool) -> Feature | None:
    """The likeliest feature, if it explains more than every model without one; a bowl at `cautious` asks only."""
    likely = [f for f in features if f.log_posterior > max(log_posteriors) and (cautious or f.feature != "bowl")]
    best = max(likely, key=lambda f: f.log_posterior, default=None)
    return best.feature if best else None


def behind(features: Sequence[Featured], log_posteriors: Sequence[float]) -> dict[str, float]:
    """By name, nats behind the best model without a feature; below zero for one that explains more."""
    gaps = {f.feature: max(log_posteriors) - f.log_posterior for f in features}
    return {feature: gap for feature, gap in gaps.items() if math.isfinite(gap)}


def described(posterior: FactorPosterior, space: Space) -> dict[str, Any] | None:
    """What the feature in use says, as plain data: how parameters weigh in a ridge, where the centre of a bowl is."""
    if posterior.layout.feature is None:
        return None
    theta = posterior.hyper.feature.numpy()[: space.n_columns]
    if posterior.layout.feature == "bowl":
        [center] = space.decode(np.clip(0.5 + CENTER * theta[None], 0.0, 1.0))
        return {"kind": "bowl", "center": center}
    # A categorical parameter has several columns, and is said to weigh what the heaviest of them does.
    heaviest = [theta[columns][np.abs(theta[columns]).argmax()] for columns in space.columns]
    most = max(heaviest, key=abs) or 1.0  # which way a ridge is looked along does not matter
    weights = {name: float(w / most) for name, w in zip(space.problem.names, heaviest, strict=True)}
    return {"kind": "ridge", "weights": weights}


def _sought(evidence: PairEvidence) -> Hyperparameters:
    """Where the search for a feature begins: the likeliest of a few."""
    doubtful = Hyperparameters.doubtful(evidence.layout)
    starts = [replace(doubtful, feature=theta) for theta in _candidates(evidence, doubtful)]
    return max(starts, key=lambda hyper: float(evidence.log_densities(hyper)[0]) + hyper.log_prior())


def _candidates(evidence: PairEvidence, doubtful: Hyperparameters) -> Iterator[Tensor]:
    if evidence.layout.feature == "ridge":
        curvature = evidence.ridge_curvature(doubtful)
        direction: Tensor = torch.linalg.eigh(curvature)[1][:, -1]
        for length in LENGTHS:
            yield direction * (length * len(direction) / RIDGE)
    else:
        best = evidence.data.Y[0].topk(min(BEST, evidence.data.n_obs)).indices
        center = evidence.centered[best].mean(0) / CENTER
        for steepness in STEEPNESSES:
            yield torch.cat([center, center.new_tensor([steepness])])
