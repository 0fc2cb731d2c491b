"""Which point an ask proposes: phi's maximiser for one of several exploration weights, here or elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from core import acquisition
from core.budget import Budget
from core.elsewhere import FIT_EVALUATIONS, impatience, outside
from core.errors import NumericalError
from core.history import History
from core.improvement import KAPPAS, Improvement, best_by_component, is_negligible
from core.maximise import LONE_LOOK, LOOK, Maximum, maximise, refine
from core.model import Model, build
from core.parameter import Value
from core.posterior import FactorPosterior
from core.problem import Problem
from core.search import POLISH, Region, improve
from core.space import Space
from core.state import State

RUNNERS_UP = 2  # candidates for each exploration weight whose blocks the judge may put together ...
PARENTS = 4  # ... with those of so many of the best points told


@dataclass(frozen=True)
class Ask:
    """Everything one model-based ask works with."""

    problem: Problem
    space: Space
    budget: Budget
    history: History
    state: State
    fixed: dict[str, Value]
    rng: np.random.Generator
    basins: int = 0  # set aside, to look for another optimum


def region_of(ask: Ask) -> Region:
    held, at = ask.space.fixed_columns(ask.fixed)
    best = np.argsort(-ask.history.y, kind="stable")[:8]
    incumbents = torch.from_numpy(np.where(held, at, ask.history.X[best]))
    return Region(torch.from_numpy(~held), torch.from_numpy(at), incumbents)


def extended(ask: Ask, posterior: FactorPosterior, awaited: Tensor) -> FactorPosterior:
    """The posterior with the variances that are left once the points being evaluated and those given up are known."""
    known = torch.cat([awaited, torch.from_numpy(ask.history.abandoned)])
    return posterior.extended(known) if len(known) else posterior


def restlessness(ask: Ask, model: Model) -> float:
    """From 1 on the best value no longer grows. Parts that are learned, and searched, by themselves are left alone."""
    if model.kind == "separate" and int(model.posterior.layout.components.max()) > 0:
        return 0.0
    return impatience(ask.history.y, ask.state.asks, ask.basins)


def is_bold(asks: int, restless: float) -> bool:
    """Every fourth ask is, two by two since the chains' turns go one by one; more of them the longer nothing grows.

    They are taken from those that are not hopeful (`core.hope`) and follow the fitted model, which no longer gains; but
    never all of them.
    """
    pair = asks // 2
    return pair % 2 == 0 and pair // 2 % 2 ** (1 + int(math.log2(max(1.0, restless)))) != 0


def choose(
    ask: Ask,
    model: Model,
    posterior: FactorPosterior,
    region: Region,
    awaited: Tensor,
    *,
    bold: bool,
    restless: float,
) -> tuple[Maximum, float | list[float]]:
    """Maximise phi with the study's exploration weight, or with the one that promises the largest improvement.

    `awaited` are the points being evaluated: to improve is to improve on what is hoped of them, too. A `bold` ask goes
    elsewhere if little is to be gained here, or if it is `restless` (from 1 on). Gives what was found and beta, one for
    each component where those were judged by themselves.
    """
    chosen, space = ask.problem.algorithm.beta, ask.space
    n_seen = ask.history.n_obs + len(awaited)
    kappas: tuple[float, ...] = KAPPAS
    if chosen != "auto":
        kappas = (math.sqrt(acquisition.beta(chosen, space.n_dims, n_seen, space.log_size(ask.fixed))),)
    phi = acquisition.build(posterior, model.gain, kappas[0], ask.problem.algorithm.neighborhood)
    look = POLISH
    if len(kappas) > 1 and model.kind != "separate":
        look = LONE_LOOK if phi.layout.separates else LOOK
    found = maximise(phi, space, region, ask.rng, kappas=kappas, evaluations=look, expired=ask.budget.until(0.9))
    if len(found) == 1:
        return found[0], kappas[0] ** 2
    best = torch.stack([f.x[0] for f in found])
    if model.kind == "separate":
        if bold and restless >= 1.0 and (other := _choose_elsewhere(ask, model, awaited, restless)) is not None:
            return other
        seen = torch.cat([torch.from_numpy(ask.history.X), awaited])
        mixed, chosen_rows = best_by_component(posterior, model.gain, best, seen, bold=bold)
        first = found[chosen_rows[0]]
        return replace(first, x=torch.cat([mixed[None], first.x])), [kappas[i] ** 2 for i in chosen_rows]
    judge = Improvement.over(posterior, model.model_weights(), torch.cat([region.incumbents, awaited]))
    promise = judge.value(best)
    winner = int(promise.argmax())
    spent = is_negligible(promise)
    if bold and (spent or restless >= 1.0):
        other = _choose_elsewhere(ask, model, awaited, restless)
        if other is not None:
            return other
    if bold and spent:
        winner = len(kappas) - 1
    else:
        points = torch.cat([*(f.x[:RUNNERS_UP] for f in found), region.incumbents[:PARENTS]])
        better = improve(judge, space, region, best[winner], points, model.blocks, ask.rng)
        if better is not None:
            return replace(found[winner], x=torch.cat([better[None], found[winner].x])), kappas[winner] ** 2
    return refine(phi.weighing(kappas[winner]), space, region, found[winner]), kappas[winner] ** 2


def _choose_elsewhere(
    ask: Ask, model: Model, awaited: Tensor, restless: float
) -> tuple[Maximum, float | list[float]] | None:
    """As `choose`, outside the basin of the best point; None where there is nothing to go by, or no time."""
    rest = outside(ask.history, model, restless)
    if rest is None or ask.budget.until(0.4)():
        return None
    budget = ask.budget.with_fits_of(FIT_EVALUATIONS)
    ask = replace(ask, history=rest, state=State(asks=ask.state.asks), budget=budget, basins=ask.basins + 1)
    try:
        model = build(ask.problem, ask.space, rest, ask.state, ask.rng, budget)
        posterior = extended(ask, model.posterior, awaited)
        restless = restlessness(ask, model)
        found, beta = choose(ask, model, posterior, region_of(ask), awaited, bold=True, restless=restless)
    except NumericalError:
        return None  # what was found here is still an answer
    return replace(found, diagnostics={"elsewhere": ask.basins, **found.diagnostics}), beta
