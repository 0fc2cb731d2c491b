"""The points of one ask as they come, each chosen in the light of those before."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from core.choose import Ask, choose, extended, is_bold, region_of, restlessness
from core.design import Taken
from core.maximise import Maximum
from core.model import Model
from core.parameter import Value
from core.prediction import expected
from core.release import released
from core.search import Region
from core.space import Array, Point, Space

SEPARATION = 1e-3  # of a parameter's range, between a new point and one that is being evaluated


@dataclass
class Batch:
    """The points so far, where each came from ("initial", "dumbo", "random"), and how the model found it."""

    first: int  # number of the first trial
    count: int  # wanted
    waiting: list[Point]  # given out before, and being evaluated
    taken: Taken
    points: list[Point]
    origins: list[str]
    searches: list[dict[str, Any] | None] = field(default_factory=list)  # of points after those of the design

    @property
    def next(self) -> int:
        """The number of the trial that comes next."""
        return self.first + len(self.points)

    @property
    def left(self) -> int:
        return self.count - len(self.points)

    def add(self, point: Point, origin: str, search: dict[str, Any] | None) -> None:
        self.taken.add(point)
        self.points.append(point)
        self.origins.append(origin)
        self.searches.append(search)

    def add_random(self, rng: np.random.Generator, fixed: Mapping[str, Value]) -> None:
        """A point that no search was made for."""
        self.add(self.taken.random(rng, fixed), "random", None)


def search(ask: Ask, model: Model, batch: Batch, count: int, facts: Mapping[str, Any]) -> None:
    """Add `count` points that maximise the model's acquisition, each conditioned on those before (GP-BUCB)."""
    space, region = ask.space, region_of(ask)
    awaited = torch.from_numpy(space.encode([*batch.waiting, *batch.points]))
    posterior = extended(ask, model.posterior, awaited)
    probe = released(ask.history, region.free.numpy() & space.is_continuous, model.state.asks, ask.rng)
    restless = restlessness(ask, model)
    for turn in range(count):
        bold = is_bold(ask.state.asks + turn, restless)
        found, beta = choose(ask, model, posterior, region, awaited, bold=bold, restless=restless)
        if probe is not None:
            found, probe = _with_probe(space, region, found, *probe), None
        point, x = _first_new(space, found.x.numpy(), batch.taken, awaited.numpy())
        origin = "dumbo"
        if point is None:
            point, origin = batch.taken.random(ask.rng, ask.fixed), "random"
            x = space.encode([point])[0]
        batch.add(point, origin, {**facts, **found.diagnostics, "beta": beta, "expected": _expected(ask, model, x)})
        if turn + 1 < count:
            posterior = posterior.extended(torch.from_numpy(x)[None])
            awaited = torch.cat([awaited, torch.from_numpy(x)[None]])


def _expected(ask: Ask, model: Model, x: Array) -> dict[str, float] | None:
    """What the model of all observations expects of a measurement there; None where values are too large to say."""
    mean, sd = expected(ask.problem, model, torch.from_numpy(x))
    return {"mean": mean, "sd": sd} if math.isfinite(mean) and math.isfinite(sd) else None


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
