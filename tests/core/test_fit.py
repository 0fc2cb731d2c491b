"""Fitting hyperparameters, against a brute search and the planted truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from core import layout as layouts
from core.evidence import log_evidence
from core.fit import fit, subset
from core.hyper import LEVEL_SD, Hyperparameters
from tests.core.support import Array, unit_space
from tests.core.test_evidence import told


def log_posterior(hyper: Hyperparameters, layout: layouts.Layout, X: Array, y: Array) -> float:
    """Evidence plus log prior."""
    return float(log_evidence(layout, hyper, "matern52", told(X, y)).sum()) + dense_log_prior(hyper)


def dense_log_prior(hyper: Hyperparameters) -> float:
    """The normal density with its whole covariance matrix, relative to its peak."""
    prior, n = hyper.prior(), len(hyper.log_lengthscale)
    covariance = np.diag(prior.sd**2)
    covariance[:n, :n] += LEVEL_SD**2
    density = multivariate_normal(prior.center, covariance)
    return float(density.logpdf(hyper.pack().numpy()) - density.logpdf(prior.center))


def example(t: int = 30) -> tuple[layouts.Layout, Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.random((t, 2))
    y = np.sin(6 * X[:, 0]) + 0.05 * rng.standard_normal(t)
    return layouts.known(unit_space(2), ((0,), (1,))), X, (y - y.mean()) / y.std()


def test_fit_ends_at_a_stationary_point_of_evidence_plus_prior() -> None:
    """No free parameter has a slope left, the value told is true, and it beats the start by far."""
    layout, X, y = example()
    start = Hyperparameters.default(layout)
    found = fit(layout, "matern52", told(X, y), start, max_evaluations=500)
    assert found.log_posterior == pytest.approx(log_posterior(found.hyper, layout, X, y), abs=1e-6)
    assert found.log_posterior > log_posterior(start, layout, X, y) + 1
    theta, prior = found.hyper.pack().numpy(), start.prior()
    slope = approx_fprime(theta, lambda v: log_posterior(start.unpack(torch.from_numpy(v)), layout, X, y), 1e-6)
    inside = (theta > prior.low + 1e-3) & (theta < prior.high - 1e-3)
    assert np.abs(slope[inside]).max() < 0.1
    assert ((theta >= prior.low) & (theta <= prior.high)).all()


@given(n_dims=st.integers(1, 6), seed=st.integers(0, 999))
def test_prior_is_the_dense_normal_density_and_its_gradient(n_dims: int, seed: int) -> None:
    """The closed form of its inverse covariance equals the matrix's; the gradient equals finite differences."""
    layout = layouts.known(unit_space(n_dims), tuple((j,) for j in range(n_dims)))
    base = Hyperparameters.default(layout)
    theta = base.pack().numpy() + np.random.default_rng(seed).normal(0, 1, len(base.pack()))
    value, slope = base.prior()(theta)
    assert value == pytest.approx(dense_log_prior(base.unpack(torch.from_numpy(theta))), abs=1e-8)
    assert slope == pytest.approx(approx_fprime(theta, lambda v: base.prior()(v)[0], 1e-6), abs=1e-4)


def test_prior_lets_all_lengthscales_move_together() -> None:
    """A change common to a hundred lengthscales costs hardly more than one of a single one."""
    hyper = Hyperparameters.default(layouts.shared(unit_space(100), [tuple((j,) for j in range(100))]))
    together = hyper.unpack(hyper.pack() + torch.tensor([1.0] * 100 + [0.0] * 3))
    alone = hyper.unpack(hyper.pack() + torch.tensor([1.0] + [0.0] * 102))
    assert 2 * alone.log_prior() < together.log_prior() < -0.4


def test_fit_finds_which_variable_matters() -> None:
    """The variable that the data do not depend on gets the longer lengthscale or the smaller variance."""
    layout, X, y = example()
    hyper = fit(layout, "matern52", told(X, y), Hyperparameters.default(layout)).hyper
    wiggle = hyper.log_scale - 2 * hyper.log_lengthscale
    assert float(wiggle[0]) > float(wiggle[1]) + 1
    assert math.exp(float(hyper.log_noise[0])) < 0.1


def test_warm_start_is_no_worse_and_cheaper() -> None:
    """Starting from the last answer needs fewer evaluations for at least the same value."""
    layout, X, y = example()
    cold = fit(layout, "matern52", told(X, y), Hyperparameters.default(layout), max_evaluations=500)
    warm = fit(layout, "matern52", told(X, y), cold.hyper, max_evaluations=500)
    assert warm.log_posterior >= cold.log_posterior - 1e-9
    assert warm.evaluations < cold.evaluations


def test_warmed_takes_stored_values_that_fit_and_no_others() -> None:
    """Stored values of the same shapes are taken over exactly; of other shapes they are left."""
    layout, _, _ = example()
    base = Hyperparameters.default(layout)
    other = base.unpack(base.pack() + 0.25)
    assert torch.equal(base.warmed(other.to_dict()).pack(), other.pack())
    stored = other.to_dict()
    stored["mean"] = [1.0, 2.0]
    assert base.warmed(stored) is base
    assert base.warmed(None) is base


def test_deadline_returns_the_best_seen() -> None:
    """Out of time after the first evaluation, the start itself comes back with its true value."""
    layout, X, y = example()
    start = Hyperparameters.default(layout)
    found = fit(layout, "matern52", told(X, y), start, expired=lambda: True)
    assert torch.equal(found.hyper.pack(), start.pack())
    assert found.log_posterior == pytest.approx(log_posterior(start, layout, X, y), abs=1e-8)


def test_constant_outputs_fit_within_bounds() -> None:
    """All-zero outputs are no reason to fail."""
    layout, X, _ = example(8)
    hyper = fit(layout, "matern52", told(X, np.zeros(8)), Hyperparameters.default(layout)).hyper
    assert bool(torch.isfinite(hyper.pack()).all())


@given(st.integers(1, 120), st.integers(6, 60), st.integers(0, 1000))
def test_subset_is_distinct_sorted_and_keeps_best_and_newest(t: int, limit: int, seed: int) -> None:
    """At most `limit` rows, each once, in order, the best third and the newest third among them."""
    y = np.random.default_rng(seed).standard_normal(t)
    rows = subset(y, limit)
    assert len(rows) == min(t, limit) == len(set(rows.tolist()))
    assert rows.tolist() == sorted(rows.tolist())
    third = limit // 3
    if t > limit:
        assert set(np.argsort(y)[-third:].tolist()) <= set(rows.tolist())
        assert set(range(t - third, t)) <= set(rows.tolist())
