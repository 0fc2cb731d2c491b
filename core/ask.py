"""One entry point: plain data in, a proposal out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from core.budget import Budget
from core.choose import Ask, choose, extended, is_bold, region_of, restlessness
from core.design import Taken, initial_points, initial_trials
from core.errors import CoreError, NumericalError
from core.featured import described
from core.history import read
from core.maximise import Maximum
from core.model import Model, build
from core.parameter import Value
from core.problem import Observation, Problem
from core.release import released
from core.search import Region
from core.space import Array, Point, Space
from core.state import State

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
    taken = Taken(problem, observations, waiting)
    n_initial = max(0, min(count, initial_trials(problem) - n_trials)) if history.n_obs else count
    points = initial_points(problem, space, n_trials, n_initial, held, taken, rng)
    origins = ["initial"] * len(points)
    if len(points) == count:
        return Proposal(points, origins, dict(state) if state else None, {"seconds": budget.spent, "fallbacks": []})
    return _by_model(
        Ask(problem, space, budget, history, stored, held, rng),
        taken,
        waiting,
        points,
        origins,
        count,
    )


def _by_model(
    ask: Ask, taken: Taken, waiting: list[Point], points: list[Point], origins: list[str], count: int
) -> Proposal:
    """Points by the surrogate; where linear algebra fails for good, random ones, labelled so."""
    fallbacks: list[str] = []
    diagnostics: dict[str, Any] = {"seconds": ask.budget.spent, "fallbacks": fallbacks}
    state: dict[str, Any] | None = None
    try:
        model = build(ask.problem, ask.space, ask.history, ask.state, ask.rng, ask.budget)
        state = model.state.to_dict()
        diagnostics |= _describe(model, ask.space)
        with ask.budget.phase("maximise"):
            searches = _search(ask, taken, model, [*waiting, *points], points, origins, count)
        if n_random := origins.count("random"):
            fallbacks.append(f"random: every candidate was taken already, for {n_random} of {count} points")
        diagnostics["admm"] = searches[0] if len(searches) == 1 else searches
    except NumericalError as error:
        fallbacks.append(f"random: {error}")
    while len(points) < count:
        points.append(taken.random(ask.rng, ask.fixed))
        taken.add(points[-1])
        origins.append("random")
    diagnostics["cut_short"] = ask.budget.cut_short
    return Proposal(points, origins, state, diagnostics)


def _describe(model: Model, space: Space) -> dict[str, Any]:
    return {
        "model": model.kind,
        "hopeful": model.hopeful,
        "feature": described(model.posterior, space),
        "log_evidence": [s.log_evidence for s in model.samples],
        "weights": [s.weight for s in model.samples],
        "n_factors": [len(s.factors) for s in model.samples],
        "acceptance_rate": model.acceptance,
        "fit_evaluations": model.evaluations,
        "output_powers": [t.power for t in model.transforms],
    }


def _search(
    ask: Ask,
    taken: Taken,
    model: Model,
    pending: list[Point],
    points: list[Point],
    origins: list[str],
    count: int,
) -> list[dict[str, Any]]:
    """Maximise the acquisition for one point after the other, each conditioned on those before (GP-BUCB)."""
    space = ask.space
    region = region_of(ask)
    awaited = torch.from_numpy(space.encode(pending))
    posterior = extended(ask, model.posterior, awaited)
    searches = []
    probe = released(ask.history, region.free.numpy() & space.is_continuous, model.state.asks, ask.rng)
    restless = restlessness(ask, model)
    while len(points) < count:
        bold = is_bold(ask.state.asks + len(awaited), restless)
        found, beta = choose(ask, model, posterior, region, awaited, bold=bold, restless=restless)
        if probe is not None:
            found, probe = _with_probe(space, region, found, *probe), None
        point, x = _first_new(space, found.x.numpy(), taken, awaited.numpy())
        if point is None:
            point, origin = taken.random(ask.rng, ask.fixed), "random"
            x = space.encode([point])[0]
        else:
            origin = "dumbo"
        taken.add(point)
        points.append(point)
        origins.append(origin)
        searches.append({**found.diagnostics, "beta": beta})
        if len(points) < count:
            posterior = posterior.extended(torch.from_numpy(x)[None])
            awaited = torch.cat([awaited, torch.from_numpy(x)[None]])
    return searches


def _with_probe(space: Space, region: Region, found: Maximum, x: Array, column: int) -> Maximum:
    """The same with a point off a bound put first, and the diagnostics saying of which parameter."""
    names = [name for name, columns in zip(space.problem.names, space.columns, strict=True) for _ in columns]
    first = region.hold(torch.from_numpy(x)[None])
    return replace(found, x=torch.cat([first, found.x]), diagnostics={**found.diagnostics, "released": names[column]})


def _first_new(space: Space, X: Array, taken: Taken, awaited: Array) -> tuple[Point | None, Array]:
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
