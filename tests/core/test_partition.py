"""Moves between partitions, against exhaustive enumeration."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from core.graph import Factors
from core.partition import canonical, draw, full, kinds, largest, log_probability, random_partition, singletons
from tests.core.support import partitions


def enumerated(a: Factors) -> dict[Factors, float]:
    """q(. | a), by listing every way in which each kind of move can be drawn, as the module's docstring says."""
    blocks = [set(block) for block in a]
    merges = [[b for b in blocks if b not in (one, two)] + [one | two] for one, two in combinations(blocks, 2)]
    q: dict[Factors, float] = defaultdict(float)

    def add(chance: float, result: list[set[int]]) -> None:
        q[tuple(sorted(tuple(sorted(b)) for b in result if b))] += chance

    large = [b for b in blocks if len(b) > 1]
    n_kinds = 1 + bool(merges) + bool(large)
    for result in merges:
        add(1 / n_kinds / len(merges), result)
    for block in large:
        members = sorted(block)
        cuts = [
            set(side) | {members[0]} for size in range(len(members) - 1) for side in combinations(members[1:], size)
        ]
        assert len(cuts) == 2 ** (len(members) - 1) - 1
        for side in cuts:
            rest = [b for b in blocks if b is not block]
            add(1 / n_kinds / len(large) / len(cuts), [*rest, side, block - side])
    variables = [v for b in blocks for v in b]
    for v in variables:
        home = next(b for b in blocks if v in b)
        others = [b for b in blocks if b is not home]
        places: list[list[set[int]]] = [
            [*(b for b in others if b is not other), other | {v}, home - {v}] for other in others
        ]
        if len(home) > 1:
            places.append([*others, home - {v}, {v}])
        for result in places:
            add(1 / n_kinds / len(variables) / len(places), result)
    return q


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_proposal_probabilities_equal_enumeration_and_sum_to_one(d: int) -> None:
    """From every partition, q(b | a) is what listing all moves gives, 0 elsewhere, and sums to one."""
    everything = list(partitions(range(d)))
    assert len(everything) == {2: 2, 3: 5, 4: 15, 5: 52}[d]
    for a in everything:
        expected = enumerated(a)
        got = {b: math.exp(log_probability(a, b)) for b in everything if b != a}
        assert sum(got.values()) == pytest.approx(1.0)
        assert got == pytest.approx({b: expected.get(b, 0.0) for b in got})


@pytest.mark.parametrize("a", [full(4), singletons(4), ((0, 1), (2,), (3,)), ((0, 2), (1, 3)), ((0, 1, 2), (3,))])
def test_draws_come_as_often_as_their_probability_says(a: Factors) -> None:
    """Frequencies of 4,000 draws match the enumerated probabilities (chi-square)."""
    rng = np.random.default_rng(1)
    counts = Counter(draw(a, rng) for _ in range(4000))
    expected = enumerated(a)
    assert set(counts) <= set(expected)
    order = sorted(expected)
    p = chisquare([counts[b] for b in order], [4000 * expected[b] for b in order]).pvalue
    assert p > 1e-3


@pytest.mark.parametrize("d", [2, 3, 4])
def test_every_move_can_be_undone(d: int) -> None:
    """q(b | a) > 0 exactly where q(a | b) > 0: the Hastings ratio never divides by zero."""
    everything = list(partitions(range(d)))
    for a in everything:
        for b in everything:
            if a != b:
                assert (log_probability(a, b) > -math.inf) == (log_probability(b, a) > -math.inf)


@pytest.mark.parametrize("m", [2, 3, 6, 10])
def test_split_counts_its_bipartitions(m: int) -> None:
    """Trap: splitting a block of m in halves has 2^(m-1) - 1 equally likely outcomes, beside those of a shift."""
    a = full(m)
    half = canonical([tuple(range(m // 2)), tuple(range(m // 2, m))])
    alone = sum(len(block) == 1 for block in half)
    expected = 0.5 / (2 ** (m - 1) - 1) + 0.5 * alone / m
    assert math.exp(log_probability(a, half)) == pytest.approx(expected)


def test_large_block_splits_without_overflow() -> None:
    """Half of 500 variables: log q is finite where 2^-499 is tiny, and q of a block of 2,000 is no error."""
    half = canonical([tuple(range(250)), tuple(range(250, 500))])
    assert log_probability(full(500), half) == pytest.approx(math.log(0.5) - 499 * math.log(2), rel=1e-9)
    wide = canonical([tuple(range(1000)), tuple(range(1000, 2000))])
    assert log_probability(full(2000), wide) == pytest.approx(math.log(0.5) - 1999 * math.log(2), rel=1e-9)


def test_one_variable_has_nowhere_to_go() -> None:
    """d = 1 has one partition and no move."""
    assert kinds(full(1)) == ()


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12))
def test_random_partitions_cover_within_their_limit(seed: int, d: int, limit: int) -> None:
    """Every variable once, no block above the limit, in canonical form."""
    made = random_partition(d, min(limit, d), np.random.default_rng(seed))
    assert sorted(v for block in made for v in block) == list(range(d))
    assert largest(made) <= limit
    assert made == canonical(list(made))


@given(st.integers(0, 10_000), st.integers(2, 9))
def test_drawn_partitions_are_canonical_and_differ(seed: int, d: int) -> None:
    """A draw is another partition of the same variables, sorted."""
    rng = np.random.default_rng(seed)
    a = random_partition(d, d, rng)
    b = draw(a, rng)
    assert b != a
    assert b == canonical(list(b))
    assert sorted(v for block in b for v in block) == list(range(d))
