"""Partitions of the variables: their prior, and moves between them with exact proposal probabilities.

A partition is a sorted tuple of sorted tuples. From one partition a move is drawn in two steps: its kind, uniformly
among those possible here, and then one of that kind:

    merge  two blocks into one: one of n (n - 1) / 2 pairs
    split  a block of m >= 2 in two: one of the blocks, then one of its 2^(m-1) - 1 bipartitions
    shift  one variable to another block, or out of its block to stand alone: one variable, then one of the places

The same partition can be reached by more than one kind (splitting off one variable is also a shift), so that the
probability of a step is the sum over kinds: that is what enters the Metropolis-Hastings ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from core.graph import Factors
from core.space import Array

Partition = Factors


def canonical(blocks: Iterator[tuple[int, ...]] | list[tuple[int, ...]] | Factors) -> Partition:
    return tuple(sorted(tuple(sorted(block)) for block in blocks if block))


def full(n_dims: int) -> Partition:
    """The fully dependent decomposition: one factor of every variable."""
    return (tuple(range(n_dims)),)


def singletons(n_dims: int) -> Partition:
    return tuple((j,) for j in range(n_dims))


def coarse(n_dims: int, widest: int) -> Partition:
    """As few blocks of nearly equal size as there can be without one wider than this."""
    return tuple(tuple(block.tolist()) for block in np.array_split(np.arange(n_dims), -(-n_dims // widest)))


def largest(partition: Partition) -> int:
    return max(map(len, partition))


def random_partition(n_dims: int, max_size: int, rng: np.random.Generator) -> Partition:
    """Variables shuffled and cut into blocks of random sizes up to max_size."""
    order, blocks = rng.permutation(n_dims).tolist(), []
    while order:
        size = int(rng.integers(1, min(max_size, len(order)) + 1))
        blocks.append(tuple(order[:size]))
        order = order[size:]
    return canonical(blocks)


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


def kinds(partition: Partition) -> tuple[str, ...]:
    """The kinds of move that are possible from here."""
    n, d = len(partition), sum(map(len, partition))
    if d == 1:
        return ()
    return ("shift", *("merge",) * (n > 1), *("split",) * (n < d))


def draw(partition: Partition, rng: np.random.Generator) -> Partition:
    """A neighbouring partition, drawn as the module says."""
    possible = kinds(partition)
    kind = possible[_pick(len(possible), rng)]
    blocks = list(partition)
    if kind == "merge":
        a = blocks.pop(_pick(len(blocks), rng))
        b = blocks.pop(_pick(len(blocks), rng))
        return _joined(blocks, a + b)
    if kind == "split":
        large = [i for i, block in enumerate(blocks) if len(block) > 1]
        chosen = blocks.pop(large[_pick(len(large), rng)])
        return _joined(blocks, *_bipartition(chosen, rng))
    return _shift(blocks, rng)


def _pick(n: int, rng: np.random.Generator) -> int:
    """0 ... n - 1, uniformly, in a sixth of the time of `rng.integers`."""
    return int(n * rng.random())


def _joined(blocks: list[tuple[int, ...]], *new: tuple[int, ...]) -> Partition:
    """As `canonical`, where only the new blocks need sorting."""
    blocks += [tuple(sorted(block)) for block in new if block]
    blocks.sort()
    return tuple(blocks)


def _bipartition(block: tuple[int, ...], rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Uniform among the 2^(m-1) - 1 ways to cut a block in two: the first variable's side, and a non-empty rest."""
    while True:
        sides: tuple[list[int], list[int]] = ([block[0]], [])
        for v, u in zip(block[1:], rng.random(len(block) - 1).tolist(), strict=True):
            sides[u < 0.5].append(v)
        if sides[1]:
            return tuple(sides[0]), tuple(sides[1])


def _shift(blocks: list[tuple[int, ...]], rng: np.random.Generator) -> Partition:
    variables = [v for block in blocks for v in block]
    v = variables[_pick(len(variables), rng)]
    left = tuple(u for u in blocks.pop(next(i for i, block in enumerate(blocks) if v in block)) if u != v)
    place = _pick(_places(len(left) > 0, len(blocks)), rng)
    if place == len(blocks):
        return _joined(blocks, left, (v,))
    return _joined(blocks, left, (*blocks.pop(place), v))


def _places(has_company: bool, n_others: int) -> int:
    """Where a variable may go: into every other block, or, unless it is alone already, to stand alone."""
    return n_others + has_company


def log_probability(a: Partition, b: Partition) -> float:
    """log q(b | a): the chance that `draw` turns a into b, over every kind that does; -inf if none."""
    return _log_probability(a, list(set(a) - set(b)), list(set(b) - set(a)))


def log_ratio(a: Partition, b: Partition) -> float:
    """log q(a | b) - log q(b | a): what Hastings' correction adds for a step from a to b."""
    gone, come = list(set(a) - set(b)), list(set(b) - set(a))
    return _log_probability(b, come, gone) - _log_probability(a, gone, come)


def _log_probability(a: Partition, gone: list[tuple[int, ...]], come: list[tuple[int, ...]]) -> float:
    """Given the blocks that go from a, and those that come."""
    by_kind = []
    if len(gone) == 2 and len(come) == 1:
        by_kind.append(-math.log(math.comb(len(a), 2)))
    if len(gone) == 1 and len(come) == 2:
        n_large = sum(len(block) > 1 for block in a)
        by_kind.append(-math.log(n_large) - math.log(2 ** (len(gone[0]) - 1) - 1))
    if shift := _shift_probability(a, gone, come):
        by_kind.append(math.log(shift))
    if not by_kind:
        return -math.inf
    top = max(by_kind)
    return top + math.log(sum(math.exp(p - top) for p in by_kind)) - math.log(len(kinds(a)))


def _shift_probability(a: Partition, gone: list[tuple[int, ...]], come: list[tuple[int, ...]]) -> float:
    """Given that a shift is drawn: the sum over variables whose move turns a into b."""
    d, n = sum(map(len, a)), len(a)
    if len(gone) == 1 and len(come) == 2:  # a variable went to stand alone
        alone = sum(len(y) == 1 for y in come)  # both may, when a pair is split
        return alone / d / _places(True, n - 1)
    if len(gone) == 2 and len(come) == 1:  # a variable that stood alone joined a block
        alone = sum(len(x) == 1 for x in gone)
        return alone / d / _places(False, n - 1)
    if len(gone) == 2 and len(come) == 2:  # a variable went from one block to another
        one, two = set(gone[0]), set(gone[1])
        moves = 0
        for source, target in ((one, two), (two, one)):
            for y in come:
                moved = set(y) - target
                moves += target < set(y) and len(moved) == 1 and moved <= source
        return moves / d / _places(True, n - 1)
    return 0.0
