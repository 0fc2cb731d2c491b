"""Features: their slopes, and models that have one, against finite differences and dense formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core import feature
from core.acquisition import build
from core.evidence import log_evidence
from core.feature import FEATURES, Feature, n_numbers
from core.featured import featured
from core.gradient import PairEvidence, evidence_and_gradient
from core.hyper import Hyperparameters
from core.pairs import Pairs
from core.posterior import FactorPosterior, condition
from core.problem import Kernel
from tests.core.support import (
    KERNELS,
    Array,
    DenseModel,
    finite_difference,
    kernel_matrix,
    random_hyper,
    unit_space,
)
from tests.core.test_evidence import told

D = 4


def column(kind: Feature, theta: Array, X: Array) -> Array:
    """t: the feature written out, from what its numbers mean."""
    centered = X - 0.5
    if kind == "ridge":
        return np.array([sum(10.0 / len(x) * w * v for w, v in zip(theta, x, strict=True)) for x in centered])
    return np.asarray((2.0 + theta[-1]) * np.sqrt(np.linalg.norm(centered - 0.35 * theta[:-1], axis=1) ** 2 + 1e-6))


class Dense(DenseModel):
    """One factor of all variables and a feature, with dense matrices."""

    def __init__(self, kind: Feature, kernel: Kernel, hyper: Hyperparameters, X: Array, y: Array) -> None:
        self.feature, self.theta = kind, hyper.feature.numpy()
        noise = np.full(len(X), float(torch.exp(hyper.log_noise[0])))
        ell, scale = np.exp(hyper.log_lengthscale.numpy()), float(torch.exp(hyper.log_scale[0]))
        super().__init__(kernel, (tuple(range(D)),), [ell], [scale], X, y, noise, float(hyper.mean[0]))

    def cross(self, i: int, A: Array, B: Array) -> Array:
        wide = [self._wide(i, x) for x in (A, B)]
        return self.scales[i] * kernel_matrix(self.kernel, *wide, np.ones(D + 1))

    def _wide(self, i: int, x: Array) -> Array:
        """The mean over these D + 1 columns is the mean over D of them plus the last."""
        h = column(self.feature, self.theta, x)
        return np.column_stack([x / self.lengthscales[i] / np.sqrt(D), h]) * np.sqrt(D + 1)


def setting(kind: Feature, seed: int = 0) -> tuple[Hyperparameters, Array, Array, np.random.Generator]:
    rng = np.random.default_rng(seed)
    layout = featured(unit_space(D), kind)
    theta = torch.from_numpy(rng.standard_normal(n_numbers(kind, D)))
    hyper = replace(random_hyper(layout, rng), feature=theta)
    return hyper, rng.random((11, D)), rng.standard_normal(11), rng


def posterior(kind: Feature, kernel: Kernel = "matern52", seed: int = 0) -> tuple[FactorPosterior, Dense, Array]:
    hyper, X, y, rng = setting(kind, seed)
    made = condition(featured(unit_space(D), kind), hyper, kernel, told(X, y))
    return made, Dense(kind, kernel, hyper, X, y), rng.random((5, D))


@pytest.mark.parametrize("kind", FEATURES)
@given(seed=st.integers(0, 1000), m=st.integers(1, 6))
def test_slopes_are_those_of_the_feature(kind: Feature, seed: int, m: int) -> None:
    """In the point and in its numbers, for arrays as for tensors."""
    rng = np.random.default_rng(seed)
    theta, x = rng.standard_normal(n_numbers(kind, m)), rng.random((3, m)) - 0.5
    there = torch.from_numpy(theta), torch.from_numpy(x)
    np.testing.assert_allclose(feature.value(kind, theta, x), column(kind, theta, x + 0.5), atol=1e-12)
    np.testing.assert_allclose(feature.value(kind, *there).numpy(), feature.value(kind, theta, x), atol=1e-14)
    by_point = np.broadcast_to(feature.slope(kind, theta, x), x.shape)
    by_number = feature.jacobian(kind, *there).numpy()
    for i in range(3):

        def at(p: Array, i: int = i) -> float:
            return float(feature.value(kind, theta, p[None])[0])

        def of(t: Array, i: int = i) -> float:
            return float(feature.value(kind, t, x[i : i + 1])[0])

        np.testing.assert_allclose(by_point[i], finite_difference(at, x[i]), atol=1e-5)
        np.testing.assert_allclose(by_number[i], finite_difference(of, theta), atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", FEATURES)
def test_posterior_and_evidence_equal_the_dense_formula(kind: Feature, kernel: Kernel) -> None:
    """In a batch and at one point; the squared distance has the feature's difference added to it."""
    made, dense, x = posterior(kind, kernel)
    mean, var = (part[0].numpy() for part in made.total(torch.from_numpy(x)))
    np.testing.assert_allclose(mean, dense.total(x)[0], atol=1e-8)
    np.testing.assert_allclose(var, dense.total(x)[1], atol=1e-8)
    assert float(made.log_evidence[0]) == pytest.approx(dense.log_evidence(), abs=1e-8)
    for row, m, v in zip(x, mean, var, strict=True):
        at = made.single.sums(row)
        assert float(at.mean[0] + made.constant()[0]) == pytest.approx(m, abs=1e-8)
        assert float(at.var[0]) == pytest.approx(v, abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", FEATURES)
def test_evidence_has_the_gradient_of_finite_differences(kind: Feature, kernel: Kernel) -> None:
    """In all hyperparameters, the feature's numbers among them."""
    hyper, X, y, _ = setting(kind, seed=1)
    layout, data = featured(unit_space(D), kind), told(X, y)

    def value(theta: Array) -> float:
        return float(log_evidence(layout, hyper.unpack(torch.from_numpy(theta)), kernel, data)[0])

    got, gradient = evidence_and_gradient(layout, hyper, kernel, data, torch.ones(1, dtype=torch.float64))
    theta = hyper.pack().numpy()
    assert float(got) == pytest.approx(value(theta), abs=1e-9)
    assert gradient.feature.abs().max() > 1e-3
    np.testing.assert_allclose(gradient.pack().numpy(), finite_difference(value, theta), atol=1e-5, rtol=1e-5)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_a_small_ridge_gains_what_its_curvature_says(seed: int) -> None:
    """The evidence has no slope in a ridge of nothing; along any direction it grows with the square."""
    hyper, X, y, rng = setting("ridge", seed)
    layout, data = featured(unit_space(D), "ridge"), told(X, y)
    flat = replace(hyper, feature=torch.zeros(D, dtype=torch.float64))
    C = PairEvidence(layout, "matern52", data, Pairs(data.X)).ridge_curvature(flat).numpy()
    r = rng.standard_normal(D)
    step = 1e-3

    def evidence(scale: float) -> float:
        theta = torch.from_numpy(scale * r * D / feature.RIDGE)
        return float(log_evidence(layout, replace(flat, feature=theta), "matern52", data)[0])

    grown = (evidence(step) - 2 * evidence(0.0) + evidence(-step)) / (2 * step**2)
    assert evidence(step) == pytest.approx(evidence(-step), abs=1e-9)
    assert r @ C @ r == pytest.approx(grown, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("kind", FEATURES)
def test_acquisition_and_posterior_have_the_gradients_of_finite_differences(kind: Feature) -> None:
    """What ADMM climbs by (in a batch) and what the polish climbs by (at one point)."""
    made, _, x = posterior(kind, seed=3)
    phi = build(made, torch.ones(1, dtype=torch.float64), 1.5, "union")

    def value(p: Array) -> float:
        return float(phi.value(torch.from_numpy(p)[None]))

    at = made.tangent(made.layout.gather(torch.from_numpy(x)))
    by_mean = made.gradient(at, torch.ones_like(at.mean), torch.zeros_like(at.var))[0].numpy()
    by_var = made.gradient(at, torch.zeros_like(at.mean), torch.ones_like(at.var))[0].numpy()
    for i, row in enumerate(x):

        def mean(p: Array) -> float:
            return float(made.total(torch.from_numpy(p)[None])[0])

        def var(p: Array) -> float:
            return float(made.total(torch.from_numpy(p)[None])[1])

        np.testing.assert_allclose(by_mean[i], finite_difference(mean, row), atol=1e-5)
        np.testing.assert_allclose(by_var[i], finite_difference(var, row), atol=1e-5)
        np.testing.assert_allclose(phi.value_and_gradient(row)[1], finite_difference(value, row), atol=1e-4)


@pytest.mark.parametrize("kind", FEATURES)
def test_conditioning_on_awaited_points_goes_by_the_feature_as_well(kind: Feature) -> None:
    """Variances shrink as if the points were observed."""
    made, _, x = posterior(kind, seed=4)
    hyper, X, y, _ = setting(kind, seed=4)
    new = np.full((1, D), 0.4)
    again = condition(made.layout, hyper, "matern52", told(np.vstack([X, new]), np.append(y, 0.0)))
    var = made.extended(torch.from_numpy(new)).total(torch.from_numpy(x))[1]
    torch.testing.assert_close(var, again.total(torch.from_numpy(x))[1], rtol=0, atol=1e-8)
