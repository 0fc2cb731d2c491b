"""Find the point of largest acquisition: starts, ADMM, recombination, joint polish.

phi is a sum over the connected components of its factor graph, so that the best start may be picked for every component
by itself; within a component, blocks are exchanged between starts while that gains. ADMM's consensus is judged by the
true phi and polished jointly by L-BFGS; what the polish gains is reported, because it is the honest measure of how
well ADMM did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.acquisition import Acquisition
from core.admm import AdmmResult, admm
from core.search import POLISH, Region, Scored, exchange_blocks, polish, settle, snapped, top
from core.space import Space

POOL = 64
NEAR_STARTS = 3
FAR_STARTS = 4
STEPS = 3  # of a factor's ascent in one round of ADMM ...
LONE_STEPS = 8  # ... and where there is only one round
POLISHED = 3
LOOK = 6  # those before several weights are compared; only the chosen one is polished to the end ...
LONE_LOOK = 0  # ... where factors share nothing, ADMM was such an ascent already
FULL_EFFORT = 1e4  # covariances of a point with the data, over all factors, up to which nothing is spared
SPARE = 8  # points of the pool kept as candidates, in case the best ones are taken
DONORS = 12  # random points whose blocks are tried in place of those of the best


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
        # Factors that share nothing have nothing to agree on: one round of ascent.
        max_iterations=1 if acquisition.layout.separates else -(-iterations // effort),
        local_steps=LONE_STEPS if acquisition.layout.separates else STEPS,
        expired=expired,
    )
    mean_there, spread_there = acquisition.terms(result.consensus)
    n_starts, donors = len(starts[0][0]), pool[-(DONORS // len(kappas)) :]
    found = []
    for w, (kappa, part) in enumerate(zip(kappas, terms, strict=True)):
        mine = slice(w * n_starts, (w + 1) * n_starts)
        by_admm = Scored(result.consensus[mine], result.value[mine])
        there = torch.cat([mean_there[:, mine] + kappa * spread_there[:, mine], part[:, -len(donors) :]], 1)
        weighted = acquisition.weighing(kappa)
        ends = recombine(weighted, torch.cat([by_admm.x, donors]), there).then(by_admm)
        value = part.sum(0)
        value[: len(region.incumbents)] = -torch.inf  # the incumbents themselves are no news
        spare = top(value, SPARE)
        polished = -(-POLISHED // len(kappas)) if evaluations else 0
        best = _finish(weighted, space, region, ends, Scored(pool[spare], value[spare]), polished, evaluations)
        report = _report(result, float(by_admm.value.max()), float(best.value[0]))
        found.append(Maximum(best.x, best.value, report))
    return found


def _finish(
    acquisition: Acquisition,
    space: Space,
    region: Region,
    ends: Scored,
    spare: Scored,
    polished: int,
    evaluations: int,
) -> Scored:
    """Polish the best of what was found and settle on valid points, best first; `spare` ones are candidates, too."""
    every = ends.then(spare)
    if not space.is_continuous.all():
        polished = max(1, polished)
        every = Scored.of(acquisition, snapped(space, every.x))
    if polished:
        better = torch.stack([polish(acquisition, region, ends.x[i], evaluations) for i in top(ends.value, polished)])
        every = Scored.of(acquisition, settle(acquisition, space, region, better)).then(every)
    order = top(every.value, len(every.value))
    return Scored(every.x[order], every.value[order])


def refine(acquisition: Acquisition, space: Space, region: Region, found: Maximum) -> Maximum:
    """Polish the best candidate to the end; it goes first if that gained."""
    x = settle(acquisition, space, region, polish(acquisition, region, found.x[0])[None])
    value = acquisition.value(x)
    if float(value) <= float(found.value[0]):
        return found
    report = {**found.diagnostics, "acquisition_polished": float(value)}
    return Maximum(torch.cat([x, found.x]), torch.cat([value, found.value]), report)


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
        [pool[top(near, max(1, NEAR_STARTS // effort))], pool[len(near) + top(far, max(1, FAR_STARTS // effort))]]
    )
    layout = acquisition.layout
    favourite = pool[terms.argmax(1)].gather(1, layout.columns)  # n x m
    total = torch.zeros(pool.shape[1], dtype=pool.dtype)
    count = torch.zeros_like(total).index_add_(0, layout.columns.flatten(), layout.mask.flatten())
    total.index_add_(0, layout.columns.flatten(), (favourite * layout.mask).flatten())
    assembled = region.hold((total / count.clamp(min=1.0))[None])
    held = torch.where(region.free[layout.columns], favourite, region.at[layout.columns])[:, None, :]
    return torch.cat([best, assembled]), torch.cat([layout.gather(best), held], 1)


def recombine(acquisition: Acquisition, points: Tensor, terms: Tensor) -> Scored:
    """The best mixture of points, given every factor's parts of phi there (n x S): by component, then by blocks."""
    layout = acquisition.layout
    per_component = terms.new_zeros(int(layout.components.max()) + 1, len(points))
    best, best_of = per_component.index_add_(0, layout.components, terms).max(1)  # component -> point
    component_of = layout.components[layout.uses.int().argmax(0)]  # column -> that of its first factor
    mixed = Scored(points[best_of[component_of], torch.arange(points.shape[1])][None], best.sum()[None])
    # Where every component is one factor, nothing more can be gained by exchanging blocks.
    return mixed if layout.separates else exchange_blocks(acquisition, layout.blocks, points, mixed)
