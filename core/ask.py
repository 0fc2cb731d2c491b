"""One entry point: plain data in, a proposal out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from core.batch import Batch, search
from core.budget import Budget
from core.choose import Ask
from core.design import Taken, initial_points, initial_trials
from core.errors import CoreError, NumericalError
from core.featured import described
from core.history import read
from core.model import Model, build
from core.parameter import Value
from core.problem import Observation, Problem
from core.space import Point, Space
from core.state import State


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

    Several points are those of as many asks in a row, each pending when the next is made.

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
    first = len(observations) + len(waiting)
    taken = Taken(problem, observations, waiting)
    n_initial = max(0, min(count, initial_trials(problem) - first)) if history.n_obs else count
    points = initial_points(problem, space, first, n_initial, held, taken, _rng(problem, first))
    batch = Batch(first, count, waiting, taken, points, ["initial"] * n_initial)
    if not batch.left:
        return Proposal(points, batch.origins, dict(state) if state else None, {"seconds": {}, "fallbacks": []})
    return _by_model(Ask(problem, space, budget, history, stored, held, _rng(problem, batch.next)), batch)


def _rng(problem: Problem, number: int) -> np.random.Generator:
    """The random numbers for the trial of this number."""
    return np.random.default_rng([problem.algorithm.seed, number])


def _by_model(ask: Ask, batch: Batch) -> Proposal:
    """Points by the surrogate; where linear algebra fails for good, random ones, labelled so.

    They are made as if asked for one after the other: models take turns from ask to ask, and several points of the same
    one are too much alike. Where a model takes more than half of a point's share of the time, it serves for the rest.
    """
    whole, several = ask.budget, batch.left > 1
    fallbacks: list[str] = []
    diagnostics: dict[str, Any] = {"seconds": whole.spent, "fallbacks": fallbacks}
    state = None
    try:
        while left := batch.left:
            begin = whole.clock()
            model = build(ask.problem, ask.space, ask.history, ask.state, ask.rng, ask.budget)
            state, facts = model.state, _describe(model, ask.space)
            diagnostics |= facts
            count = 1 if whole.allows(2 * left * (whole.clock() - begin)) else left
            with ask.budget.phase("maximise"):
                search(ask, model, batch, count, facts if several else {})
            ask = replace(ask, state=state, rng=_rng(ask.problem, batch.next), budget=whole.share(max(1, batch.left)))
        if n_random := batch.origins.count("random"):
            fallbacks.append(f"random: every candidate was taken already, for {n_random} of {batch.count} points")
    except NumericalError as error:
        fallbacks.append(f"random: {error}")
    while batch.left:
        batch.add_random(ask.rng, ask.fixed)
    diagnostics["admm"] = batch.searches if several else batch.searches[0]
    diagnostics["cut_short"] = list(dict.fromkeys(whole.cut_short))
    return Proposal(batch.points, batch.origins, state.to_dict() if state else None, diagnostics)


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
