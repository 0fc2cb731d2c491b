"""Pairs of observations: P = t (t - 1) / 2 entries say all of a covariance matrix that is not on its diagonal.

Their squared differences are made once for everything that an ask does with the same observations.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


class Pairs:
    """The pairs of t inputs (t x n_columns), and how far apart each is in every column."""

    def __init__(self, X: Tensor) -> None:
        self.n_obs = len(X)
        self.row, self.col = torch.tril_indices(self.n_obs, self.n_obs, offset=-1)
        self.flat = self.row * self.n_obs + self.col  # where a pair stands in a matrix of t x t numbers
        columns = np.ascontiguousarray(X.numpy().T)  # n_columns x t; NumPy gathers in a fourth of torch's time
        away = columns.take(self.row.numpy(), 1)
        away -= columns.take(self.col.numpy(), 1)
        self.D = torch.from_numpy(away).square_()  # n_columns x P

    def __len__(self) -> int:
        return len(self.row)

    def lower(self, values: Tensor, diagonal: Tensor) -> Tensor:
        """... x t x t from ... x P and ... x t: the lower triangle, all that a Cholesky factorisation reads."""
        C = values.new_zeros(*values.shape[:-1], self.n_obs * self.n_obs)
        C.scatter_(-1, self.flat.expand_as(values), values)
        C = C.unflatten(-1, (self.n_obs, self.n_obs))
        C.diagonal(dim1=-2, dim2=-1).copy_(diagonal)
        return C
