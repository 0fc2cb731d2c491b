"""Points before the model knows anything, and points that are not to be proposed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from core.errors import SpaceExhausted
from core.parameter import Value
from core.problem import Observation, Problem
from core.space import Point, Space, key, random_points


def initial_trials(problem: Problem) -> int:
    """How many points of the space-filling design come before the first by the model."""
    chosen = problem.algorithm.initial_trials
    return chosen if chosen is not None else min(10, 4 + len(problem.parameters))


class Taken:
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


def initial_points(
    problem: Problem,
    space: Space,
    first: int,
    count: int,
    fixed: Mapping[str, Value],
    taken: Taken,
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
