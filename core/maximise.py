"""Find the point of largest acquisition: starts, ADMM, recombination, joint polish, and a search over discrete values.

phi is a sum over the connected components of its factor graph, so that the best start may be picked for every component
by itself; within a component, blocks are exchanged between starts while that gains. ADMM's consensus is judged by the
true phi and polished jointly by L-BFGS; what the polish gains is reported, because it is the honest measure of how
well ADMM did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from core.acquisition import Acquisition
from core.admm import AdmmResult, admm
from core.ascent import ascend
from core.layout import Layout
from core.posterior import FactorPosterior
from core.space import Array, Space

POOL = 64
NEAR_STARTS = 3
FAR_STARTS = 4
POLISHED = 3
POLISH = 30  # L-BFGS evaluations
LOOK = 6  # those before several weights are compared; only the chosen one is polished to the end
LEAST_GAIN = 1e-7  # of phi, in one step of a polish, to go on
LEAST_PROMISE = 1e-3  # the same of the judge's logarithm
FULL_EFFORT = 1e4  # covariances of a point with the data, over all factors, up to which nothing is spared
EXCHANGE_WORK = 1e5  # covariances to be made in one round of block exchanges
SPARE = 8  # points of the pool kept as candidates, in case the best ones are taken
DONORS = 12  # random points whose blocks are tried in place of those of the best
ROUNDS = 3  # of block exchanges


class Objective(Protocol):
    """What can be searched once there is a good point: phi, or the judge of phi's maximisers."""

    @property
    def posterior(self) -> FactorPosterior: ...
    @property
    def layout(self) -> Layout: ...
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
class Maximum:
    """Candidates, best first, with their acquisition values, and how they were found."""

    x: Tensor  # candidates x n_columns; each decodes to itself
    value: Tensor
    diagnostics: dict[str, Any]


def maximise(
    acquisition: Acquisition,
    space: Space,
    region: Region,
    rng: np.random.Generator,
    *,
    kappas: Sequence[float],
    iterations: int = 10,
    evaluations: int = POLISH,
    expired: Callable[[], bool] = lambda: False,
) -> list[Maximum]:
    """The best points found for phi with each exploration weight, from one batch of starts for all of them."""
    thrift = _thrift(acquisition)
    n_far = max(8, POOL // thrift)
    pool = _pool(space, region, rng, n_far)
    mean, spread = acquisition.terms(pool)
    effort = len(kappas) * thrift  # several weights share the starts
    terms = [mean + kappa * spread for kappa in kappas]  # n x P each
    starts = [_starts(acquisition, region, pool, n_far, part, effort) for part in terms]
    weights = torch.tensor(kappas, dtype=torch.float64).repeat_interleave(len(starts[0][0]))
    result = admm(
        acquisition.weighing(weights),
        torch.cat([x for x, _ in starts]),
        free=region.free,
        x_local=torch.cat([x_local for _, x_local in starts], 1),
        max_iterations=-(-iterations // effort),
        local_steps=3,
        expired=expired,
    )
    n_starts = len(starts[0][0])
    ends = zip(result.consensus.split(n_starts), result.value.split(n_starts), strict=True)
    new = pool[len(region.incumbents) :]  # the incumbents themselves are no news
    return [
        _finish(
            acquisition.weighing(kappa),
            space,
            region,
            new[_top(part.sum(0)[-len(new) :], SPARE)],
            pool[-(DONORS // len(kappas)) :],
            consensus,
            value,
            result,
            polished=-(-POLISHED // len(kappas)),
            evaluations=evaluations,
        )
        for kappa, part, (consensus, value) in zip(kappas, terms, ends, strict=True)
    ]


def _finish(
    acquisition: Acquisition,
    space: Space,
    region: Region,
    spare: Tensor,
    donors: Tensor,
    consensus: Tensor,
    by_admm: Tensor,
    result: AdmmResult,
    *,
    polished: int,
    evaluations: int,
) -> Maximum:
    """Recombine what ADMM found, polish the best of it, settle on valid points; `spare` ones end the list."""
    mixed = recombine(acquisition, consensus, donors)
    ends = torch.cat([mixed, consensus])
    best = _top(torch.cat([acquisition.value(mixed), by_admm]), polished)
    better = torch.stack([polish(acquisition, region, ends[i], evaluations) for i in best])
    found = _settle(acquisition, space, region, better)
    candidates = torch.cat([found, _snapped(space, torch.cat([ends, spare]))])
    value = acquisition.value(candidates)
    order = _top(value, len(value))
    return Maximum(candidates[order], value[order], _report(result, float(by_admm.max()), float(value.max())))


def refine(acquisition: Acquisition, space: Space, region: Region, found: Maximum) -> Maximum:
    """Polish the best candidate to the end; it goes first if that gained."""
    x = _settle(acquisition, space, region, polish(acquisition, region, found.x[0])[None])
    value = acquisition.value(x)
    if float(value) <= float(found.value[0]):
        return found
    report = {**found.diagnostics, "acquisition_polished": float(value)}
    return Maximum(torch.cat([x, found.x]), torch.cat([value, found.value]), report)


def improve(
    objective: Objective, space: Space, region: Region, x: Tensor, points: Tensor, rng: np.random.Generator
) -> Tensor | None:
    """What x (n_columns) becomes with blocks of these points or of random ones, and a polish; None if nothing helps."""
    donors = region.hold(torch.from_numpy(rng.random((len(points), space.n_columns))))
    mixed = _exchange_blocks(objective, torch.cat([points, donors]), x[None])
    if torch.equal(mixed[0], x):
        return None
    candidates = torch.cat(
        [
            _settle(objective, space, region, polish(objective, region, mixed[0], least_gain=LEAST_PROMISE)[None]),
            _snapped(space, mixed),
        ]
    )
    return candidates[objective.value(candidates).argmax()]


def _report(result: AdmmResult, by_admm: float, polished: float) -> dict[str, Any]:
    return {
        "iterations": result.iterations,
        "primal_residuals": result.primal_residuals,
        "dual_residuals": result.dual_residuals,
        "stopped_by": result.stopped_by,
        "acquisition_admm": by_admm,
        "acquisition_polished": polished,
    }


def _thrift(acquisition: Acquisition) -> int:
    """1 as long as the factors' covariances with the data are few; so many times less of everything beyond."""
    return 1 + int(acquisition.posterior.Z[..., 0].numel() / FULL_EFFORT)


def _pool(space: Space, region: Region, rng: np.random.Generator, size: int) -> Tensor:
    """Good points, variations of them in a few coordinates each, and as many points anywhere as `size` says."""
    anywhere = torch.from_numpy(rng.random((size, space.n_columns)))
    near = region.incumbents[:4].repeat(size // 8, 1)
    moves = torch.from_numpy(rng.random(near.shape)) < max(0.3, min(1.0, 10.0 / space.n_columns))
    step = torch.from_numpy(rng.normal(0.0, 0.1, near.shape))
    varied = (near + step * moves).clamp(0.0, 1.0)
    return region.hold(torch.cat([region.incumbents, varied, anywhere]))


def _starts(
    acquisition: Acquisition, region: Region, pool: Tensor, n_far: int, terms: Tensor, effort: int
) -> tuple[Tensor, Tensor]:
    """The best near good points, the best anywhere, and a start where every factor begins at its own favourite.

    The pool ends with n_far points anywhere; `terms` are every factor's parts of phi over it (n x P). Gives the starts
    (S x n_columns) and where every factor begins (n x S x m).
    """
    value = terms.sum(0)
    near, far = value[:-n_far], value[-n_far:]
    best = torch.cat(
        [pool[_top(near, max(1, NEAR_STARTS // effort))], pool[len(near) + _top(far, max(1, FAR_STARTS // effort))]]
    )
    layout = acquisition.layout
    favourite = layout.gather(pool)[torch.arange(layout.n_factors), terms.argmax(1)][:, None, :]  # n x 1 x m
    total = torch.zeros(pool.shape[1], dtype=pool.dtype)
    count = torch.zeros_like(total).index_add_(0, layout.columns.flatten(), layout.mask.flatten())
    total.index_add_(0, layout.columns.flatten(), (favourite[:, 0] * layout.mask).flatten())
    assembled = region.hold((total / count.clamp(min=1.0))[None])
    held = torch.where(region.free[layout.columns], favourite[:, 0], region.at[layout.columns])[:, None, :]
    return torch.cat([best, assembled]), torch.cat([layout.gather(best), held], 1)


def _top(value: Tensor, count: int) -> Tensor:
    return torch.argsort(value, descending=True, stable=True)[:count]


def recombine(acquisition: Acquisition, points: Tensor, donors: Tensor) -> Tensor:
    """1 x n_columns: the best mixture: by component where phi separates, then by blocks of the points and donors."""
    layout = acquisition.layout
    mean, spread = acquisition.terms(points)
    terms = mean + acquisition.kappa * spread
    per_component = terms.new_zeros(int(layout.components.max()) + 1, len(points))
    best_of = per_component.index_add_(0, layout.components, terms).argmax(1)  # component -> point
    component_of = layout.components[layout.uses.int().argmax(0)]  # column -> that of its first factor
    x = points[best_of[component_of], torch.arange(points.shape[1])][None]
    return _exchange_blocks(acquisition, torch.cat([points, donors]), x)


def _exchange_blocks(objective: Objective, points: Tensor, x: Tensor) -> Tensor:
    """Take over the block of one factor from another point, the best such exchange first, while that gains."""
    most = min(240.0, EXCHANGE_WORK / objective.posterior.Z[..., 0].numel())
    every = objective.layout.blocks
    n_blocks = max(1, int(most) // len(points))
    value = objective.value(x)
    for turn in range(ROUNDS):
        blocks = every.roll(-turn * n_blocks, 0)[:n_blocks]  # where there are too many, others every time
        trials = torch.where(blocks[:, None, :], points[None], x[None]).flatten(0, 1)  # blocks * points x n_columns
        new = objective.value(trials)
        best = int(new.argmax())
        if float(new[best]) <= float(value) + 1e-9:
            break
        x, value = trials[best][None], new[best][None]
    return x


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


def _snapped(space: Space, x: Tensor) -> Tensor:
    return torch.from_numpy(space.snap(x.numpy()))


def _settle(objective: Objective, space: Space, region: Region, x: Tensor) -> Tensor:
    """Snap to valid values; where some parameters are discrete, search among their values and polish the rest."""
    settled = _snapped(space, x)
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
    return _snapped(space, torch.stack(found))


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
