"""The factors of one or several models side by side, as padded tensors, so that no loop runs over factors.

`shared`: decompositions of the same objective are models that share one lengthscale per parameter, one signal
variance, one noise variance and one mean with the others of their group. A factor's squared distance is the mean over
its parameters, not the sum: only then do the same lengthscales suit factors of any size.
`known`: one model whose factors keep a signal variance each. `separate`: one model per factor, with all
hyperparameters of its own (App. C).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from core.feature import Feature
from core.graph import Factors
from core.space import Space


@dataclass(frozen=True)
class Layout:
    """n factors, m columns at most in one, k models."""

    columns: Tensor  # n x m: columns of the unit cube; padding repeats column 0
    mask: Tensor  # n x m: 1 where `columns` is real, 0 in the padding
    sizes: Tensor  # n: parameters in each factor
    owner: Tensor  # n: the model each factor belongs to
    n_models: int
    lengthscale_index: Tensor  # n x m: into the vector of lengthscales
    scale_index: Tensor  # n: into the vector of signal variances
    share: Tensor  # n: the factor's share of that signal variance
    model_index: Tensor  # k: into the vectors of noise variances and means
    n_lengthscales: int
    n_scales: int
    feature: Feature | None = None  # a further column of its one factor, made from all the others

    @property
    def n_factors(self) -> int:
        return len(self.owner)

    @cached_property
    def uses(self) -> Tensor:
        """n x n_columns: whether the factor uses the column. Every column belongs to some factor."""
        counts = torch.zeros(self.n_factors, int(self.columns.max()) + 1, dtype=torch.float64)
        return counts.scatter_add_(1, self.columns, self.mask) > 0

    @cached_property
    def touches(self) -> Tensor:
        """n x n: whether two factors share a column."""
        uses = self.uses.double()
        return uses @ uses.T > 0

    @cached_property
    def components(self) -> Tensor:
        """n: which connected component of the factor graph each factor belongs to, from 0."""
        labels = torch.arange(self.n_factors)
        while True:
            spread = torch.where(self.touches, labels[None, :], len(labels)).amin(1)
            if bool((spread == labels).all()):
                return torch.unique(labels, return_inverse=True)[1]
            labels = spread

    @cached_property
    def separates(self) -> bool:
        """Whether no two factors share a column."""
        return len(self.components.unique()) == self.n_factors

    @cached_property
    def blocks(self) -> Tensor:
        """Distinct rows of `uses`."""
        return torch.unique(self.uses, dim=0)

    def gather(self, X: Tensor) -> Tensor:
        """... x t x n_columns gives ... x n x t x m: every factor's own columns."""
        return X[..., self.columns].transpose(-3, -2)  # ... x t x n x m -> ... x n x t x m

    def take(self, rows: Tensor) -> Layout:
        """The same with only these factors."""
        return Layout(
            self.columns[rows], self.mask[rows], self.sizes[rows], self.owner[rows], self.n_models,
            self.lengthscale_index[rows], self.scale_index[rows], self.share[rows], self.model_index,
            self.n_lengthscales, self.n_scales, self.feature,
        )  # fmt: skip


def shared(space: Space, decompositions: Sequence[Factors], groups: Sequence[int] | None = None) -> Layout:
    """One model per decomposition, hyperparameters shared within a group; factors weigh by how many parameters."""
    groups = [0] * len(decompositions) if groups is None else groups
    factors = [members for decomposition in decompositions for members in decomposition]
    owner = [k for k, decomposition in enumerate(decompositions) for _ in decomposition]
    n_slots = [sum(map(len, decomposition)) for decomposition in decompositions]
    share = [len(members) / n_slots[k] for members, k in zip(factors, owner, strict=True)]
    group = [groups[k] for k in owner]
    layout = _layout(
        space, factors, owner, group, share, np.array(groups, dtype=np.int64), tied=True, n_scales=max(groups) + 1
    )
    offset = torch.tensor(group)[:, None] * space.n_dims
    return replace(
        layout,
        lengthscale_index=layout.lengthscale_index + offset,
        n_lengthscales=space.n_dims * layout.n_scales,
    )


def known(space: Space, factors: Factors) -> Layout:
    """One model; a lengthscale per parameter, a signal variance per factor."""
    n = len(factors)
    return _layout(space, factors, [0] * n, range(n), [1 / n] * n, np.zeros(1, dtype=np.int64), tied=True, n_scales=n)


def separate(space: Space, factors: Factors) -> Layout:
    """One model per factor, each with hyperparameters of its own."""
    n = len(factors)
    return _layout(space, factors, range(n), range(n), [1.0] * n, np.arange(n), tied=False, n_scales=n)


def _layout(
    space: Space,
    factors: Sequence[Sequence[int]],
    owner: Sequence[int],
    scale_index: Sequence[int],
    share: Sequence[float],
    model_index: np.ndarray,
    *,
    tied: bool,
    n_scales: int,
) -> Layout:
    rows = [[c for j in members for c in space.columns[j]] for members in factors]
    width = max(map(len, rows))
    columns = np.zeros((len(rows), width), dtype=np.int64)
    mask = np.zeros((len(rows), width))
    lengthscale_index = np.zeros((len(rows), width), dtype=np.int64)
    start = 0
    for i, (members, row) in enumerate(zip(factors, rows, strict=True)):
        columns[i, : len(row)] = row
        mask[i, : len(row)] = 1.0
        slots = members if tied else range(start, start + len(members))
        lengthscale_index[i, : len(row)] = [s for s, j in zip(slots, members, strict=True) for _ in space.columns[j]]
        start += len(members)
    return Layout(
        columns=torch.from_numpy(columns),
        mask=torch.from_numpy(mask),
        sizes=torch.tensor([float(len(members)) for members in factors], dtype=torch.float64),
        owner=torch.tensor(list(owner)),
        n_models=int(max(owner)) + 1,
        lengthscale_index=torch.from_numpy(lengthscale_index),
        scale_index=torch.tensor(list(scale_index)),
        share=torch.tensor(list(share), dtype=torch.float64),
        model_index=torch.from_numpy(model_index),
        n_lengthscales=space.n_dims if tied else start,
        n_scales=n_scales,
    )
