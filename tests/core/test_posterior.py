"""Factor posteriors, against Prop. 3.4 in dense numpy, gpytorch and joint Gaussians."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core import layout as layouts
from core.evidence import Data
from core.graph import Factors
from core.hyper import Hyperparameters
from core.layout import Layout
from core.posterior import FactorPosterior, condition, condition_mixed
from core.problem import Kernel
from tests.core.support import KERNELS, Array, dense, kernel_matrix, random_hyper, unit_space
from tests.core.test_evidence import Peer, setting, told


def at(posterior: FactorPosterior, x: Array) -> tuple[Array, Array]:
    """Factor means and variances, n x S each."""
    moments = posterior.moments(posterior.layout.gather(torch.from_numpy(x)))
    return moments.mean.numpy(), moments.var.numpy()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [1e-2, None])
@pytest.mark.parametrize("seed", range(3))
def test_factor_posterior_equals_the_dense_formula(kernel: Kernel, noise: float | None, seed: int) -> None:
    """Prop. 3.4 to 1e-8 for random overlapping graphs, with fitted noise and with (almost) none given."""
    space, factors, X, y, rng = setting(seed)
    layout = layouts.known(space, factors)
    hyper = random_hyper(layout, rng)
    level = float(torch.exp(hyper.log_noise[0])) if noise else 1e-4
    variances = np.full(len(X), level)
    posterior = condition(layout, hyper, kernel, told(X, y, None if noise else variances))
    other, x = dense("known", kernel, factors, hyper, X, y, variances), rng.random((6, 4))
    mean, var = at(posterior, x)
    for i in range(len(factors)):
        np.testing.assert_allclose(mean[i], other.factor(i, x)[0], atol=1e-8)
        np.testing.assert_allclose(var[i], other.factor(i, x)[1], atol=1e-8)
    total_mean, total_var = posterior.total(torch.from_numpy(x))
    np.testing.assert_allclose(total_mean[0], other.total(x)[0], atol=1e-8)
    np.testing.assert_allclose(total_var[0], other.total(x)[1], atol=1e-8)
    np.testing.assert_allclose(mean.sum(0) + float(hyper.mean[0]), total_mean[0].numpy(), atol=1e-8)
    assert float(posterior.log_evidence[0]) == pytest.approx(other.log_evidence(), abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_noiseless_posterior_interpolates(kernel: Kernel) -> None:
    """With no noise at all the mean passes through well separated data and the variance vanishes there."""
    space = unit_space(2)
    layout = layouts.known(space, ((0,), (0, 1)))
    hyper = Hyperparameters.default(layout)
    hyper = hyper.unpack(torch.cat([torch.full((2,), math.log(0.1)), torch.zeros(4)]).double())
    X = np.stack(np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 1, 4)), -1).reshape(-1, 2)
    y = np.sin(7 * X[:, 0]) + X[:, 1]
    posterior = condition(layout, hyper, kernel, told(X, y, np.zeros(len(X))))
    mean, var = (part[0].numpy() for part in posterior.total(torch.from_numpy(X)))
    np.testing.assert_allclose(mean, y, atol=1e-8)
    assert (var < 1e-8).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", range(2))
def test_posterior_equals_gpytorch_additive_model(kernel: Kernel, seed: int) -> None:
    """The sum's posterior is gpytorch's ExactGP with an additive kernel; factor means use gpytorch's own parts."""
    space, factors, X, y, rng = setting(20 + seed)
    layout = layouts.shared(space, [factors])
    hyper = random_hyper(layout, rng)
    noise = np.full(len(X), float(torch.exp(hyper.log_noise[0])))
    other = dense("shared", kernel, factors, hyper, X, y, noise)
    model = Peer(kernel, factors, list(other.lengthscales), list(other.scales), X, y, noise, float(hyper.mean[0]))
    model.eval()
    x = rng.random((5, 4))
    here, there = torch.from_numpy(x), torch.from_numpy(X)
    posterior = condition(layout, hyper, kernel, told(X, y))
    with torch.no_grad():
        f = model(here)
        weights = torch.linalg.solve(
            model.covar_module(there).to_dense() + torch.diag(torch.from_numpy(noise)),
            torch.from_numpy(y) - model.mean_module.constant,
        )
        parts = torch.stack([part(here, there).to_dense() @ weights for part in model.parts])
    mean, var = posterior.total(here)
    torch.testing.assert_close(mean[0], f.mean, rtol=0, atol=1e-8)
    torch.testing.assert_close(var[0], f.variance, rtol=0, atol=1e-8)
    np.testing.assert_allclose(at(posterior, x)[0], parts.numpy(), atol=1e-8)


def test_decompositions_side_by_side_do_not_mix() -> None:
    """Each of k models conditions its own factors; unequal numbers of factors stay apart."""
    space, factors, X, y, rng = setting(30)
    many: list[Factors] = [factors, ((0, 1, 2, 3),), ((0,), (1,), (2,), (3,))]
    layout = layouts.shared(space, many)
    hyper = random_hyper(layout, rng)
    noise = np.full(len(X), float(torch.exp(hyper.log_noise[0])))
    x = rng.random((3, 4))
    mean, var = at(condition(layout, hyper, "matern52", told(X, y)), x)
    expected = [dense("shared", "matern52", f, hyper, X, y, noise).factor(i, x) for f in many for i in range(len(f))]
    np.testing.assert_allclose(mean, [m for m, _ in expected], atol=1e-8)
    np.testing.assert_allclose(var, [v for _, v in expected], atol=1e-8)


def separate_peers(
    kernel: Kernel, factors: Factors, hyper: Hyperparameters, X: Array, Y: Array
) -> list[tuple[Peer, Array, float, float]]:
    """n gpytorch GPs on one column each, with their lengthscales, scale and noise."""
    start, made = 0, []
    for i, members in enumerate(factors):
        ell = np.exp(hyper.log_lengthscale[start : start + len(members)].numpy())
        start += len(members)
        scale, noise = float(torch.exp(hyper.log_scale[i])), float(torch.exp(hyper.log_noise[i]))
        model = Peer(kernel, (members,), [ell], [scale], X, Y[i], np.full(len(X), noise), float(hyper.mean[i]))
        made.append((model, ell, scale, noise))
    return made


@pytest.mark.parametrize("kernel", KERNELS)
def test_decomposed_output_equals_separate_gpytorch_models(kernel: Kernel) -> None:
    """App. C: with Y, every factor is its own GP on its own column."""
    space, factors, X, _, rng = setting(40)
    layout = layouts.separate(space, factors)
    hyper = random_hyper(layout, rng)
    Y = rng.standard_normal((len(factors), len(X)))
    x = rng.random((5, 4))
    mean, var = at(condition(layout, hyper, kernel, told(X, Y)), x)
    for i, (model, *_) in enumerate(separate_peers(kernel, factors, hyper, X, Y)):
        model.eval()
        with torch.no_grad():
            f = model(torch.from_numpy(x))
        np.testing.assert_allclose(mean[i] + float(hyper.mean[i]), f.mean.numpy(), atol=1e-8)
        np.testing.assert_allclose(var[i], f.variance.numpy(), atol=1e-8)


class Joint:
    """The joint Gaussian over [every factor's observations; sums], written out densely."""

    def __init__(
        self,
        factors: Factors,
        hyper: Hyperparameters,
        X: Array,
        Y: Array,
        X_sum: Array,
        y_sum: Array,
        sum_noise: Array,
        gain: Array,
    ) -> None:
        self.gain, self.factors, self.X, self.X_sum = gain, factors, X, X_sum
        peers = separate_peers("matern52", factors, hyper, X, Y)
        self.ell, self.scale = [p[1] for p in peers], [p[2] for p in peers]
        n, t, s = len(factors), len(X), len(X_sum)
        mean = hyper.mean.numpy()
        C = np.zeros((n * t + s, n * t + s))
        for i in range(n):
            own = slice(i * t, (i + 1) * t)
            C[own, own] = self.k(i, X, X) + peers[i][3] * np.eye(t)
            C[own, n * t :] = gain[i] * self.k(i, X, X_sum)
            C[n * t :, own] = C[own, n * t :].T
            C[n * t :, n * t :] += gain[i] ** 2 * self.k(i, X_sum, X_sum)
        C[n * t :, n * t :] += np.diag(sum_noise)
        self.C = C
        self.residual = np.concatenate([(Y - mean[:, None]).ravel(), y_sum - gain @ mean])

    def k(self, i: int, A: Array, B: Array) -> Array:
        columns = list(self.factors[i])
        return self.scale[i] * kernel_matrix("matern52", A[:, columns], B[:, columns], self.ell[i])

    def cross(self, i: int, x: Array) -> Array:
        n, t = len(self.factors), len(self.X)
        row = np.zeros((len(x), len(self.C)))
        row[:, i * t : (i + 1) * t] = self.k(i, x, self.X)
        row[:, n * t :] = self.gain[i] * self.k(i, x, self.X_sum)
        return row

    def factor(self, i: int, x: Array) -> tuple[Array, Array]:
        row = self.cross(i, x)
        var = np.diag(self.k(i, x, x) - row @ np.linalg.solve(self.C, row.T))
        return row @ np.linalg.solve(self.C, self.residual), var


def mixed(seed: int) -> tuple[Layout, Hyperparameters, Data, Data, torch.Tensor, Joint, np.random.Generator]:
    space, factors, X, _, rng = setting(seed, t=10)
    layout = layouts.separate(space, factors)
    hyper = random_hyper(layout, rng)
    Y, X_sum, y_sum = rng.standard_normal((len(factors), 10)), rng.random((7, 4)), rng.standard_normal(7)
    sum_noise, gain = 0.01 + rng.random(7), 0.2 + rng.random(len(factors))
    joint = Joint(factors, hyper, X, Y, X_sum, y_sum, sum_noise, gain)
    sums = told(X_sum, y_sum, sum_noise)
    return layout, hyper, told(X, Y), sums, torch.from_numpy(gain), joint, rng


@pytest.mark.parametrize("seed", range(3))
def test_mixed_history_equals_the_joint_gaussian(seed: int) -> None:
    """Rows told factor by factor and rows told in sum give the posterior of the dense joint Gaussian."""
    layout, hyper, data, sums, gain, joint, rng = mixed(50 + seed)
    x = rng.random((5, 4))
    mean, var = at(condition_mixed(layout, hyper, "matern52", data, sums, gain), x)
    for i in range(layout.n_factors):
        np.testing.assert_allclose(mean[i], joint.factor(i, x)[0], atol=1e-8)
        np.testing.assert_allclose(var[i], joint.factor(i, x)[1], atol=1e-8)


def test_mixed_evidence_counts_the_sums_too() -> None:
    """The evidence of a mixed history is the joint density of everything told, not of the factor rows alone."""
    layout, hyper, data, sums, gain, joint, _ = mixed(60)
    posterior = condition_mixed(layout, hyper, "matern52", data, sums, gain)
    _, log_det = np.linalg.slogdet(joint.C)
    quadratic = joint.residual @ np.linalg.solve(joint.C, joint.residual)
    expected = -0.5 * (quadratic + log_det + len(joint.C) * math.log(2 * math.pi))
    assert float(posterior.log_evidence.sum()) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("kind", ["known", "shared"])
def test_pending_points_equal_refitting_with_the_mean_as_data(kind: str) -> None:
    """Hallucinating pending points gives the variances of a model told its own mean there, and leaves means alone."""
    space, factors, X, y, rng = setting(70)
    many = [factors, ((0, 1), (2, 3))]
    layout = layouts.known(space, factors) if kind == "known" else layouts.shared(space, many)
    hyper = random_hyper(layout, rng)
    noise = float(torch.exp(hyper.log_noise[0]))
    posterior = condition(layout, hyper, "matern52", told(X, y))
    pending, x = rng.random((3, 4)), rng.random((6, 4))
    extended = posterior.extended(torch.from_numpy(pending[:1])).extended(torch.from_numpy(pending[1:]))
    mean, var = at(extended, x)
    np.testing.assert_allclose(mean, at(posterior, x)[0], atol=1e-12)
    row = 0
    for decomposition in [factors] if kind == "known" else many:
        before = dense(kind, "matern52", decomposition, hyper, X, y, np.full(len(X), noise))
        both = np.concatenate([X, pending])
        refit = dense(
            kind, "matern52", decomposition, hyper, both, np.concatenate([y, before.total(pending)[0]]),
            np.full(len(both), noise),
        )  # fmt: skip
        for i in range(len(decomposition)):
            np.testing.assert_allclose(var[row], refit.factor(i, x)[1], atol=1e-8)
            np.testing.assert_allclose(mean[row], refit.factor(i, x)[0], atol=1e-7)
            row += 1


def test_pending_point_lowers_the_variance_to_noise_level() -> None:
    """At a pending point the variance of the sum falls below the noise variance; far away it hardly changes."""
    space, factors, X, y, rng = setting(71)
    layout = layouts.known(space, factors)
    hyper = random_hyper(layout, rng)
    posterior = condition(layout, hyper, "matern52", told(X, y))
    here = torch.from_numpy(rng.random((1, 4)))
    before, after = posterior.total(here)[1], posterior.extended(here).total(here)[1]
    assert float(before) > float(torch.exp(hyper.log_noise[0])) > float(after)


def test_equal_pending_points_are_no_trouble() -> None:
    """The same point pending three times, and one that was told already, still give finite variances."""
    space, factors, X, y, rng = setting(72)
    layout = layouts.known(space, factors)
    posterior = condition(layout, random_hyper(layout, rng, noise=1e-6), "matern52", told(X, y))
    extended = posterior.extended(torch.from_numpy(np.stack([X[0], X[0], X[0]])))
    _, var = at(extended, rng.random((4, 4)))
    assert np.isfinite(var).all()
    assert (var > 0).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_of_moments_equal_automatic_differentiation(kernel: Kernel) -> None:
    """The chain rule through mean and variance equals central differences for every factor and column."""
    space, factors, X, y, rng = setting(80)
    layout = layouts.known(space, factors)
    hyper = random_hyper(layout, rng)
    posterior = condition(layout, hyper, kernel, told(X, y))
    x = layout.gather(torch.from_numpy(rng.random((3, 4))))
    d_mean, d_var = torch.from_numpy(rng.standard_normal((2, len(factors), 3)))
    got = posterior.gradient(posterior.tangent(x), d_mean, d_var) * layout.mask[:, None, :]
    for i, s, c in np.ndindex(*x.shape):
        step = torch.zeros_like(x)
        step[i, s, c] = 1e-6
        up, down = posterior.moments(x + step), posterior.moments(x - step)
        slope = d_mean * (up.mean - down.mean) + d_var * (up.var - down.var)
        expected = float(slope[i, s]) / 2e-6 * float(layout.mask[i, c])
        assert float(got[i, s, c]) == pytest.approx(expected, abs=1e-5)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 5), n=st.integers(1, 5))
def test_variance_lies_between_zero_and_the_prior(seed: int, d: int, n: int) -> None:
    """Conditioning never raises a factor's variance above its prior's nor makes it negative."""
    space, factors, X, y, rng = setting(seed, d, n, t=6)
    layout = layouts.known(space, factors)
    hyper = random_hyper(layout, rng)
    mean, var = at(condition(layout, hyper, "matern52", told(X, y)), rng.random((4, d)))
    prior = torch.exp(hyper.log_scale).numpy() / len(factors)
    assert np.isfinite(mean).all()
    assert (var > 0).all()
    assert (var <= prior[:, None] + 1e-12).all()


def test_noise_is_part_of_the_inverse() -> None:
    """Trap: with large noise the factor posterior shrinks to the prior, as K + sigma^2 I says and K alone does not."""
    space, factors, X, y, rng = setting(81)
    layout = layouts.known(space, factors)
    hyper = random_hyper(layout, rng)
    mean, var = at(condition(layout, hyper, "matern52", told(X, y, np.full(len(X), 1e6))), X[:3])
    assert np.abs(mean).max() < 1e-4
    np.testing.assert_allclose(
        var, (torch.exp(hyper.log_scale).numpy() / len(factors))[:, None].repeat(3, 1), rtol=1e-4
    )


def test_constant_mean_enters_the_factor_posterior() -> None:
    """Trap: shifting y and the constant together leaves every factor alone; shifting y alone does not."""
    space, factors, X, y, rng = setting(82)
    layout = layouts.known(space, factors)
    hyper = random_hyper(layout, rng)
    shifted = Hyperparameters(hyper.log_lengthscale, hyper.log_scale, hyper.log_noise, hyper.mean + 5)
    x = rng.random((4, 4))
    one = at(condition(layout, hyper, "matern52", told(X, y)), x)[0]
    both = at(condition(layout, shifted, "matern52", told(X, y + 5)), x)[0]
    ignored = at(condition(layout, hyper, "matern52", told(X, y + 5)), x)[0]
    np.testing.assert_allclose(both, one, atol=1e-9)
    assert np.abs(ignored - one).max() > 0.1


def test_repeated_inputs_average_their_outputs() -> None:
    """Two different values at one input are legal: the posterior mean there lies between them, and nothing moves."""
    space = unit_space(1)
    layout = layouts.known(space, ((0,),))
    hyper = random_hyper(layout, np.random.default_rng(0))
    X = np.array([[0.2], [0.2], [0.8]])
    for y in (np.array([1.0, 3.0, -1.0]), np.array([3.0, 1.0, -1.0])):
        posterior = condition(layout, hyper, "matern52", told(X, y))
        mean = posterior.total(torch.tensor([[0.2], [0.8]], dtype=torch.float64))[0][0]
        assert 1.8 < float(mean[0]) < 2.1
        assert float(mean[1]) == pytest.approx(-1.0, abs=0.1)
