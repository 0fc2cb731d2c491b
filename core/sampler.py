"""Sample decompositions from their posterior given the data (App. B): Metropolis-Hastings over partitions.

Several chains run from different places (the fully dependent decomposition, the fully independent one, later wherever
they stood), because a single one from the fully dependent start hardly ever draws a good split of many variables. What
all of them visited is then weighed by its posterior (eq. 19).

Most proposals are poor, and a part of the observations is enough to see it: acceptance is delayed (Christen and Fox
2005). A cheap approximation of the posterior decides first, and only what passes is judged by the posterior itself, so
that the chain still samples exactly that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.partition import Partition, draw, kinds, largest, log_ratio


@dataclass(frozen=True)
class Visited:
    """A decomposition, its log evidence and its unnormalised log posterior, and the chain that came by."""

    partition: Partition
    log_evidence: float
    log_posterior: float
    chain: int = 0


@dataclass(frozen=True)
class Chain:
    """Where a chain stands, what it saw on the way, and how often it moved."""

    last: Visited
    visited: list[Visited]  # one entry per step: the state after it
    accepted: int


LogTarget = Callable[[Partition, Partition | None], tuple[float, float]]


def run_chain(
    log_target: LogTarget,
    start: Partition,
    steps: int,
    rng: np.random.Generator,
    *,
    screen: LogTarget | None = None,
    max_factor_size: int | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> Chain:
    """Metropolis-Hastings. `log_target(new, current)` gives (log evidence, log posterior) of `new`, -inf allowed.

    It is asked for the start first, with None. `screen` is its approximation, where there is one. A partition with a
    factor above `max_factor_size` has no mass.
    """
    current = Visited(start, *log_target(start, None))
    at_a_glance = screen(start, None)[1] if screen else 0.0
    visited, accepted = [], 0
    limit = max_factor_size or sum(map(len, start))
    for _ in range(steps if kinds(start) else 0):
        if expired():
            break
        visited.append(current)
        candidate = draw(current.partition, rng)
        u, v = np.log1p(-rng.random(2))
        if largest(candidate) > limit:
            continue
        correction = log_ratio(current.partition, candidate)
        glance = at_a_glance
        if screen:
            glance = screen(candidate, current.partition)[1]
            if not u < glance - at_a_glance + correction:
                continue
            u, correction = v, at_a_glance - glance
        new = Visited(candidate, *log_target(candidate, current.partition))
        if u < new.log_posterior - current.log_posterior + correction:
            visited[-1] = current = new
            at_a_glance, accepted = glance, accepted + 1
    return Chain(current, visited or [current], accepted)


def resample(visited: Sequence[Visited], count: int, rng: np.random.Generator) -> list[tuple[Visited, int]]:
    """`count` draws from the distinct decompositions visited: each of those drawn, with how often it was.

    One draw goes to each of several chains, if there are enough, the others to all by posterior weight.
    """
    distinct = list({(v.chain, v.partition): v for v in visited}.values())
    chains = sorted({v.chain for v in distinct})
    drawn: Counter[Visited] = Counter()
    if 1 < len(chains) < count:
        for chain in chains:
            drawn += _systematic([v for v in distinct if v.chain == chain], 1, rng)
    drawn += _systematic(distinct, count - drawn.total(), rng)
    return sorted(drawn.items(), key=lambda item: _rank(item[0]))


def _rank(v: Visited) -> tuple[float, int, Partition]:
    return -v.log_posterior, v.chain, v.partition


def _systematic(candidates: Sequence[Visited], count: int, rng: np.random.Generator) -> Counter[Visited]:
    """Systematic resampling: one uniform number, so that a weight of w gets its floor(w count) or one more."""
    order = sorted(candidates, key=_rank)
    log_w = np.array([v.log_posterior for v in order])
    # Where no decomposition has any mass (every Cholesky failed), all count the same.
    weight = np.exp(log_w - log_w.max()) if np.isfinite(log_w.max()) else np.ones(len(order))
    edges = np.cumsum(weight / weight.sum())
    picks = np.searchsorted(edges, (np.arange(count) + rng.random()) / count, side="left").clip(max=len(order) - 1)
    return Counter(order[i] for i in picks)
