"""Max-sum message passing on a factor graph over a grid: exact on trees, a good guess on graphs with cycles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.problems import Array

DAMPING = 0.5


def max_sum(
    tables: Sequence[Array], factors: Sequence[Sequence[int]], n_dims: int, n_iterations: int = 30
) -> NDArray[np.int64]:
    """The indices, one per variable, that (nearly) maximize the sum of the tables.

    `tables[i]` has one axis per variable of factor i, each of the grid's length. Of all iterations the best decoded
    assignment is returned.
    """
    size = tables[0].shape[0]
    to_factor = [np.zeros((len(factor), size)) for factor in factors]
    best, best_value = np.zeros(n_dims, dtype=np.int64), -np.inf
    for _ in range(n_iterations):
        to_variable = [_messages(table, inbox) for table, inbox in zip(tables, to_factor, strict=True)]
        beliefs = np.zeros((n_dims, size))
        for factor, outbox in zip(factors, to_variable, strict=True):
            np.add.at(beliefs, list(factor), outbox)
        assignment = beliefs.argmax(axis=1)
        value = total(tables, factors, assignment)
        if value > best_value:
            best, best_value = assignment, value
        for i, factor in enumerate(factors):
            fresh = beliefs[list(factor)] - to_variable[i]
            fresh -= fresh.max(axis=1, keepdims=True)
            to_factor[i] = DAMPING * to_factor[i] + (1 - DAMPING) * fresh
    return best


def total(tables: Sequence[Array], factors: Sequence[Sequence[int]], assignment: NDArray[np.int64]) -> float:
    """The sum of the tables at one assignment."""
    return float(sum(table[tuple(assignment[list(f)])] for table, f in zip(tables, factors, strict=True)))


def _messages(table: Array, inbox: Array) -> Array:
    """What a factor tells each of its variables: its best value for each of the variable's (|V_i| x grid)."""
    axes = range(table.ndim)
    shaped = [inbox[a].reshape([-1 if b == a else 1 for b in axes]) for a in axes]
    everything = table + sum(shaped)
    return np.stack([everything.max(axis=tuple(b for b in axes if b != a)) - inbox[a] for a in axes])
