"""Sample decompositions from their posterior given the data (App. B): Metropolis-Hastings over partitions.

Lengthscales, signal and noise variance are shared by all decompositions of a chain, so that a proposal costs the
covariances of the blocks it changes and one Cholesky. Several chains run from different places (the fully dependent
decomposition, the fully independent one, later wherever they stood), because a single one from the fully dependent
start hardly ever draws a good split of many variables. What all of them visited is then weighed by its posterior
(eq. 19).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from scipy.linalg.lapack import dpotrf, dtrtrs
from torch import Tensor

from core.errors import NumericalError
from core.evidence import Data, cholesky, gaussian_log_density
from core.hyper import Hyperparameters
from core.kernels import covariance
from core.pairs import Pairs
from core.partition import Partition, draw, kinds, largest, log_probability
from core.problem import Kernel
from core.space import Array, Space

CACHE_ENTRIES = 25_000_000  # numbers kept in cached block covariances


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


class Evidence:
    """The log evidence of any partition under given hyperparameters, from cached block covariances.

    Gram matrices are vectors of P entries, one per pair of observations; every block's variance is proportional to its
    size, so that the diagonal is the same for all partitions.
    """

    def __init__(
        self, space: Space, hyper: Hyperparameters, kernel: Kernel, data: Data, pairs: Pairs | None = None
    ) -> None:
        self.kernel = kernel
        self.pairs = pairs or Pairs(data.X)
        self.columns = space.columns
        self.precision = torch.cat(
            [torch.exp(-2.0 * hyper.log_lengthscale[j]).expand(len(c)) for j, c in enumerate(space.columns)]
        )
        scale = torch.exp(hyper.log_scale[0])
        self.unit = float(scale) / space.n_dims
        given = data.given_noise
        self.diagonal = scale + torch.where(given.isnan(), torch.exp(hyper.log_noise[0]), given)
        self.residual = data.Y[0] - hyper.mean[0]
        self.cache: dict[tuple[int, ...], Tensor] = {}
        self.distances: dict[tuple[int, ...], Tensor] = {}  # P: of blocks met lately
        self.max_blocks = max(8, CACHE_ENTRIES // max(1, 2 * len(self.pairs)))

    def block(self, members: tuple[int, ...]) -> Tensor:
        """P: the block's covariances, its variance proportional to its size."""
        if members not in self.cache:
            mean = self._distances(members) / len(members)
            self._keep(self.cache, members, covariance(self.kernel, mean).mul_(self.unit * len(members)))
        return self.cache[members]

    def _keep(self, cache: dict[tuple[int, ...], Tensor], members: tuple[int, ...], value: Tensor) -> None:
        if len(cache) >= self.max_blocks:
            del cache[next(iter(cache))]
        cache[members] = value

    def _distances(self, members: tuple[int, ...]) -> Tensor:
        """P: squared, scaled, the sum over the block's variables."""
        if members not in self.distances:
            self._keep(self.distances, members, self._fresh_distances(members))
        return self.distances[members]

    def _fresh_distances(self, members: tuple[int, ...]) -> Tensor:
        D = self.pairs.D
        columns = [c for j in members for c in self.columns[j]]
        weight = self.precision[columns]
        if 4 * len(columns) < len(D):
            s = weight[0] * D[columns[0]]
            for w, c in zip(weight[1:], columns[1:], strict=True):
                s.addcmul_(w, D[c])
            return s
        # A wide block: one pass over all columns is quicker than copying its own.
        return D.new_zeros(len(D)).index_put_((torch.tensor(columns),), weight) @ D

    def _derive_distances(self, gone: list[tuple[int, ...]], come: list[tuple[int, ...]]) -> None:
        """Distances of the blocks that come add up to those of the blocks that go: the widest needs no pass over D."""
        widest = max(come, key=len)
        if widest in self.cache or any(members not in self.distances for members in gone):
            return
        s = self.distances[gone[0]].clone()
        for members in gone[1:]:
            s += self.distances[members]
        for members in come:
            if members != widest:
                s -= self._distances(members)
        self._keep(self.distances, widest, s.clamp_(min=0.0))  # a difference may end just below zero

    def gram(self, partition: Partition) -> Tensor:
        total = self.block(partition[0]).clone()
        for members in partition[1:]:
            total += self.block(members)
        return total

    def moved(self, gram: Tensor, old: Partition, new: Partition) -> Tensor:
        """The Gram matrix of `new` from that of `old`: only changed blocks are touched."""
        gone, come = sorted(set(old) - set(new)), sorted(set(new) - set(old))
        self._derive_distances(gone, come)
        total = gram.clone()
        for members in come:
            total += self.block(members)
        for members in gone:
            total -= self.block(members)
        return total

    def log_evidence(self, gram: Tensor) -> float:
        # By LAPACK itself: for a hundred small matrices torch's calls take as long as the work. It reads by columns, so
        # that our lower triangle is its upper one.
        U, failed = dpotrf(self.pairs.lower(gram, self.diagonal).numpy().T, lower=0, clean=0, overwrite_a=1)
        if failed:
            return self._jittered(gram)
        v, _ = dtrtrs(U, self.residual.numpy(), lower=0, trans=1)
        return -0.5 * float(v @ v) - float(np.log(U.diagonal()).sum()) - 0.5 * len(v) * math.log(2.0 * math.pi)

    def _jittered(self, gram: Tensor) -> float:
        try:
            L = cholesky(self.pairs.lower(gram, self.diagonal))
        except NumericalError:
            return -math.inf
        return float(gaussian_log_density(L, self.residual))


def log_prior(partition: Partition) -> float:
    """Uniform over the number of factors, then over the partitions with that many (Stirling's second kind).

    A prior uniform over partitions is dominated by their number, and a chain under it drifts to arbitrary blocks while
    the evidence is weak. Under this one, one factor of all variables and one factor per variable are the two peaks.
    """
    d = sum(map(len, partition))
    return -math.log(d) - float(_log_stirling(d)[len(partition)])


@lru_cache(maxsize=8)
def _log_stirling(d: int) -> Array:
    """log S(d, n) for n = 0 ... d, by S(d, n) = n S(d-1, n) + S(d-1, n-1)."""
    row = np.full(d + 1, -np.inf)
    row[0] = 0.0
    log_n = np.log(np.maximum(np.arange(d + 1), 1e-300))
    for _ in range(d):
        row[1:] = np.logaddexp(row[1:] + log_n[1:], row[:-1])
        row[0] = -np.inf
    return row


def run_chain(
    log_target: Callable[[Partition, Partition | None], tuple[float, float]],
    start: Partition,
    steps: int,
    rng: np.random.Generator,
    *,
    max_factor_size: int | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> Chain:
    """Metropolis-Hastings. `log_target(new, current)` gives (log evidence, log posterior) of `new`, -inf allowed.

    It is asked for the start first, with None. A partition with a factor above `max_factor_size` has no mass.
    """
    current = Visited(start, *log_target(start, None))
    visited, accepted = [], 0
    limit = max_factor_size or sum(map(len, start))
    for _ in range(steps if kinds(start) else 0):
        if expired():
            break
        candidate = draw(current.partition, rng)
        u = math.log(1.0 - rng.random())
        if largest(candidate) <= limit:
            new = Visited(candidate, *log_target(candidate, current.partition))
            hastings = log_probability(candidate, current.partition) - log_probability(current.partition, candidate)
            if u < new.log_posterior - current.log_posterior + hastings:
                current, accepted = new, accepted + 1
        visited.append(current)
    return Chain(current, visited or [current], accepted)


class Target:
    """The log posterior of partitions for `run_chain`, carrying the current Gram matrix along."""

    def __init__(self, evidence: Evidence, log_weight: float = 0.0) -> None:
        self.evidence = evidence
        self.log_weight = log_weight  # what else speaks for this chain, such as the prior of its hyperparameters
        self.grams: dict[Partition, Tensor] = {}

    def __call__(self, new: Partition, current: Partition | None) -> tuple[float, float]:
        if current is None or current not in self.grams:
            gram = self.evidence.gram(new)
        else:
            gram = self.evidence.moved(self.grams[current], current, new)
            self.grams = {current: self.grams[current]}
        self.grams[new] = gram
        log_evidence = self.evidence.log_evidence(gram)
        return log_evidence, log_evidence + log_prior(new) + self.log_weight


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
