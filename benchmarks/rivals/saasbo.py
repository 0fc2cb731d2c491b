"""SAASBO (Eriksson and Jankowiak 2021): few variables matter, and a sparse prior averaged by NUTS says which.

BoTorch's fully Bayesian model, with the shorter chain that its own tutorial recommends, and LogEI averaged over it.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.fit import fit_fully_bayesian_model_nuts
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP, SaasPyroModel
from botorch.models.transforms.outcome import Standardize

from benchmarks.problems import Array
from benchmarks.rivals.base import Rival
from benchmarks.rivals.botorch_models import maximize, seeded, tensors, unit_bounds

WARMUP_STEPS, NUM_SAMPLES, THINNING = 256, 128, 16
CLEAR_EVERY = 40  # asks
PAD_TO = 20  # observations: to compile takes longer than to sample, and every size is compiled for


class PaddedSaas(SaasPyroModel):
    """The same posterior from a size that is shared by many asks: rows of no information, independent of the others."""

    def set_inputs(self, train_X: Any, train_Y: Any, *args: Any, **kwargs: Any) -> None:
        super().set_inputs(train_X, train_Y, *args, **kwargs)
        import jax.numpy as jnp  # here, since a process that has loaded it warns at every fork

        n = len(train_X)
        rows = ((0, -n % PAD_TO), (0, 0))
        self.train_X_jax = jnp.pad(self.train_X_jax, rows)
        self.train_Y_jax = jnp.pad(self.train_Y_jax, rows)
        self.seen = jnp.arange(len(self.train_X_jax)) < n

    def sample_observations(self, mean: Any, K_noiseless: Any, noise: Any) -> None:
        import jax.numpy as jnp

        pairs = self.seen[:, None] & self.seen
        mean = jnp.where(self.seen, mean, 0.0)
        noise = jnp.where(self.seen, noise, 1.0)
        super().sample_observations(mean, jnp.where(pairs, K_noiseless, 0.0), noise)


class PaddedSaasGP(SaasFullyBayesianSingleTaskGP):
    """BoTorch's model; only its sampler sees the rows that were added."""

    _pyro_model_class = PaddedSaas


def keep_compiled(n_obs: int) -> None:
    """Programs compiled for one number of observations serve every later ask of it, in this run and in others.

    Those in memory go now and then: of a few hundred asks they are more than a process may map.
    """
    import jax  # here, since a process that has loaded it warns at every fork

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dumbo-benchmarks" / "jax"
    settings = {
        "jax_compilation_cache_dir": str(cache),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in settings.items():
        jax.config.update(name, value)  # type: ignore[no-untyped-call]
    if n_obs % CLEAR_EVERY == 0:
        jax.clear_caches()  # type: ignore[no-untyped-call]


class Saasbo(Rival):
    """Sampled afresh at every ask: the chain is not warm-started, as in the paper."""

    warmup_steps, num_samples = WARMUP_STEPS, NUM_SAMPLES

    def suggest(self) -> Array:
        with seeded(int(self.rng.integers(2**31))):
            model = self.sample_model()
            acquisition = qLogExpectedImprovement(model, best_f=float(self.y.max()))
            return maximize(acquisition, unit_bounds(self.n_dims))

    def sample_model(self) -> SaasFullyBayesianSingleTaskGP:
        keep_compiled(len(self.y))
        X, Y = tensors(self.U, self.y)
        model = PaddedSaasGP(X, Y, outcome_transform=Standardize(m=1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # between numpyro and jax
            fit_fully_bayesian_model_nuts(
                model,
                warmup_steps=self.warmup_steps,
                num_samples=self.num_samples,
                thinning=THINNING,
                disable_progbar=True,
                seed=int(self.rng.integers(2**31)),
            )
        return model
