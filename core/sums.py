"""Fit models of the sum: hyperparameters and the output power in turns, each given the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from core.budget import Budget
from core.evidence import Data, cholesky
from core.fit import evaluations_from, fit, thinned
from core.gradient import PairEvidence
from core.history import History
from core.hope import EVERY
from core.hyper import Hyperparameters
from core.layout import Layout
from core.pairs import Pairs
from core.problem import Problem
from core.space import Array
from core.state import State
from core.transform import BENDS, OutputTransform

POWER_GAIN = 2.0  # nats of evidence that a change of the output power must bring
POWER_OBS = 8  # observations before any change
FRESH_EVERY = 6  # asks, for one model at a time
FRESH_EVALUATIONS = 16
FAILED_NOISE = 0.25  # a failed point counts as a poor value, but a doubtful one
FAR = 20.0  # nats behind the best: such a model sits out until its turn to be fitted afresh comes


@dataclass(frozen=True)
class FittedSum:
    """Hyperparameters per layout, the output transform they share, and how many evaluations that took."""

    kind: str  # under which they are stored
    hopeful: bool
    hypers: list[Hyperparameters]
    log_posteriors: list[float]  # evidence and prior of the hyperparameters, per layout
    transform: OutputTransform
    evaluations: int
    seen: History  # what the fit saw of the history ...
    pairs: Pairs  # ... and the pairs of its inputs

    @property
    def named(self) -> dict[str, Hyperparameters]:
        return dict(zip(_names(self.kind, len(self.hypers)), self.hypers, strict=True))

    @property
    def behind(self) -> dict[str, float]:
        """By name, nats behind the best; a fit that failed says nothing."""
        gaps = [max(self.log_posteriors) - reached for reached in self.log_posteriors]
        named = zip(_names(self.kind, len(gaps)), gaps, strict=True)
        return {name: gap if math.isfinite(gap) else 0.0 for name, gap in named}


def _names(kind: str, n: int) -> list[str]:
    return [f"{kind}_{g}" for g in range(n)]


def given_noise(transform: OutputTransform, y: Array, sem: Array) -> Tensor:
    """Noise variances in model units where a standard error was told, else NaN."""
    sd = transform.sd_forward(torch.from_numpy(y), torch.from_numpy(sem))
    return sd.clamp(1e-4, 1e4).square()  # NaN stays NaN


def sum_data(history: History, transform: OutputTransform) -> Data:
    z = transform.forward(torch.from_numpy(history.y))
    return Data(torch.from_numpy(history.X), z[None], given_noise(transform, history.y, history.sem))


def with_failed(data: Data, failed: Array) -> Data:
    """Failed points join as doubtful observations of a poor value, so that the search moves away from them."""
    if not len(failed):
        return data
    poor = torch.quantile(data.Y, 0.25, dim=1, keepdim=True).expand(-1, len(failed))
    noise = data.given_noise.new_full((*data.given_noise.shape[:-1], len(failed)), FAILED_NOISE)
    X = torch.cat([data.X, torch.from_numpy(failed)])
    return Data(X, torch.cat([data.Y, poor], 1), torch.cat([data.given_noise, noise], -1))


def fit_sum(
    problem: Problem,
    layouts: Sequence[Layout],
    history: History,
    state: State,
    kind: Literal["shared", "known"],
    budget: Budget,
    *,
    hopeful: bool,
    turns: int,
) -> FittedSum:
    """One fit per layout, all on the same transformed outputs; each goes on once in so many `turns`.

    A `hopeful` model keeps its mean at zero, and hyperparameters of its own. One that was far behind the best sits out
    until its turn to be fitted afresh comes, and is taken to stay as far behind.
    """
    part = thinned(history, max(layout.n_factors for layout in layouts))
    stored_as = f"hopeful_{kind}" if hopeful else kind
    names = _names(stored_as, len(layouts))
    bend = problem.algorithm.transform == "auto"
    power = state.powers.get(stored_as, [1.0])[0] if bend else 1.0
    hypers = [
        Hyperparameters.default(layout).warmed(state.hyperparameters.get(name))
        for name, layout in zip(names, layouts, strict=True)
    ]
    if hopeful:  # the first such ask fits all of them at once, and comes in the midst of a search
        budget = budget.with_fits_of(min(FRESH_EVALUATIONS, budget.fit_evaluations))
    plan = _plan(state, names, history.n_obs, budget, turns)
    bend = bend and plan.allowed[0] > 1  # the power, too, takes its turn
    afresh, evaluations = plan.afresh, 0
    with budget.phase("fit", 0.4) as expired:
        pairs = Pairs(torch.from_numpy(part.X))
        for _ in range(2):
            fit_from = partial(
                fit,
                kernel=problem.algorithm.kernel,
                data=sum_data(part, OutputTransform.fit(part.y, power)),
                pairs=pairs,
                hold_mean=hopeful,
                expired=expired,
            )
            fits = {g: fit_from(layouts[g], start=hypers[g], max_evaluations=plan.allowed[g]) for g in plan.present}
            evaluations += sum(f.evaluations for f in fits.values())
            if afresh is not None and not expired():
                start = Hyperparameters.doubtful(layouts[afresh])
                again = fit_from(layouts[afresh], start=start, max_evaluations=FRESH_EVALUATIONS)
                evaluations += again.evaluations
                fits[afresh] = max(fits[afresh], again, key=lambda f: f.log_posterior)
                afresh = None  # once is enough
            hypers = [fits[g].hyper if g in fits else hyper for g, hyper in enumerate(hypers)]
            best = max(fits, key=lambda g: fits[g].log_posterior)
            better = best_power(problem, layouts[best], hypers[best], part, pairs, power) if bend else power
            if better == power or expired():
                break
            power = better
    top = fits[best].log_posterior
    reached = [fits[g].log_posterior if g in fits else top - gap for g, gap in enumerate(plan.gaps)]
    return FittedSum(
        stored_as, hopeful, hypers, reached, OutputTransform.fit(history.y, power), evaluations, part, pairs
    )


class _Plan(NamedTuple):
    """What each model is due at this ask."""

    allowed: list[int]  # evaluations of its fit
    afresh: int | None  # which one is also fitted from other values than the stored
    gaps: list[float]  # nats it is taken to be behind where it sits out
    present: list[int]  # those that do not


def _plan(state: State, names: Sequence[str], n_obs: int, budget: Budget, turns: int) -> _Plan:
    clock = state.asks + state.asks // EVERY  # or hopeful asks, and the others, would meet the same turns for ever
    allowed = [evaluations_from(state, name, n_obs, budget, (clock + g) % turns == 0) for g, name in enumerate(names)]
    afresh = _afresh(state, names)
    gaps = [0.0 if g == afresh else state.behind.get(name, 0.0) for g, name in enumerate(names)]
    everyone = range(len(names))  # the best may not be among them where only some models are wanted
    return _Plan(allowed, afresh, gaps, [g for g in everyone if gaps[g] <= FAR] or list(everyone))


def _afresh(state: State, names: Sequence[str]) -> int | None:
    """Which of the models, if any, is also fitted from other values than the stored ones at this ask.

    Going on from ask to ask, a fit may stay where much noise explains what short lengthscales explain far better, or
    the other way round: on the histories of one study by 40 nats, for 25 asks.
    """
    if state.asks % FRESH_EVERY:
        return None
    turn = (state.asks // FRESH_EVERY + state.asks // (FRESH_EVERY * EVERY)) % len(names)
    return turn if names[turn] in state.hyperparameters else None


def best_power(
    problem: Problem, layout: Layout, hyper: Hyperparameters, history: History, pairs: Pairs, power: float
) -> float:
    """The output power of largest evidence, Jacobian included, under these hyperparameters.

    The Cholesky factor does not depend on the outputs, so that each power costs t^2. The present one is kept unless
    another gains clearly: the transform should not flicker from ask to ask.
    """
    if history.n_obs < POWER_OBS:
        return power
    y = torch.from_numpy(history.y)
    data = sum_data(history, OutputTransform.fit(history.y, power))
    L = cholesky(PairEvidence(layout, problem.algorithm.kernel, data, pairs).gram(hyper)[0])
    transforms = [OutputTransform.fit(history.y, candidate) for candidate in BENDS]
    residuals = torch.stack([t.forward(y) for t in transforms], 1) - hyper.mean[0]  # t x powers
    misfit = torch.linalg.solve_triangular(L, residuals, upper=False).square().sum(0).tolist()
    scores = {t.power: t.log_jacobian(y) - 0.5 * m for t, m in zip(transforms, misfit, strict=True)}
    best = max(BENDS, key=lambda p: scores[p])
    return best if scores[best] > scores.get(power, -float("inf")) + POWER_GAIN else power
