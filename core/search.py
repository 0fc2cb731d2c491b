"""Make good points better under any objective: by exchanging blocks, by a joint polish, among discrete values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from core.ascent import ascend
from core.posterior import FactorPosterior
from core.space import Array, Space

POLISH = 30  # L-BFGS evaluations
LEAST_GAIN = 1e-7  # of phi, in one step of a polish, to go on
LEAST_PROMISE = 1e-3  # the same of the judge's logarithm
EXCHANGE_WORK = 1e5  # covariances to be made in one round of block exchanges
ROUNDS = 3  # of block exchanges


class Objective(Protocol):
    """What can be searched once there is a good point: phi, or the judge of phi's maximisers."""

    @property
    def posterior(self) -> FactorPosterior: ...
    def value(self, x: Tensor) -> Tensor: ...
    def value_and_gradient(self, x: Array) -> tuple[float, Array]: ...


@dataclass(frozen=True)
class Region:
    """Where the search may go: the columns held fixed and at what, and good points to search around."""

    free: Tensor  # n_columns, bool
    at: Tensor  # n_columns: the value of each held column
    incumbents: Tensor  # points x n_columns, best first

    def hold(self, x: Tensor) -> Tensor:
        return torch.where(self.free, x, self.at)


@dataclass(frozen=True)
class Scored:
    """Points (S x n_columns) and what an objective says of them (S)."""

    x: Tensor
    value: Tensor

    @classmethod
    def of(cls, objective: Objective, x: Tensor) -> Scored:
        return cls(x, objective.value(x))

    def then(self, other: Scored) -> Scored:
        return Scored(torch.cat([self.x, other.x]), torch.cat([self.value, other.value]))


def top(value: Tensor, count: int) -> Tensor:
    return torch.argsort(value, descending=True, stable=True)[:count]


def improve(
    objective: Objective,
    space: Space,
    region: Region,
    x: Tensor,
    points: Tensor,
    blocks: Tensor,
    rng: np.random.Generator,
) -> Tensor | None:
    """What x (n_columns) becomes with blocks of these points or of random ones, and a polish; None if nothing helps."""
    donors = region.hold(torch.from_numpy(rng.random((len(points), space.n_columns))))
    mixed = exchange_blocks(objective, blocks, torch.cat([points, donors]), Scored.of(objective, x[None])).x
    if torch.equal(mixed[0], x):
        return None
    candidates = torch.cat(
        [
            settle(objective, space, region, polish(objective, region, mixed[0], least_gain=LEAST_PROMISE)[None]),
            snapped(space, mixed),
        ]
    )
    return candidates[objective.value(candidates).argmax()]


def exchange_blocks(objective: Objective, every: Tensor, points: Tensor, start: Scored) -> Scored:
    """Take over a block (a row of `every`) from another point, the best such exchange first, while that gains."""
    most = min(240.0, EXCHANGE_WORK / objective.posterior.Z[..., 0].numel())
    n_blocks = max(1, int(most) // len(points))
    x, value = start.x, start.value
    for turn in range(ROUNDS):
        blocks = every.roll(-turn * n_blocks, 0)[:n_blocks]  # where there are too many, others every time
        trials = torch.where(blocks[:, None, :], points[None], x[None]).flatten(0, 1)  # blocks * points x n_columns
        new = objective.value(trials)
        best = int(new.argmax())
        if float(new[best]) <= float(value) + 1e-9:
            break
        x, value = trials[best][None], new[best][None]
    return Scored(x, value)


def polish(
    objective: Objective, region: Region, x: Tensor, max_evaluations: int = POLISH, least_gain: float = LEAST_GAIN
) -> Tensor:
    """Joint L-BFGS ascent over the free columns, from x."""
    free = region.free.numpy()
    if not free.any():
        return x
    full = x.numpy().copy()

    def f(u: Array) -> tuple[float, Array]:
        full[free] = u
        value, gradient = objective.value_and_gradient(full)
        return value, gradient[free]

    full[free] = ascend(f, full[free], max_evaluations, least_gain)
    return torch.from_numpy(full)


def snapped(space: Space, x: Tensor) -> Tensor:
    return torch.from_numpy(space.snap(x.numpy()))


def settle(objective: Objective, space: Space, region: Region, x: Tensor) -> Tensor:
    """Snap to valid values; where some parameters are discrete, search among their values and polish the rest."""
    settled = snapped(space, x)
    discrete = [
        j for j, c in enumerate(space.columns) if not space.is_continuous[c].all() and bool(region.free[c].all())
    ]
    if not discrete:
        return settled
    continuous = Region(region.free & torch.from_numpy(space.is_continuous), region.at, region.incumbents)
    found = []
    for row in settled:
        row = _search_discrete(objective, space, discrete, row)
        found.append(polish(objective, continuous, row))
    return snapped(space, torch.stack(found))


def _search_discrete(objective: Objective, space: Space, discrete: list[int], x: Tensor, rounds: int = 20) -> Tensor:
    """Greedy ascent: the best change of one discrete parameter at a time."""
    value = float(objective.value(x[None]))
    for _ in range(rounds):
        trials = torch.from_numpy(np.concatenate([space.neighbors_of(j, x.numpy()) for j in discrete]))
        new = objective.value(trials)
        best = int(new.argmax())
        if float(new[best]) <= value + 1e-9:
            break
        x, value = trials[best], float(new[best])
    return x
