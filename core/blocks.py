"""The log evidence of partitions of the variables, from cached covariances of their blocks.

Hyperparameters are given and shared by all partitions, so that a proposal costs the covariances of the blocks it
changes and one Cholesky factorisation. Everything here is a vector of some thousand numbers: NumPy and LAPACK are
called directly, because for so little work torch's calls take as long as the work itself.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.linalg.lapack import dpotrf, dtrtrs

from core.errors import NumericalError
from core.evidence import Data, cholesky, gaussian_log_density
from core.hyper import Hyperparameters
from core.kernels import covariance_array
from core.pairs import Pairs
from core.partition import Partition, log_prior
from core.problem import Kernel
from core.space import Array, Space

CACHE_ENTRIES = 25_000_000  # numbers kept in cached vectors of P


class Evidence:
    """The log evidence of any partition under given hyperparameters.

    Gram matrices are vectors of P entries, one per pair of observations; every block's variance is proportional to its
    size, so that the diagonal is the same for all partitions.
    """

    def __init__(
        self, space: Space, hyper: Hyperparameters, kernel: Kernel, data: Data, pairs: Pairs | None = None
    ) -> None:
        pairs = pairs or Pairs(data.X)
        self.kernel = kernel
        self.columns = space.columns
        self.D = pairs.D.numpy()
        self.precision = torch.exp(-2.0 * hyper.log_lengthscale).tolist()
        scale = torch.exp(hyper.log_scale[0])
        self.unit = float(scale) / space.n_dims
        given = data.given_noise
        self.diagonal = (scale + torch.where(given.isnan(), torch.exp(hyper.log_noise[0]), given)).numpy()
        self.residual = (data.Y[0] - hyper.mean[0]).numpy()
        self.covariances: dict[tuple[int, ...], Array] = {}  # P: of blocks met lately, ...
        self.distances: dict[tuple[int, ...], Array] = {}  # P: ... squared, scaled, the sum over the block's variables
        self.max_blocks = max(8, CACHE_ENTRIES // max(1, 2 * len(pairs)))
        # LAPACK reads by columns: there a pair (i, j), j < i, of the lower triangle is entry j t + i.
        self.flat = (pairs.col * pairs.n_obs + pairs.row).numpy()
        self.C = np.zeros((pairs.n_obs, pairs.n_obs))

    def block(self, members: tuple[int, ...]) -> Array:
        """P: the block's covariances, its variance proportional to its size."""
        if members not in self.covariances:
            made = covariance_array(self.kernel, self._distances(members) / len(members))
            made *= self.unit * len(members)
            self._keep(self.covariances, members, made)
        return self.covariances[members]

    def _keep(self, cache: dict[tuple[int, ...], Array], members: tuple[int, ...], value: Array) -> Array:
        if len(cache) >= self.max_blocks:
            del cache[next(iter(cache))]
        cache[members] = value
        return value

    def _distances(self, members: tuple[int, ...]) -> Array:
        if members in self.distances:
            return self.distances[members]
        if len(members) == 1:
            total = self.D[self.columns[members[0]]].sum(0) * self.precision[members[0]]
        else:
            total = self._distances(members[:1]).copy()
            for j in members[1:]:
                total += self._distances((j,))
        return self._keep(self.distances, members, total)

    def _derive_distances(self, gone: list[tuple[int, ...]], come: list[tuple[int, ...]]) -> None:
        """Distances of the blocks that come add up to those of the blocks that go: the widest need not be summed up."""
        widest = max(come, key=len)
        if widest in self.covariances or any(members not in self.distances for members in gone):
            return
        s = self.distances[gone[0]].copy()
        for members in gone[1:]:
            s += self.distances[members]
        for members in come:
            if members != widest:
                s -= self._distances(members)
        self._keep(self.distances, widest, np.maximum(s, 0.0, out=s))  # a difference may end just below zero

    def gram(self, partition: Partition) -> Array:
        total = self.block(partition[0]).copy()
        for members in partition[1:]:
            total += self.block(members)
        return total

    def moved(self, gram: Array, old: Partition, new: Partition) -> Array:
        """The Gram matrix of `new` from that of `old`: only changed blocks are touched."""
        gone, come = sorted(set(old) - set(new)), sorted(set(new) - set(old))
        self._derive_distances(gone, come)
        total = gram + self.block(come[0])
        for members in come[1:]:
            total += self.block(members)
        for members in gone:
            total -= self.block(members)
        return total

    def log_evidence(self, gram: Array) -> float:
        L, failed = dpotrf(self._matrix(gram).T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return self._jittered(gram)
        v, _ = dtrtrs(L, self.residual, lower=1)
        return -0.5 * float(v @ v) - float(np.log(L.diagonal()).sum()) - 0.5 * len(v) * math.log(2.0 * math.pi)

    def _matrix(self, gram: Array) -> Array:
        """t x t, the upper triangle; the same memory every time."""
        self.C.reshape(-1)[self.flat] = gram
        np.fill_diagonal(self.C, self.diagonal)
        return self.C

    def _jittered(self, gram: Array) -> float:
        try:
            L = cholesky(torch.from_numpy(self._matrix(gram)).T)
        except NumericalError:
            return -math.inf
        return float(gaussian_log_density(L, torch.from_numpy(self.residual)))


class Target:
    """The log posterior of partitions for `run_chain`, carrying the current Gram matrix along."""

    def __init__(self, evidence: Evidence, log_weight: float = 0.0) -> None:
        self.evidence = evidence
        self.log_weight = log_weight  # what else speaks for this chain, such as the prior of its hyperparameters
        self.seen: dict[Partition, float] = {}  # a chain that stays where it is draws the same neighbours again
        nowhere: tuple[Partition, Array] = ((), np.empty(0))
        self.here = nowhere  # where the chain stands, and its Gram matrix; ...
        self.there = nowhere  # ... where it looked last: there it stands if it moved

    def __call__(self, new: Partition, current: Partition | None) -> tuple[float, float]:
        if new not in self.seen:
            gram = self.evidence.gram(new) if current is None else self._moved(new, current)
            self.there = (new, gram)
            self.seen[new] = self.evidence.log_evidence(gram)
        log_evidence = self.seen[new]
        return log_evidence, log_evidence + log_prior(new) + self.log_weight

    def _moved(self, new: Partition, current: Partition) -> Array:
        if self.here[0] != current:
            self.here = self.there if self.there[0] == current else (current, self.evidence.gram(current))
        return self.evidence.moved(self.here[1], current, new)
