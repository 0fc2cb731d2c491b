"""BoTorch's plain way: its default Gaussian process and log expected improvement (Ament et al. 2023)."""

from __future__ import annotations

import time

from botorch.acquisition.analytic import LogExpectedImprovement

from benchmarks.problems import Array
from benchmarks.rivals.base import Rival
from benchmarks.rivals.botorch_models import fit_standard_model, maximize, seeded, unit_bounds


class BotorchLogEI(Rival):
    """`SingleTaskGP` with its default priors; improvement is counted from the best value seen."""

    def suggest(self) -> Array:
        with seeded(int(self.rng.integers(2**31))):
            start = time.perf_counter()
            model = fit_standard_model(self.U, self.y)
            fitted = time.perf_counter()
            u = maximize(LogExpectedImprovement(model, best_f=float(self.y.max())), unit_bounds(self.n_dims))
        self.phases = {"fit": fitted - start, "maximise": time.perf_counter() - fitted}
        return u
