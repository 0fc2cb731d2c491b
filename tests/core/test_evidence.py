"""The log evidence, against gpytorch's exact marginal log likelihood and finite differences."""

from __future__ import annotations

import math

import gpytorch
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core import NumericalError, evidence
from core import gradient as gradients
from core import layout as layouts
from core.evidence import Data, cholesky, grams, log_evidence
from core.gradient import evidence_and_gradient
from core.graph import Factors
from core.hyper import Hyperparameters
from core.problem import Kernel
from core.space import Space
from tests.core.support import KERNELS, Array, dense, finite_difference, random_factors, random_hyper, unit_space
from tests.core.test_kernels import peer


class Peer(gpytorch.models.ExactGP):  # type: ignore[misc]
    """gpytorch's additive GP with given lengthscales, scales and constant."""

    def __init__(
        self,
        kernel: Kernel,
        factors: Factors,
        lengthscales: list[Array],
        scales: list[float],
        X: Array,
        y: Array,
        noise: Array,
        constant: float,
    ) -> None:
        likelihood = gpytorch.likelihoods.FixedNoiseGaussianLikelihood(torch.from_numpy(noise))
        super().__init__(torch.from_numpy(X), torch.from_numpy(y), likelihood)
        self.mean_module = gpytorch.means.ConstantMean().double()
        self.mean_module.initialize(constant=torch.tensor(constant, dtype=torch.float64))
        self.parts = torch.nn.ModuleList()
        for members, ell, scale in zip(factors, lengthscales, scales, strict=True):
            base = peer(kernel, len(members))
            base.active_dims = torch.tensor(members)
            base.lengthscale = torch.from_numpy(ell) * math.sqrt(len(members))
            part = gpytorch.kernels.ScaleKernel(base).double()  # before values are set: they would round to float32
            part.outputscale = torch.tensor(scale, dtype=torch.float64)
            self.parts.append(part)
        self.covar_module = gpytorch.kernels.AdditiveKernel(*self.parts)

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def peer_evidence(model: Peer) -> float:
    """gpytorch divides by the number of observations; the core must not."""
    model.train()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    with torch.no_grad():
        return float(mll(model(*model.train_inputs), model.train_targets)) * len(model.train_targets)


def setting(seed: int, d: int = 4, n: int = 3, t: int = 15) -> tuple[Space, Factors, Array, Array, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return unit_space(d), random_factors(rng, d, n), rng.random((t, d)), rng.standard_normal(t), rng


def told(X: Array, y: Array, noise: Array | None = None) -> Data:
    given_noise = torch.full((len(X),), math.nan, dtype=torch.float64) if noise is None else torch.from_numpy(noise)
    return Data(torch.from_numpy(X), torch.from_numpy(np.atleast_2d(y)), given_noise)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", ["shared", "known"])
@pytest.mark.parametrize("seed", range(3))
def test_evidence_equals_gpytorch_times_t(kernel: Kernel, kind: str, seed: int) -> None:
    """For random overlapping factors the log evidence is gpytorch's marginal log likelihood times t, mean included."""
    space, factors, X, y, rng = setting(seed)
    layout = layouts.shared(space, [factors]) if kind == "shared" else layouts.known(space, factors)
    hyper = random_hyper(layout, rng)
    noise = np.full(len(X), float(torch.exp(hyper.log_noise[0])))
    other = dense(kind, kernel, factors, hyper, X, y, noise)
    expected = peer_evidence(
        Peer(kernel, factors, list(other.lengthscales), list(other.scales), X, y, noise, float(hyper.mean[0]))
    )
    got = float(log_evidence(layout, hyper, kernel, told(X, y))[0])
    assert got == pytest.approx(expected, abs=1e-8)
    assert got == pytest.approx(other.log_evidence(), abs=1e-8)


def test_every_model_of_a_batch_has_its_own_evidence() -> None:
    """Several decompositions side by side give what each gives alone."""
    space, _, X, y, rng = setting(5)
    many = [random_factors(rng, 4, n) for n in (1, 2, 4)]
    hyper = random_hyper(layouts.shared(space, many), rng)
    together = log_evidence(layouts.shared(space, many), hyper, "matern52", told(X, y))
    noise = np.full(len(X), float(torch.exp(hyper.log_noise[0])))
    expected = [dense("shared", "matern52", f, hyper, X, y, noise).log_evidence() for f in many]
    np.testing.assert_allclose(together.numpy(), expected, atol=1e-8)


def test_one_model_per_factor_sees_its_own_column() -> None:
    """With decomposed output, each factor's evidence is that of its own GP on its own column."""
    space, factors, X, _, rng = setting(6)
    layout = layouts.separate(space, factors)
    hyper = random_hyper(layout, rng)
    Y = rng.standard_normal((len(factors), len(X)))
    got = log_evidence(layout, hyper, "matern52", told(X, Y))
    start = 0
    for i, members in enumerate(factors):
        ell = np.exp(hyper.log_lengthscale[start : start + len(members)].numpy())
        start += len(members)
        noise = np.full(len(X), float(torch.exp(hyper.log_noise[i])))
        scale = float(torch.exp(hyper.log_scale[i]))
        other = Peer("matern52", (members,), [ell], [scale], X, Y[i], noise, float(hyper.mean[i]))
        assert float(got[i]) == pytest.approx(peer_evidence(other), abs=1e-8)


def test_given_noise_replaces_the_fitted_one_point_by_point() -> None:
    """A told variance counts for its own point only; the rest keep the fitted noise."""
    space, factors, X, y, rng = setting(7)
    layout = layouts.known(space, factors)
    hyper = random_hyper(layout, rng)
    noise = np.where(np.arange(len(X)) % 2 == 0, 0.3, np.nan)
    filled = np.where(np.isnan(noise), float(torch.exp(hyper.log_noise[0])), noise)
    expected = dense("known", "matern52", factors, hyper, X, y, filled).log_evidence()
    assert float(log_evidence(layout, hyper, "matern52", told(X, y, noise))[0]) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", ["shared", "known", "separate"])
def test_gradient_equals_finite_differences(kernel: Kernel, kind: str) -> None:
    """The closed-form gradient of the weighted evidences matches central differences in every hyperparameter."""
    space, factors, X, y, rng = setting(11, t=9)
    if kind == "shared":
        layout = layouts.shared(space, [factors, random_factors(rng, 4, 2)])
    else:
        layout = layouts.known(space, factors) if kind == "known" else layouts.separate(space, factors)
    hyper = random_hyper(layout, rng)
    Y = rng.standard_normal((layout.n_models, len(X))) if kind == "separate" else y
    noise = np.where(np.arange(len(X)) == 3, 0.2, np.nan)
    data, weight = told(X, Y, noise), torch.from_numpy(rng.random(layout.n_models))

    def value(theta: Array) -> float:
        moved = hyper.unpack(torch.from_numpy(theta))
        return float(weight @ log_evidence(layout, moved, kernel, data))

    got, gradient = evidence_and_gradient(layout, hyper, kernel, data, weight)
    theta = hyper.pack().numpy()
    assert float(got) == pytest.approx(value(theta), abs=1e-9)
    np.testing.assert_allclose(gradient.pack().numpy(), finite_difference(value, theta), atol=1e-5, rtol=1e-5)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 5), n=st.integers(1, 5))
def test_gradient_equals_automatic_differentiation(seed: int, d: int, n: int) -> None:
    """For random graphs the closed form agrees with autograd through a dense covariance."""
    space, factors, X, y, rng = setting(seed, d, n, t=8)
    layout = layouts.known(space, factors)
    hyper = random_hyper(layout, rng)
    theta = hyper.pack().clone().requires_grad_()
    moved = hyper.unpack(theta)
    x = torch.from_numpy(X)
    C = torch.exp(moved.log_noise) * torch.eye(len(X), dtype=torch.float64)
    for i, members in enumerate(factors):
        z = x[:, list(members)] / torch.exp(moved.log_lengthscale[list(members)])
        s = (z[:, None] - z[None]).square().sum(-1) / len(members)
        C = C + torch.exp(moved.log_scale[i]) / len(factors) * torch.exp(-0.5 * s)
    normal = torch.distributions.MultivariateNormal(moved.mean.expand(len(X)), C)
    (expected,) = torch.autograd.grad(normal.log_prob(torch.from_numpy(y)), theta)
    one = torch.ones(1, dtype=torch.float64)
    _, gradient = evidence_and_gradient(layout, hyper, "squared_exponential", told(X, y), one)
    torch.testing.assert_close(gradient.pack(), expected, rtol=1e-7, atol=1e-7)


def test_chunked_and_kept_covariances_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the factors are cut into chunks, and whether covariances are kept, value and gradient are the same."""
    space, factors, X, y, rng = setting(12, d=6, n=7)
    layout = layouts.known(space, factors)
    hyper, one = random_hyper(layout, rng), torch.ones(1, dtype=torch.float64)
    whole = evidence_and_gradient(layout, hyper, "matern52", told(X, y), one)
    gram = grams(layout, hyper, "matern52", torch.from_numpy(X))
    monkeypatch.setattr(evidence, "CHUNK", 2 * len(X) ** 2)
    monkeypatch.setattr(gradients, "CHUNK", len(X) ** 2)
    monkeypatch.setattr(gradients, "KEEP", 0)
    pieces = evidence_and_gradient(layout, hyper, "matern52", told(X, y), one)
    torch.testing.assert_close(pieces[0], whole[0], rtol=0, atol=1e-10)
    torch.testing.assert_close(pieces[1].pack(), whole[1].pack(), rtol=0, atol=1e-9)
    torch.testing.assert_close(grams(layout, hyper, "matern52", torch.from_numpy(X)), gram, rtol=0, atol=1e-12)


def test_repeated_inputs_stay_aligned_with_their_outputs() -> None:
    """Trap: a repeated x must not reorder y; the evidence does not depend on the order of the observations."""
    space, factors, X, y, rng = setting(13)
    X[4], X[9] = X[1], X[1]
    layout = layouts.known(space, factors)
    hyper = random_hyper(layout, rng)
    order = rng.permutation(len(X))
    one = float(log_evidence(layout, hyper, "matern52", told(X, y))[0])
    other = float(log_evidence(layout, hyper, "matern52", told(X[order], y[order]))[0])
    noise = np.full(len(X), float(torch.exp(hyper.log_noise[0])))
    assert one == pytest.approx(other, abs=1e-8)
    assert one == pytest.approx(dense("known", "matern52", factors, hyper, X, y, noise).log_evidence(), abs=1e-7)


def test_evidence_is_not_divided_by_t() -> None:
    """Trap: twice the independent data, far apart, has twice the evidence."""
    space = unit_space(1)
    layout = layouts.known(space, ((0,),))
    hyper = Hyperparameters.default(layout)
    hyper = hyper.unpack(torch.tensor([math.log(0.02), 0.0, math.log(1e-2), 0.0], dtype=torch.float64))
    X = np.linspace(0, 1, 4)[:, None]
    y = np.array([1.0, -1.0, 1.0, -1.0])
    half = float(log_evidence(layout, hyper, "matern52", told(X[:2], y[:2]))[0])
    assert float(log_evidence(layout, hyper, "matern52", told(X, y))[0]) == pytest.approx(2 * half, rel=1e-6)


def test_singular_gram_gets_the_least_jitter() -> None:
    """A numerically singular matrix is factored after all, close to itself; a good one without any jitter."""
    singular = torch.ones(6, 6, dtype=torch.float64)
    L = cholesky(singular)
    torch.testing.assert_close(L @ L.mT, singular, rtol=0, atol=1e-6)
    good = torch.eye(3, dtype=torch.float64) + 0.5
    torch.testing.assert_close(cholesky(good) @ cholesky(good).mT, good, rtol=0, atol=1e-15)


def test_indefinite_matrix_is_a_numerical_error_with_the_matrix() -> None:
    """What no jitter saves raises NumericalError that carries the matrix."""
    C = torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64))
    with pytest.raises(NumericalError) as caught:
        cholesky(C)
    assert caught.value.last_iterate is C
