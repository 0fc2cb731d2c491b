"""The factor graph, against App. A and against sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from core import InvalidProblem
from core.graph import FactorGraph
from tests.core.support import APPENDIX_A, random_factors


def test_appendix_a_gives_the_sets_of_the_paper() -> None:
    """V_1 = {1, 3}, F_3 = {1, 3, 4} and N_3 = {2, 3, 4}, as printed, and the rest by hand (here from zero).

    The paper prints N_3 = {2, 3, 4}, but factors 1 and 4 use x_3 too: by its own definition N_3 = {1, 2, 3, 4}.
    """
    graph = FactorGraph.of(3, APPENDIX_A)
    assert (graph.n_factors, graph.max_factor_size) == (4, 2)
    assert graph.factor_vars[0] == (0, 2)
    assert graph.var_factors == ((0, 3), (1, 2), (0, 2, 3))
    assert graph.neighbors == ((0, 2, 3), (1, 2), (0, 1, 2, 3), (0, 2, 3))


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 8))
def test_sets_follow_their_definitions(seed: int, d: int, n: int) -> None:
    """V, F and N of random overlapping graphs equal those written with sets, and i is in N_i."""
    factors = random_factors(np.random.default_rng(seed), d, n)
    graph = FactorGraph.of(d, factors)
    F = [{i for i in range(n) if j in factors[i]} for j in range(d)]
    N = [set().union(*(F[j] for j in factors[i])) for i in range(n)]
    assert [set(f) for f in graph.var_factors] == F
    assert [set(m) for m in graph.neighbors] == N
    assert all(i in graph.neighbors[i] for i in range(n))
    assert graph.max_factor_size == max(map(len, factors))
    assert graph.membership.sum() == sum(map(len, factors))


@given(st.integers(0, 10_000), st.integers(1, 10), st.integers(1, 6))
def test_components_are_the_connected_components(seed: int, d: int, n: int) -> None:
    """Factors linked by shared variables, directly or through others, are one component and no others are."""
    rng = np.random.default_rng(seed)
    factors = tuple(tuple(sorted({int(rng.integers(d)), int(rng.integers(d))})) for _ in range(n))
    used = sorted({j for members in factors for j in members})
    factors = tuple(tuple(used.index(j) for j in members) for members in factors)
    links = np.zeros((n + len(used), n + len(used)))
    for i, members in enumerate(factors):
        links[i, [n + j for j in members]] = 1
    labels = connected_components(links, directed=False)[1][:n]
    expected = {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels)}
    assert {frozenset(c) for c in FactorGraph.of(len(used), factors).components} == expected


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        (((0, 1), ()), "at least one variable"),
        (((0, 1, 2),), "unknown variable 2"),
        (((0, -1), (1,)), "unknown variable -1"),
        (((0,),), "variable 1 is in no factor"),
        (((0, 1, 1),), "listed twice"),
        ((), "variable 0 is in no factor"),
    ],
)
def test_bad_factors_are_refused_with_the_reason(factors: tuple[tuple[int, ...], ...], said: str) -> None:
    """Empty, unknown, doubled and uncovered variables each raise InvalidProblem that names them."""
    with pytest.raises(InvalidProblem, match=said):
        FactorGraph.of(2, factors)


def test_nested_and_equal_factors_are_legal() -> None:
    """A factor inside another and two equal ones keep their own identity."""
    graph = FactorGraph.of(2, ((0, 1), (0,), (0, 1)))
    assert graph.n_factors == 3
    assert graph.neighbors == ((0, 1, 2),) * 3
