"""SAASBO tells which variables matter; Ax keeps to its problem."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import torch
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
from botorch.models.transforms.outcome import Standardize

from benchmarks import problems, rivals
from benchmarks.rivals.botorch_models import seeded
from benchmarks.rivals.saasbo import PAD_TO, PaddedSaasGP, Saasbo


def _lengthscales() -> list[float]:
    """What a short chain makes of six variables of which two have an effect."""
    problem = problems.make("ackley-6")
    optimizer = Saasbo(problem, 0)
    optimizer.warmup_steps, optimizer.num_samples = 32, 16
    for u in np.random.default_rng(0).random((25, 6)):
        optimizer.tell(problem.from_unit(u), float(np.sin(6 * u[2]) + np.cos(5 * u[5])))
    with seeded(0):
        model = optimizer.sample_model()
    lengthscales: list[float] = model.median_lengthscale.detach().numpy().ravel().tolist()
    return lengthscales


def _log_densities(sizes: list[int]) -> list[tuple[int, float, float]]:
    """Of BoTorch's model and of the padded one, at a few values of the hyperparameters for every size of history."""
    from numpyro.infer.util import log_density  # type: ignore[import-untyped]

    rng = np.random.default_rng(0)
    densities = []
    for n in np.repeat(sizes, 4).tolist():
        X, Y = torch.from_numpy(rng.random((n, 3))), torch.from_numpy(rng.normal(size=(n, 1)))
        values: dict[str, object] = {name: rng.uniform(0.1, 2.0) for name in ("outputscale", "mean", "noise")}
        values |= {"kernel_tausq": rng.gamma(1.0), "_kernel_inv_length_sq": rng.gamma(1.0, size=3)}
        models = (GP(X, Y, outcome_transform=Standardize(m=1)) for GP in (SaasFullyBayesianSingleTaskGP, PaddedSaasGP))
        plain, padded = (float(log_density(model.pyro_model.sample, (), {}, values)[0]) for model in models)
        densities.append((n, plain, padded))
    return densities


def test_rows_that_only_fill_up_leave_the_posterior_of_saasbo_as_it_was() -> None:
    """They add one constant to the log density, whatever the hyperparameters."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        sizes, plain, padded = np.array(process.submit(_log_densities, [13, 20, 27]).result()).T
    added = -sizes % PAD_TO
    assert set(added) == {0, 7, 13}
    assert np.allclose(plain - padded, added / 2 * np.log(2 * np.pi), rtol=0, atol=1e-3)


def test_saasbo_gives_short_lengthscales_to_the_variables_that_matter() -> None:
    """Of six variables two have an effect, and the sparse prior leaves only those two with short lengthscales."""
    # JAX comes along with the sampler, and a process that has loaded it warns at every fork.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        lengthscales = process.submit(_lengthscales).result()
    assert set(np.argsort(lengthscales)[:2]) == {2, 5}
    assert np.sort(lengthscales)[2] > 3 * np.sort(lengthscales)[1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ax imports parts of its own that it has moved
def test_ax_asks_in_the_box_and_takes_in_other_points(capfd: pytest.CaptureFixture[str]) -> None:
    """A foreign history and its own trials are both completed, on a log scale too, without a word."""
    problem = problems.make("wlan-log")
    optimizer = rivals.make("ax", problem, 0)
    low, high = np.array(problem.bounds).T
    for u in np.random.default_rng(0).random((3, 12)):
        optimizer.tell(problem.from_unit(u), problem.f(problem.from_unit(u)))
    for _ in range(4):
        x = optimizer.ask()
        assert ((low <= x) & (x <= high)).all()
        optimizer.tell(x, problem.f(x))
    assert len(optimizer._client.summarize()) == 7  # type: ignore[attr-defined]
    assert "COMPLETED" not in capfd.readouterr().err


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_ax_is_told_of_whole_numbers_and_choices() -> None:
    """Its points are valid beyond its own design, too, and it takes in one that it did not ask for."""
    problem = problems.make("branches", 0)
    optimizer = rivals.make("ax", problem, 0)
    foreign = np.array([2.0, 4.0, 3.0, 0.5, -0.5])
    optimizer.tell(foreign, problem.f(foreign))
    choices, low, high = np.arange(5) < 3, *np.array(problem.bounds).T
    for _ in range(7):
        x = optimizer.ask()
        assert ((low <= x) & (x <= high)).all()
        np.testing.assert_array_equal(x[choices], np.rint(x[choices]))
        optimizer.tell(x, problem.f(x))
