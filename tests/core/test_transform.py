"""Output transforms, against scipy, inverses and automatic differentiation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import yeojohnson

from core.transform import BENDS, LOGS, POWERS, OutputTransform, _bent, _straight
from tests.core.support import Array

powers = st.sampled_from(BENDS)
outputs = arrays(float, st.integers(2, 20), elements=st.floats(-1e6, 1e6, allow_subnormal=False))


@pytest.mark.parametrize("power", [*POWERS, -0.5, 3.0])
def test_power_family_equals_scipy(power: float) -> None:
    """Yeo and Johnson's transform as scipy computes it."""
    v = np.linspace(-5, 5, 41)
    got = _bent(torch.from_numpy(v), power, 2.0 - power)
    np.testing.assert_allclose(got.numpy(), yeojohnson(v, power), atol=1e-12)


@given(power=st.sampled_from(POWERS), v=st.floats(-1e4, 1e4))
def test_power_family_inverts(power: float, v: float) -> None:
    """The inverse takes every value back."""
    x = torch.tensor([v], dtype=torch.float64)
    back = _straight(_bent(x, power, 2.0 - power), power, 2.0 - power)
    assert float(back) == pytest.approx(v, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("power", LOGS)
def test_logarithm_equals_that_of_the_gap_to_the_best(power: float) -> None:
    """Below the best value it is -log(1 + gap / s), standardised; s is an earlier gap's quantile; above goes a line."""
    y = np.array([-1e8, -3e5, -90.0, -200.0, -7e3, -90.0, -1e3, -90.1, -90.2])
    gaps = np.sort(y.max() - y[[0, 1, 3, 4]])  # of the earlier half, those that are not the best
    s = gaps[int(-power * (len(gaps) - 1))]
    plain = -np.log1p((y.max() - y) / s)
    transform = OutputTransform.fit(y, power)
    got = transform.forward(torch.from_numpy(np.append(y, y.max() + 3 * s))).numpy()
    np.testing.assert_allclose(got, (np.append(plain, 3.0) - plain.mean()) / plain.std(), atol=1e-9)


@pytest.mark.parametrize("power", LOGS)
def test_points_on_the_optimum_do_not_sharpen_the_logarithm(power: float) -> None:
    """Evaluating one place again and again leaves what counts as a small gap where it was."""
    on_it = -1.0 + np.linspace(0.0, 1e-6, 5)
    way = np.array([-1e4, -300.0, -20.0, -5.0, -3.0])
    first, later = (OutputTransform.fit(np.concatenate([way, on_it[:n]]), power) for n in (4, 5))
    assert later.unit * later.spread == pytest.approx(first.unit * first.spread, rel=1e-3)
    assert later.unit * later.spread > 1.0


@given(y=outputs, power=powers)
def test_forward_is_increasing_standardised_and_inverts(y: Array, power: float) -> None:
    """Values come back, to rounding in model units; order is kept; mean 0 and deviation 1 unless all are equal."""
    transform = OutputTransform.fit(y, power)
    z = transform.forward(torch.from_numpy(y))
    assert bool(torch.isfinite(z).all())
    order = np.argsort(y, kind="stable")
    assert (np.diff(z.numpy()[order]) >= -1e-12).all()
    torch.testing.assert_close(transform.forward(transform.inverse(z)), z, rtol=0, atol=1e-6)
    if float(z.std(unbiased=False)) > 1e-3:
        assert float(z.mean()) == pytest.approx(0.0, abs=1e-6)
        assert float(z.std(unbiased=False)) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("power", BENDS)
def test_slopes_equal_automatic_differentiation(power: float) -> None:
    """Inverse slope, carried-over deviations and the Jacobian are derivatives of forward and inverse."""
    y = np.array([-3.0, -1.0, 0.2, 0.5, 4.0, 9.0])
    transform = OutputTransform.fit(y, power)
    x = torch.from_numpy(y - 0.01).requires_grad_()  # beside the best value, where a logarithm meets its line
    z = transform.forward(x)
    (forward_slope,) = torch.autograd.grad(z.sum(), x)
    u = z.detach().requires_grad_()
    (backward_slope,) = torch.autograd.grad(transform.inverse(u).sum(), u)
    torch.testing.assert_close(transform.inverse_slope(z.detach()), backward_slope, rtol=1e-9, atol=0)
    torch.testing.assert_close(forward_slope * backward_slope, torch.ones_like(x.detach()), rtol=1e-9, atol=0)
    sd = torch.full_like(x.detach(), 0.1)
    torch.testing.assert_close(transform.sd_forward(x.detach(), sd), 0.1 * forward_slope, rtol=1e-9, atol=0)


def test_jacobians_of_two_powers_differ_by_their_log_slopes() -> None:
    """Between powers the Jacobian changes by the sum of log dz/dy, whatever units it is told in."""
    y = np.array([-3.0, -1.0, 0.2, 0.5, 4.0, 9.0])

    def exact(power: float) -> float:
        x = torch.from_numpy(y - 0.01).requires_grad_()
        (slope,) = torch.autograd.grad(OutputTransform.fit(y, power).forward(x).sum(), x)
        return float(slope.log().sum())

    for power in BENDS:
        one, other = (OutputTransform.fit(y, p).log_jacobian(torch.from_numpy(y - 0.01)) for p in (power, 1.0))
        assert one - other == pytest.approx(exact(power) - exact(1.0), abs=1e-9)


def test_power_one_is_affine_and_the_others_are_not() -> None:
    """Only the power 1 lets factor terms be told in the objective's units."""
    assert [OutputTransform.fit(np.arange(5.0), p).is_affine for p in BENDS] == [p == 1.0 for p in BENDS]


@pytest.mark.parametrize("size", [1e300, 1e-300, 1e-320])
@pytest.mark.parametrize("power", BENDS)
def test_extreme_magnitudes_give_the_same_model_numbers(size: float, power: float) -> None:
    """y of 1e300 or 1e-300 is standardised as y of 1 is."""
    y = np.array([1.0, 2.0, 3.0, 7.0, -4.0])
    plain = OutputTransform.fit(y, power).forward(torch.from_numpy(y))
    transform = OutputTransform.fit(y * size, power)
    got = transform.forward(torch.from_numpy(y * size))
    torch.testing.assert_close(got, plain, rtol=0, atol=1e-2 if size < 1e-310 else 1e-9)
    np.testing.assert_allclose(transform.inverse(got).numpy(), y * size, rtol=1e-2 if size < 1e-310 else 1e-9)


@pytest.mark.parametrize(
    "y",
    [
        [1.0, *(k * 1e-300 for k in range(1, 10))],
        [1e300, -1e300, *range(1, 9)],
        [0.0] * 9 + [1e-300],
        [1e12, *(k * 1e-9 for k in range(9))],
        [1.0, 1.0 + 2**-52] * 4,
    ],
)
@pytest.mark.parametrize("power", BENDS)
def test_values_over_many_orders_of_magnitude_stay_finite_and_in_order(y: list[float], power: float) -> None:
    """However uneven the values, model numbers are finite, of moderate size, and the best stays the best."""
    values = np.array(y)
    z = OutputTransform.fit(values, power).forward(torch.from_numpy(values)).numpy()
    assert np.isfinite(z).all()
    assert np.abs(z).max() <= np.sqrt(len(values)) + 1e-6
    assert z[values.argmax()] == z.max()


def test_constant_values_are_zero() -> None:
    """No spread is no information: every value maps to 0 and back to itself."""
    for y in ([5.0] * 4, [0.0], [1e300] * 3, [-1e-300] * 2, [0.1] * 7):
        transform = OutputTransform.fit(np.array(y))
        assert transform.forward(torch.tensor(y, dtype=torch.float64)).abs().max() < 1e-9
        np.testing.assert_allclose(transform.inverse(torch.zeros(1, dtype=torch.float64)).numpy(), y[0], rtol=1e-12)


def test_no_values_give_the_identity_in_effect() -> None:
    """An empty history fits without a warning."""
    assert OutputTransform.fit(np.array([])).is_affine
