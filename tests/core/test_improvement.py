"""Expected improvement as the judge of exploration weights, against integration and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from core import layout as layouts
from core.improvement import Improvement, best_by_component, log_h, log_improvement
from core.posterior import condition
from tests.core.support import Array, random_hyper, unit_space
from tests.core.test_evidence import told
from tests.core.test_model import mixed_history, surrogate
from tests.core.test_posterior import at


@pytest.mark.parametrize("u", [5.0, 1.0, 0.0, -0.5, -0.999, -1.001, -3.0, -10.0, -37.0, -200.0, -9e3, -1.1e4, -1e6])
def test_log_h_equals_the_integral(u: float) -> None:
    """log(pdf + u cdf) is the log of the integral of s pdf(s - u) over s > 0, also where it underflows."""
    rate = max(1.0, -u)
    inside, _ = quad(lambda s: s / rate**2 * math.exp(s / rate * u - (s / rate) ** 2 / 2), 0, 60 + 8 * max(u, 0) ** 2)
    expected = math.log(inside) - u * u / 2 - math.log(2 * math.pi) / 2
    assert log_h(np.array([u]))[0] == pytest.approx(expected, rel=1e-7, abs=1e-6)


def test_log_h_of_very_different_numbers_at_once() -> None:
    """Each is what it is by itself: no branch spoils another, and none overflows."""
    u = np.array([-1e6, -50.0, -2.0, 0.5, 40.0, 1e3])
    np.testing.assert_array_equal(log_h(u), [log_h(u[i : i + 1])[0] for i in range(len(u))])


def expected_improvement(mean: Array, sd: Array, best: float) -> Array:
    """E max(0, f - best), summed over a fine grid of normal quantiles."""
    z = np.linspace(-9, 9, 100_001)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    return np.array([(np.maximum(0, m + s * z - best) * density).sum() for m, s in zip(mean, sd, strict=True)])


def test_log_improvement_equals_the_integral() -> None:
    """Any mean and deviation give the log of the integral."""
    gap, sd = np.array([-2.0, 0.0, 0.7, -0.1]), np.array([1.0, 0.3, 2.0, 0.05])
    got = log_improvement(torch.from_numpy(gap), torch.from_numpy(sd)).numpy()
    np.testing.assert_allclose(got, np.log(expected_improvement(gap, sd, 0.0)), atol=1e-6)


def two_models(seed: int) -> tuple[Improvement, Array]:
    """A judge over two decompositions of three variables, and six points to judge."""
    rng = np.random.default_rng(seed)
    layout = layouts.shared(unit_space(3), [((0, 1), (2,)), ((0,), (1,), (2,))], [0, 1])
    X, y = rng.random((10, 3)), rng.standard_normal(10)
    posterior = condition(layout, random_hyper(layout, rng), "matern52", told(X, y))
    weights = torch.tensor([0.7, 0.3], dtype=torch.float64)
    return Improvement.over(posterior, weights, torch.from_numpy(X[:5])), rng.random((6, 3))


@pytest.mark.parametrize("seed", range(5))
def test_improvement_averages_over_the_decompositions(seed: int) -> None:
    """Each model is judged against its own incumbent; the improvements are averaged by weight."""
    judge, x = two_models(seed)
    mean, var = (part.numpy() for part in judge.posterior.total(torch.from_numpy(x)))
    best = judge.best.numpy()
    promise = sum(w * expected_improvement(mean[k], np.sqrt(var[k]), best[k]) for k, w in enumerate((0.7, 0.3)))
    np.testing.assert_allclose(judge.value(torch.from_numpy(x)).exp().numpy(), promise, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_gradient_of_the_improvement_equals_central_differences(seed: int) -> None:
    """In every coordinate, through the means and variances of the sums of both models."""
    judge, x = two_models(seed)
    at = [judge.value_and_gradient(row) for row in x]
    np.testing.assert_allclose([value for value, _ in at], judge.value(torch.from_numpy(x)).numpy(), rtol=1e-9)
    gradient = np.stack([gradient for _, gradient in at])
    for j in range(3):
        step = np.zeros(3)
        step[j] = 1e-6
        up, down = (judge.value(torch.from_numpy(x + sign * step)).numpy() for sign in (1, -1))
        np.testing.assert_allclose(gradient[:, j], (up - down) / 2e-6, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_factors_are_judged_by_their_sum_in_common_units(seed: int) -> None:
    """With decomposed output f is the sum of the factors, each by its gain: one improvement for a whole component."""
    problem, observed, X, *_ = mixed_history(0, width=20.0)
    model = surrogate(problem, observed)
    x = np.random.default_rng(seed).random((6, 3))
    gain = model.gain.numpy()
    mean, var = at(model.posterior, x)
    best = float((gain @ at(model.posterior, X)[0]).max())
    promise = expected_improvement(gain @ mean, np.sqrt(gain**2 @ var), best)
    got, rows = best_by_component(model.posterior, model.gain, torch.from_numpy(x), torch.from_numpy(X))
    assert rows == [int(np.argmax(promise))]
    np.testing.assert_array_equal(got.numpy(), x[rows[0]])


def test_disjoint_factors_are_put_together_from_the_best_of_each() -> None:
    """Parts that share no variable are judged by themselves, over everything that was seen."""
    rng = np.random.default_rng(3)
    factors = ((0, 2), (1,))
    layout = layouts.separate(unit_space(3), factors)
    X, Y = rng.random((8, 3)), rng.standard_normal((2, 8))
    posterior = condition(layout, random_hyper(layout, rng), "matern52", told(X, Y))
    x, gain = rng.random((5, 3)), torch.tensor([1.0, 0.3], dtype=torch.float64)
    mixed, rows = best_by_component(posterior, gain, torch.from_numpy(x), torch.from_numpy(X))
    got = mixed.numpy()
    assert len(rows) == len(factors)
    mean, var = at(posterior, x)
    for i, members in enumerate(factors):
        best = float(at(posterior, X)[0][i].max())
        row = int(np.argmax(expected_improvement(mean[i], np.sqrt(var[i]), best)))
        np.testing.assert_array_equal(got[list(members)], x[row, list(members)])
