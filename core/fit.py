"""Fit hyperparameters by the evidence and their priors (maximum a posteriori), and choose the output power.

L-BFGS from the last ask's values, or from the priors' middle. Large histories are fitted on a subset of
the observations (the best and a spread of the rest), because hyperparameters are known well enough from those and
the cost grows with the cube.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize

from core.budget import Budget
from core.errors import NumericalError
from core.evidence import Data
from core.gradient import PairEvidence
from core.history import History
from core.hyper import Hyperparameters
from core.layout import Layout
from core.pairs import Pairs
from core.problem import Kernel
from core.space import Array
from core.state import State

MAX_FIT_OBS = 400
MIN_FIT_OBS = 60
MAX_PAIR_ENTRIES = 2e7  # squared differences kept during a fit
MAX_COVARIANCES = 4e6  # to be made in one evaluation
TURNS_FROM = 30  # observations
WARM_EVALUATIONS = 4  # from the last ask's values; the next ask goes on from there


@dataclass(frozen=True)
class Fit:
    """Fitted hyperparameters, the log posterior there, and how many evaluations it took."""

    hyper: Hyperparameters
    log_posterior: float
    evaluations: int


def fit(
    layout: Layout,
    kernel: Kernel,
    data: Data,
    start: Hyperparameters,
    *,
    model_weights: torch.Tensor | None = None,
    pairs: Pairs | None = None,
    hold_mean: bool = False,
    max_evaluations: int = 50,
    expired: Callable[[], bool] = lambda: False,
) -> Fit:
    """Maximise evidence plus log prior from `start`; the best point seen is returned, also when time runs out.

    `pairs` are those of `data.X`, where the caller has them already. `hold_mean` keeps the means at zero.
    """
    weights = torch.ones(layout.n_models, dtype=torch.float64) if model_weights is None else model_weights
    evidence = PairEvidence(layout, kernel, data, pairs or Pairs(data.X))
    prior = start.prior(hold_mean=hold_mean)
    best: tuple[float, Array] = (np.inf, np.clip(start.pack().numpy(), prior.low, prior.high))

    def negative(theta: Array) -> tuple[float, Array]:
        nonlocal best
        try:
            value, gradient = evidence(start.unpack(torch.from_numpy(theta)), weights)
        except NumericalError:
            return 1e12, np.zeros_like(theta)
        log_prior, slope = prior(theta)
        loss = -float(value) - log_prior
        if loss < best[0]:
            best = (loss, theta.copy())
        if expired():
            raise _OutOfTime
        return loss, -gradient.pack().numpy() - slope

    if max_evaluations == 1:
        return _judged(start.unpack(torch.from_numpy(best[1])), evidence, weights)
    evaluations = 1
    try:
        result = minimize(
            negative, best[1], jac=True, method="L-BFGS-B", bounds=np.stack([prior.low, prior.high], 1),
            options={"maxfun": max_evaluations, "ftol": 1e-5, "gtol": 1e-2},
        )  # fmt: skip
        evaluations = int(result.nfev)
    except _OutOfTime:
        pass
    return Fit(start.unpack(torch.from_numpy(best[1])), -best[0], evaluations)


def _judged(hyper: Hyperparameters, evidence: PairEvidence, weights: torch.Tensor) -> Fit:
    """These hyperparameters as they are."""
    try:
        return Fit(hyper, float(weights @ evidence.log_densities(hyper)) + hyper.log_prior(), 1)
    except NumericalError:
        return Fit(hyper, -np.inf, 1)


def evaluations_from(state: State, name: str, n_obs: int, budget: Budget, turn: bool = True) -> int:
    """How many evaluations a fit may take: few where it goes on from stored values, one where it is not its turn.

    Once models know something they take turns from ask to ask: hyperparameters change slowly then.
    """
    if name not in state.hyperparameters:
        return budget.fit_evaluations
    return WARM_EVALUATIONS if n_obs < TURNS_FROM or turn else 1


class _OutOfTime(Exception):
    """Stops L-BFGS at the deadline."""


def thinned(history: History, n_factors: int) -> History:
    """What a fit sees of a history: all of it, or 400 observations, fewer where there are many columns or factors."""
    pairs = min(MAX_PAIR_ENTRIES / history.X.shape[1], MAX_COVARIANCES / n_factors)
    return history.take(subset(history.y, max(MIN_FIT_OBS, min(MAX_FIT_OBS, int((2 * pairs) ** 0.5)))))


def subset(y: Array, limit: int = MAX_FIT_OBS) -> NDArray[np.int64]:
    """Indices of at most `limit` observations: the best third, the newest third, and an even spread of the rest."""
    t = len(y)
    if t <= limit:
        return np.arange(t)
    third = limit // 3
    chosen = set(np.argsort(y)[-third:].tolist()) | set(range(t - third, t))
    rest = np.array([i for i in range(t) if i not in chosen])
    spread = rest[np.linspace(0, len(rest) - 1, limit - len(chosen)).astype(int)]
    return np.array(sorted(chosen | set(spread.tolist())))
