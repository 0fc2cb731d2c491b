"""Observations as numbers: rows of the unit cube with outputs turned so that larger is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import Fault, InvalidObservation, InvalidPoint
from core.problem import Observation, Problem
from core.space import Array, Point, Space


@dataclass(frozen=True)
class History:
    """t completed observations, and the points that gave no value."""

    X: Array  # t x n_columns
    y: Array  # t
    Y: Array  # t x n_factors; NaN in the rows of a told total
    sem: Array  # t; NaN where none was told
    failed: Array  # points x n_columns
    abandoned: Array  # points x n_columns

    @property
    def n_obs(self) -> int:
        return len(self.y)

    @property
    def has_factors(self) -> NDArray[np.bool_]:
        """t: whether the row was told factor by factor."""
        if self.Y.shape[1] == 0:
            return np.zeros(self.n_obs, dtype=bool)
        return np.asarray(~np.isnan(self.Y).any(axis=1))

    def take(self, rows: NDArray[np.int64]) -> History:
        return History(self.X[rows], self.y[rows], self.Y[rows], self.sem[rows], self.failed, self.abandoned)


def read(problem: Problem, space: Space, observations: Sequence[Observation]) -> History:
    """Check and encode. Repeated inputs are legal and stay: they carry information about the noise."""
    factors = [factor.name for factor in problem.decomposition.factors]
    points: dict[str, list[Point]] = {"completed": [], "failed": [], "abandoned": []}
    y, Y, sem = [], [], []
    for i, observation in enumerate(observations):
        if observation.state not in points:
            raise InvalidObservation([Fault((i, "state"), f"unknown state {observation.state!r}")])
        try:
            points[observation.state].append(problem.check_point(observation.parameters))
            if observation.state != "completed":
                continue
            value, factor_values, error = problem.check_values(
                observation.value, observation.factor_values, observation.sem
            )
        except (InvalidPoint, InvalidObservation) as wrong:
            raise type(wrong)([Fault((i, *fault.loc), fault.msg) for fault in wrong.faults]) from wrong
        y.append(problem.sign * value)
        Y.append([problem.sign * factor_values[name] for name in factors] if factor_values else [np.nan] * len(factors))
        sem.append(np.nan if error is None else error)
    encoded = {state: space.encode(rows) for state, rows in points.items()}
    return History(
        encoded["completed"], np.array(y, dtype=float), np.array(Y, dtype=float).reshape(len(y), len(factors)),
        np.array(sem, dtype=float), encoded["failed"], encoded["abandoned"],
    )  # fmt: skip
