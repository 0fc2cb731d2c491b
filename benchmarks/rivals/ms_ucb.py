"""MS-UCB (Tran-The, Gupta et al. 2020): GP-UCB maximized on a discrete set of low-dimensional subspaces.

The cube is split into a few coordinates Y and the rest Z. At each iteration N points z are drawn from Z, and the
acquisition is maximized over the union of the subspaces Y x {z}. N = N_0 t^alpha; the DuMBO paper takes alpha = 0.
"""

from __future__ import annotations

import numpy as np
from botorch.acquisition.analytic import UpperConfidenceBound
from botorch.models.gp_regression import SingleTaskGP
from botorch.optim.optimize import optimize_acqf
from numpy.typing import NDArray
from torch import as_tensor, no_grad

from benchmarks.problems import Array
from benchmarks.rivals.base import Rival, sobol_points
from benchmarks.rivals.botorch_models import fit_standard_model, seeded, unit_bounds

SUBSPACE_DIMS = 2
N_SUBSPACES = 100  # N_0
ALPHA = 0.0
SCREENED = 64  # points of each subspace at which the acquisition is looked up
REFINED = 5  # subspaces in which it is then climbed


class MSUCB(Rival):
    """A new split and new subspaces at every iteration, so that no coordinate is favoured."""

    def suggest(self) -> Array:
        t = len(self.y)
        n_free = min(SUBSPACE_DIMS, self.n_dims)
        free = np.sort(self.rng.permutation(self.n_dims)[:n_free])
        n_subspaces = int(np.ceil(N_SUBSPACES * t**ALPHA)) if n_free < self.n_dims else 1
        subspaces = self.rng.random((n_subspaces, self.n_dims))  # the free coordinates of a row do not matter
        with seeded(int(self.rng.integers(2**31))):
            model = fit_standard_model(self.U, self.y)
            return maximize_on_subspaces(model, subspaces, free, beta=0.2 * n_free * np.log(2 * t))


def maximize_on_subspaces(model: SingleTaskGP, subspaces: Array, free: NDArray[np.int64], beta: float) -> Array:
    """The best point of GP-UCB over the subspaces: all are screened on a grid, the most promising ones climbed."""
    acquisition = UpperConfidenceBound(model, beta=beta)
    inside = sobol_points(len(free), SCREENED, 0)
    screened = np.repeat(subspaces[:, None], SCREENED, axis=1)  # N x SCREENED x d
    screened[:, :, free] = inside
    with no_grad():
        values = acquisition(as_tensor(screened.reshape(-1, 1, subspaces.shape[1]))).reshape(len(subspaces), -1)
    order = values.max(dim=1).values.argsort(descending=True).tolist()
    best_point, best_value = subspaces[0], -np.inf
    for i in order[:REFINED]:
        fixed = {j: float(subspaces[i, j]) for j in range(subspaces.shape[1]) if j not in free}
        point, _ = optimize_acqf(
            acquisition,
            bounds=as_tensor(unit_bounds(subspaces.shape[1])),
            q=1,
            num_restarts=4,
            raw_samples=128,
            fixed_features=fixed or None,
        )
        with no_grad():
            value = float(acquisition(point))
        if value > best_value:
            best_point, best_value = np.asarray(point[0].detach().numpy(), dtype=float), value
    return best_point
