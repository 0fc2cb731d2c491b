"""The factor graph of an additive decomposition (App. A): who shares a variable with whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.errors import Fault, InvalidProblem

Factors = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class FactorGraph:
    """Factors over n_dims variables: overlapping, nested, equal, of any size, together covering every variable."""

    n_dims: int
    factor_vars: Factors  # V_i

    def __post_init__(self) -> None:
        if faults := list(self._faults()):
            raise InvalidProblem(faults)

    def _faults(self) -> Iterable[Fault]:
        for i, members in enumerate(self.factor_vars):
            if not members:
                yield Fault(("factors", i), "a factor needs at least one variable")
            if len(set(members)) < len(members):
                yield Fault(("factors", i), "a variable is listed twice")
            if unknown := [j for j in members if not 0 <= j < self.n_dims]:
                yield Fault(("factors", i), f"unknown variable {unknown[0]}")
        if uncovered := set(range(self.n_dims)) - {j for members in self.factor_vars for j in members}:
            yield Fault(("factors",), f"variable {min(uncovered)} is in no factor")

    @classmethod
    def of(cls, n_dims: int, factors: Sequence[Sequence[int]]) -> FactorGraph:
        return cls(n_dims, tuple(tuple(members) for members in factors))

    @property
    def n_factors(self) -> int:
        return len(self.factor_vars)

    @property
    def max_factor_size(self) -> int:
        return max(map(len, self.factor_vars))

    @cached_property
    def membership(self) -> NDArray[np.bool_]:
        """n_factors x n_dims"""
        M = np.zeros((self.n_factors, self.n_dims), dtype=bool)
        for i, members in enumerate(self.factor_vars):
            M[i, list(members)] = True
        return M

    @cached_property
    def var_factors(self) -> Factors:
        """F_j: the factors that use variable j."""
        return tuple(tuple(int(i) for i in np.flatnonzero(column)) for column in self.membership.T)

    @cached_property
    def adjacency(self) -> NDArray[np.bool_]:
        """n_factors x n_factors: whether two factors share a variable; true on the diagonal."""
        M = self.membership.astype(np.float32)
        return np.asarray(M @ M.T > 0)

    @cached_property
    def neighbors(self) -> Factors:
        """N_i, the union of F_j over j in V_i: the factors that share a variable with i, i itself among them."""
        return tuple(tuple(int(k) for k in np.flatnonzero(row)) for row in self.adjacency)

    @cached_property
    def components(self) -> Factors:
        """Sets of factors that share no variable with any factor outside the set."""
        left = set(range(self.n_factors))
        found = []
        while left:
            frontier = {min(left)}
            component: set[int] = set()
            while frontier:
                component |= frontier
                frontier = set(np.flatnonzero(self.adjacency[sorted(frontier)].any(axis=0)).tolist()) - component
            left -= component
            found.append(tuple(sorted(component)))
        return tuple(found)
