"""One entry point: plain data in, a proposal out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core import acquisition
from core.budget import Budget
from core.elsewhere import FIT_EVALUATIONS, impatience, outside
from core.errors import CoreError, NumericalError, SpaceExhausted
from core.history import History, read
from core.improvement import KAPPAS, Improvement, best_by_component, is_negligible
from core.maximise import LONE_LOOK, LOOK, Maximum, maximise, refine
from core.model import Model, build
from core.posterior import FactorPosterior
from core.problem import Observation, Problem, Value
from core.release import released
from core.search import POLISH, Region, improve
from core.space import Array, Point, Space, key, random_points
from core.state import State

RUNNERS_UP = 2  # candidates for each exploration weight whose blocks the judge may put together ...
PARENTS = 4  # ... with those of so many of the best points told
SEPARATION = 1e-3  # of a parameter's range, between a new point and one that is being evaluated


@dataclass(frozen=True)
class Proposal:
    """Points to evaluate next, where each came from, the state to hand back at the next ask, and how it was made."""

    points: list[Point]
    origins: list[str]  # per point: "initial", "dumbo", or the fallback "random"
    state: dict[str, Any] | None  # JSON-able; None leaves the stored state as it was
    diagnostics: dict[str, Any] = field(default_factory=dict)  # JSON-able


def propose(
    problem: Problem,
    observations: Sequence[Observation] = (),
    *,
    pending: Sequence[Mapping[str, Value]] = (),
    state: Mapping[str, Any] | None = None,
    count: int = 1,
    fixed: Mapping[str, Value] | None = None,
    seconds: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Proposal:
    """Propose `count` distinct points.

    >>> from core import Observation, Problem, propose
    >>> problem = Problem.from_dict({"direction": "minimize", "parameters": [
    ...     {"name": n, "type": "float", "bounds": [-5, 5]} for n in "abc"]})
    >>> told, state = [], None
    >>> for _ in range(20):
    ...     ask = propose(problem, told, state=state)
    ...     told += [Observation(x, value=sum(v * v for v in x.values())) for x in ask.points]
    ...     state = ask.state

    `pending` are points being evaluated: their variance is taken as known already, so that new points differ.
    `fixed` holds parameters at a value for this ask. `state` is what the last proposal left. `seconds` bounds the time
    (by `clock`); without it the answer is a function of everything else and of `algorithm.seed` alone.
    """
    if count < 1:
        raise CoreError(f"count must be at least 1, got {count}")
    space = Space(problem)
    budget = Budget(clock, seconds)
    held = problem.check_point(fixed or {}, partial=True)
    waiting = [problem.check_point(point) for point in pending]
    stored = State.from_dict(state, space.n_dims)
    history = read(problem, space, observations)
    n_trials = len(observations) + len(waiting)
    rng = np.random.default_rng([problem.algorithm.seed, n_trials])
    taken = _Taken(problem, observations, waiting)
    n_initial = max(0, min(count, initial_trials(problem) - n_trials)) if history.n_obs else count
    points = _initial_points(problem, space, n_trials, n_initial, held, taken, rng)
    origins = ["initial"] * len(points)
    if len(points) == count:
        return Proposal(points, origins, dict(state) if state else None, {"seconds": budget.spent, "fallbacks": []})
    return _by_model(
        _Ask(problem, space, budget, history, stored, held, taken, rng),
        waiting,
        points,
        origins,
        count,
    )


def initial_trials(problem: Problem) -> int:
    """How many points of the space-filling design come before the first by the model."""
    chosen = problem.algorithm.initial_trials
    return chosen if chosen is not None else min(10, 4 + len(problem.parameters))


class _Taken:
    """Points not to be proposed: running and abandoned ones never, told and failed ones while others are left."""

    def __init__(
        self, problem: Problem, observations: Sequence[Observation], pending: Sequence[Mapping[str, Value]]
    ) -> None:
        self.problem = problem
        self.never = [*pending, *(o.parameters for o in observations if o.state == "abandoned")]
        self.rather_not = [o.parameters for o in observations if o.state != "abandoned"]
        self.keys = {key(problem, p) for p in (*self.never, *self.rather_not)}

    def __contains__(self, point: Point) -> bool:
        return key(self.problem, point) in self.keys

    def add(self, point: Point) -> None:
        self.never.append(point)
        self.keys.add(key(self.problem, point))

    def random(self, rng: np.random.Generator, fixed: Mapping[str, Value]) -> Point:
        """A random point outside; one that was told or failed before, if nothing else is left."""
        try:
            return random_points(self.problem, rng, taken=[*self.never, *self.rather_not], fixed=fixed)[0]
        except SpaceExhausted:
            return random_points(self.problem, rng, taken=self.never, fixed=fixed)[0]


def _initial_points(
    problem: Problem,
    space: Space,
    first: int,
    count: int,
    fixed: Mapping[str, Value],
    taken: _Taken,
    rng: np.random.Generator,
) -> list[Point]:
    """Points number `first`, `first` + 1, ... of a scrambled Sobol sequence that belongs to the study's seed."""
    if not count:
        return []
    held, at = space.fixed_columns(fixed)
    engine = torch.quasirandom.SobolEngine(space.n_columns, scramble=True, seed=problem.algorithm.seed % 2**31)
    if first:
        engine.fast_forward(first)
    rows = engine.draw(count, dtype=torch.float64).numpy()
    points = []
    for point in space.decode(np.where(held, at, rows)):
        if point in taken:
            point = taken.random(rng, fixed)
        taken.add(point)
        points.append(point)
    return points


@dataclass(frozen=True)
class _Ask:
    """Everything one model-based ask works with."""

    problem: Problem
    space: Space
    budget: Budget
    history: History
    state: State
    fixed: dict[str, Value]
    taken: _Taken
    rng: np.random.Generator
    basins: int = 0  # set aside, to look for another optimum


def _by_model(ask: _Ask, waiting: list[Point], points: list[Point], origins: list[str], count: int) -> Proposal:
    """Points by the surrogate; where linear algebra fails for good, random ones, labelled so."""
    fallbacks: list[str] = []
    diagnostics: dict[str, Any] = {"seconds": ask.budget.spent, "fallbacks": fallbacks}
    state: dict[str, Any] | None = None
    try:
        model = build(ask.problem, ask.space, ask.history, ask.state, ask.rng, ask.budget)
        state = model.state.to_dict()
        diagnostics |= _describe(model)
        with ask.budget.phase("maximise"):
            searches = _search(ask, model, [*waiting, *points], points, origins, count)
        if n_random := origins.count("random"):
            fallbacks.append(f"random: every candidate was taken already, for {n_random} of {count} points")
        diagnostics["admm"] = searches[0] if len(searches) == 1 else searches
    except NumericalError as error:
        fallbacks.append(f"random: {error}")
    while len(points) < count:
        points.append(ask.taken.random(ask.rng, ask.fixed))
        ask.taken.add(points[-1])
        origins.append("random")
    diagnostics["cut_short"] = ask.budget.cut_short
    return Proposal(points, origins, state, diagnostics)


def _describe(model: Model) -> dict[str, Any]:
    return {
        "model": model.kind,
        "hopeful": model.hopeful,
        "log_evidence": [s.log_evidence for s in model.samples],
        "weights": [s.weight for s in model.samples],
        "n_factors": [len(s.factors) for s in model.samples],
        "acceptance_rate": model.acceptance,
        "fit_evaluations": model.evaluations,
        "output_powers": [t.power for t in model.transforms],
    }


def _search(
    ask: _Ask, model: Model, pending: list[Point], points: list[Point], origins: list[str], count: int
) -> list[dict[str, Any]]:
    """Maximise the acquisition for one point after the other, each conditioned on those before (GP-BUCB)."""
    space = ask.space
    region = _region(ask)
    awaited = torch.from_numpy(space.encode(pending))
    posterior = _extended(ask, model.posterior, awaited)
    searches = []
    probe = released(ask.history, region.free.numpy() & space.is_continuous, model.state.asks, ask.rng)
    restless = _impatience(ask, model)
    while len(points) < count:
        bold = _is_bold(ask.state.asks + len(awaited), restless)
        found, beta = _maximise(ask, model, posterior, region, awaited, bold=bold, restless=restless)
        if probe is not None:
            found, probe = _with_probe(space, region, found, *probe), None
        point, x = _first_new(space, found.x.numpy(), ask.taken, awaited.numpy())
        if point is None:
            point, origin = ask.taken.random(ask.rng, ask.fixed), "random"
            x = space.encode([point])[0]
        else:
            origin = "dumbo"
        ask.taken.add(point)
        points.append(point)
        origins.append(origin)
        searches.append({**found.diagnostics, "beta": beta})
        if len(points) < count:
            posterior = posterior.extended(torch.from_numpy(x)[None])
            awaited = torch.cat([awaited, torch.from_numpy(x)[None]])
    return searches


def _impatience(ask: _Ask, model: Model) -> float:
    """From 1 on the best value no longer grows. Parts that are learned, and searched, by themselves are left alone."""
    if model.kind == "separate" and int(model.posterior.layout.components.max()) > 0:
        return 0.0
    return impatience(ask.history.y, ask.state.asks, ask.basins)


def _is_bold(asks: int, restless: float) -> bool:
    """Every fourth ask is, two by two since the chains' turns go one by one; more of them the longer nothing grows.

    They are taken from those that are not hopeful (`core.hope`) and follow the fitted model, which no longer gains; but
    never all of them.
    """
    pair = asks // 2
    return pair % 2 == 0 and pair // 2 % 2 ** (1 + int(math.log2(max(1.0, restless)))) != 0


def _maximise(
    ask: _Ask,
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
        if bold and restless >= 1.0 and (other := _maximise_elsewhere(ask, model, awaited, restless)) is not None:
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
        other = _maximise_elsewhere(ask, model, awaited, restless)
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


def _maximise_elsewhere(
    ask: _Ask, model: Model, awaited: Tensor, restless: float
) -> tuple[Maximum, float | list[float]] | None:
    """As `_maximise`, outside the basin of the best point; None where there is nothing to go by, or no time."""
    rest = outside(ask.history, model, restless)
    if rest is None or ask.budget.until(0.4)():
        return None
    budget = ask.budget.with_fits_of(FIT_EVALUATIONS)
    ask = replace(ask, history=rest, state=State(asks=ask.state.asks), budget=budget, basins=ask.basins + 1)
    try:
        model = build(ask.problem, ask.space, rest, ask.state, ask.rng, budget)
        posterior = _extended(ask, model.posterior, awaited)
        restless = _impatience(ask, model)
        found, beta = _maximise(ask, model, posterior, _region(ask), awaited, bold=True, restless=restless)
    except NumericalError:
        return None  # what was found here is still an answer
    return replace(found, diagnostics={"elsewhere": ask.basins, **found.diagnostics}), beta


def _with_probe(space: Space, region: Region, found: Maximum, x: Array, column: int) -> Maximum:
    """The same with a point off a bound put first, and the diagnostics saying of which parameter."""
    names = [name for name, columns in zip(space.problem.names, space.columns, strict=True) for _ in columns]
    first = region.hold(torch.from_numpy(x)[None])
    return replace(found, x=torch.cat([first, found.x]), diagnostics={**found.diagnostics, "released": names[column]})


def _extended(ask: _Ask, posterior: FactorPosterior, awaited: Tensor) -> FactorPosterior:
    """The posterior with the variances that are left once the points being evaluated and those given up are known."""
    known = torch.cat([awaited, torch.from_numpy(ask.history.abandoned)])
    return posterior.extended(known) if len(known) else posterior


def _first_new(space: Space, X: Array, taken: _Taken, awaited: Array) -> tuple[Point | None, Array]:
    """The best candidate that is not taken, rather one that is not all but equal to a point being evaluated."""
    fallback = None
    for x in X:
        [point] = space.decode(x[None])
        if point in taken:
            continue
        if not len(awaited) or np.abs(awaited - x).max(axis=1).min() >= SEPARATION:
            return point, x
        fallback = fallback or (point, x)
    return fallback or (None, X[0])


def _region(ask: _Ask) -> Region:
    held, at = ask.space.fixed_columns(ask.fixed)
    best = np.argsort(-ask.history.y, kind="stable")[:8]
    incumbents = torch.from_numpy(np.where(held, at, ask.history.X[best]))
    return Region(torch.from_numpy(~held), torch.from_numpy(at), incumbents)
