"""SAASBO tells which variables matter; Ax keeps to its problem."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from benchmarks import problems, rivals
from benchmarks.rivals.botorch_models import seeded
from benchmarks.rivals.saasbo import Saasbo


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
