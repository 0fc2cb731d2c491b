"""The posterior at one point equals the posterior at many, for every way in which factors may belong to models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from core import layout as layouts
from core.evidence import Data
from core.graph import Factors
from core.layout import Layout
from core.posterior import FactorPosterior, condition
from core.problem import Kernel
from core.space import Space
from tests.core.support import Array, random_hyper, unit_space
from tests.core.test_evidence import told
from tests.core.test_posterior import KERNELS

FACTORS: Factors = ((0, 1), (1, 2, 3), (2,))


def one(space: Space) -> Layout:
    return layouts.known(space, FACTORS)


def each(space: Space) -> Layout:
    return layouts.separate(space, FACTORS)


def several(space: Space) -> Layout:
    return layouts.shared(space, [FACTORS, ((0, 3), (1, 2)), ((0, 1, 2, 3),)], [0, 1, 0])


def setting(make: Callable[[Space], Layout], kernel: Kernel, seed: int = 0) -> tuple[FactorPosterior, Array]:
    rng = np.random.default_rng(seed)
    space = unit_space(4)
    layout = make(space)
    data = told(rng.random((9, 4)), rng.standard_normal(9))
    if make is each:
        data = Data(data.X, torch.from_numpy(rng.standard_normal((3, 9))), data.given_noise)
    return condition(layout, random_hyper(layout, rng), kernel, data), rng.random(4)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("make", [one, each, several])
def test_factors_have_the_moments_of_the_batch(make: Callable[[Space], Layout], kernel: Kernel) -> None:
    """Mean and variance of every factor, as `moments` has them by another way through the linear algebra."""
    posterior, x = setting(make, kernel)
    at = posterior.single.factors(x)
    expected = posterior.moments(posterior.layout.gather(torch.from_numpy(x)[None]))
    np.testing.assert_allclose(at.mean, expected.mean[:, 0].numpy(), atol=1e-9)
    np.testing.assert_allclose(at.var, expected.var[:, 0].numpy(), atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("make", [one, each, several])
def test_sums_have_the_moments_of_the_batch(make: Callable[[Space], Layout], kernel: Kernel) -> None:
    """Mean and variance of every model's sum, but for its constant."""
    posterior, x = setting(make, kernel)
    at = posterior.single.sums(x)
    mean, var = posterior.total(torch.from_numpy(x)[None])
    np.testing.assert_allclose(at.mean + posterior.constant().numpy(), mean[:, 0].numpy(), atol=1e-9)
    np.testing.assert_allclose(at.var, var[:, 0].numpy(), atol=1e-9)


@pytest.mark.parametrize("make", [one, each, several])
@pytest.mark.parametrize("of", ["factors", "sums"])
def test_gradient_equals_central_differences(make: Callable[[Space], Layout], of: str) -> None:
    """Any weights on means and variances: their weighted sum has this gradient."""
    posterior, x = setting(make, "matern52", seed=1)
    single = posterior.single
    moments = getattr(single, of)
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, len(moments(x).mean)))
    rows = np.arange(len(a)) if of == "factors" else single.owner
    gradient = single.gradient(moments(x), a[rows], b[rows])
    for j, step in enumerate(1e-6 * np.eye(4)):
        up, down = moments(x + step), moments(x - step)
        expected = (a @ (up.mean - down.mean) + b @ (up.var - down.var)) / 2e-6
        assert gradient[j] == pytest.approx(expected, abs=1e-6)
