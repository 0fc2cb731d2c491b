"""The acquisition function, against eqs. 9 to 11 written out, Theorem 3.5 and finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core import layout as layouts
from core.acquisition import Acquisition, beta, build
from core.graph import Factors
from core.posterior import condition
from core.problem import Neighborhood
from tests.core.support import APPENDIX_A, Array, finite_difference, random_factors, random_hyper, unit_space
from tests.core.test_evidence import told


def neighbor_sets(factors: Factors) -> list[set[int]]:
    return [{k for k, other in enumerate(factors) if set(other) & set(members)} for members in factors]


def spread_bound(factors: Factors, var: Array) -> float:
    """Eq. 9, word for word."""
    N = neighbor_sets(factors)
    return sum(math.sqrt(sum(var[k] / len(N[k]) ** 2 for k in N[i])) for i in range(len(factors)))


def phi(factors: Factors, d: int, seed: int = 0, kappa: float = 1.5) -> tuple[Acquisition, np.random.Generator]:
    """A conditioned acquisition over known factors with random data."""
    rng = np.random.default_rng(seed)
    layout = layouts.known(unit_space(d), factors)
    X, y = rng.random((12, d)), rng.standard_normal(12)
    posterior = condition(layout, random_hyper(layout, rng), "matern52", told(X, y))
    return build(posterior, torch.ones(len(factors), dtype=torch.float64), kappa, "sample"), rng


factor_graphs = st.builds(
    lambda seed, d, n: random_factors(np.random.default_rng(seed), d, n),
    st.integers(0, 10_000), st.integers(1, 7), st.integers(1, 7),
)  # fmt: skip


@given(factors=factor_graphs, seed=st.integers(0, 10_000))
def test_theorem_3_5_holds_for_any_graph_and_variances(factors: Factors, seed: int) -> None:
    """The core's coupling gives eq. 9, which lies between the sum's deviation and the sum of deviations."""
    d = 1 + max(j for members in factors for j in members)
    a, rng = phi(factors, d, seed % 7)
    var = torch.from_numpy(rng.gamma(0.5, size=(len(factors), 3)))
    bound = (a.coupling @ var).sqrt().sum(0).numpy()
    np.testing.assert_allclose(bound, [spread_bound(factors, v) for v in var.numpy().T], rtol=1e-12)
    assert (np.sqrt(var.sum(0).numpy()) <= bound * (1 + 1e-12)).all()
    assert (bound <= var.sqrt().sum(0).numpy() * (1 + 1e-12)).all()


@given(st.integers(1, 6), st.integers(0, 10_000))
def test_bound_is_exact_for_a_complete_graph(n: int, seed: int) -> None:
    """Where every factor meets every other, eq. 9 is the deviation of the sum."""
    factors = tuple((0, j) for j in range(1, n + 1))
    a, _ = phi(factors, n + 1)
    var = torch.from_numpy(np.random.default_rng(seed).gamma(1.0, size=n))
    assert float((a.coupling @ var).sqrt().sum()) == pytest.approx(float(var.sum().sqrt()), rel=1e-12)


@given(st.integers(1, 6), st.integers(0, 10_000))
def test_bound_is_the_sum_of_deviations_for_disjoint_factors(n: int, seed: int) -> None:
    """Where no two factors meet, eq. 9 is ADD-GPUCB's sum of standard deviations."""
    a, _ = phi(tuple((j,) for j in range(n)), n)
    var = torch.from_numpy(np.random.default_rng(seed).gamma(1.0, size=n))
    assert float((a.coupling @ var).sqrt().sum()) == pytest.approx(float(var.sqrt().sum()), rel=1e-12)


@given(factors=factor_graphs)
def test_value_is_equation_10(factors: Factors) -> None:
    """phi is the sum of factor means and sqrt(beta) times eq. 9 at the factors' own variances."""
    d = 1 + max(j for members in factors for j in members)
    a, rng = phi(factors, d, 3)
    x = torch.from_numpy(rng.random((4, d)))
    at = a.posterior.moments(a.layout.gather(x))
    expected = [float(at.mean[:, s].sum()) + a.kappa * spread_bound(factors, at.var[:, s].numpy()) for s in range(4)]
    np.testing.assert_allclose(a.value(x).numpy(), expected, rtol=1e-10)


@given(factors=factor_graphs)
def test_local_pieces_with_true_messages_sum_to_the_whole(factors: Factors) -> None:
    """Eq. 11 with c_i from the neighbours at one common point adds up to eq. 10."""
    d = 1 + max(j for members in factors for j in members)
    a, rng = phi(factors, d, 4)
    x = torch.from_numpy(rng.random((3, d)))
    local = a.layout.gather(x)
    var = a.posterior.moments(local).var
    N = neighbor_sets(factors)
    c = np.array(
        [[sum(float(var[k, s]) / len(N[k]) ** 2 for k in N[i] - {i}) for s in range(3)] for i in range(len(factors))]
    )
    np.testing.assert_allclose(a.messages(var).numpy(), c, atol=1e-14)
    pieces, _, _ = a.local(local, torch.from_numpy(c))
    np.testing.assert_allclose(pieces.sum(0).numpy(), a.value(x).numpy(), rtol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_gradient_of_the_whole_equals_finite_differences(seed: int) -> None:
    """d phi / dx by the closed form matches central differences in every column."""
    factors = random_factors(np.random.default_rng(seed), 5, 4)
    a, rng = phi(factors, 5, seed)
    x = rng.random(5)
    value, gradient = a.value_and_gradient(x)
    assert value == pytest.approx(float(a.value(torch.from_numpy(x)[None])), rel=1e-10)
    expected = finite_difference(lambda v: float(a.value(torch.from_numpy(v)[None])), x)
    np.testing.assert_allclose(gradient, expected, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_gradient_of_a_local_piece_equals_finite_differences(seed: int) -> None:
    """d phi_i / dx^(i) at points of each factor's own, with the messages held, matches central differences."""
    factors = random_factors(np.random.default_rng(seed), 4, 3)
    a, rng = phi(factors, 4, seed)
    x = torch.from_numpy(rng.random((3, 2, a.layout.columns.shape[1])))
    c = torch.from_numpy(rng.random((3, 2)))
    _, gradient, var = a.local(x, c)
    torch.testing.assert_close(var, a.posterior.moments(x).var)
    for i, s, m in np.ndindex(*x.shape):
        step = torch.zeros_like(x)
        step[i, s, m] = 1e-6
        slope = float((a.local(x + step, c)[0] - a.local(x - step, c)[0])[i, s]) / 2e-6
        assert float(gradient[i, s, m]) == pytest.approx(slope * float(a.layout.mask[i, m]), abs=1e-5)


@pytest.mark.parametrize("kind", ["sample", "union"])
def test_averaging_k_samples_is_equation_21(kind: Neighborhood) -> None:
    """phi over k decompositions weighs each by its gain; neighbours are those of one sample or of the union."""
    rng = np.random.default_rng(9)
    many: list[Factors] = [((0, 1), (2,)), ((0,), (1, 2)), ((0, 1, 2),)]
    layout = layouts.shared(unit_space(3), many)
    X, y = rng.random((8, 3)), rng.standard_normal(8)
    posterior = condition(layout, random_hyper(layout, rng), "matern52", told(X, y))
    gain = torch.tensor([0.5, 0.5, 0.3, 0.3, 0.2], dtype=torch.float64)
    a = build(posterior, gain, 2.0, kind)
    x = torch.from_numpy(rng.random((3, 3)))
    at = posterior.moments(layout.gather(x))
    flat = [members for factors in many for members in factors]
    owner = layout.owner.tolist()
    N = [
        {k for k in range(5) if set(flat[i]) & set(flat[k]) and (kind == "union" or owner[i] == owner[k])}
        for i in range(5)
    ]
    for s in range(3):
        mean = float(gain @ at.mean[:, s])
        spread = sum(
            math.sqrt(sum(float(gain[k]) ** 2 * float(at.var[k, s]) / len(N[k]) ** 2 for k in N[i])) for i in range(5)
        )
        assert float(a.value(x)[s]) == pytest.approx(mean + 2.0 * spread, rel=1e-12)
    if kind == "sample":
        parts = [build(condition(layouts.shared(unit_space(3), [f]), posterior.hyper, "matern52", told(X, y)),
                       torch.ones(len(f), dtype=torch.float64), 2.0, kind).value(x) for f in many]  # fmt: skip
        torch.testing.assert_close(a.value(x), 0.5 * parts[0] + 0.3 * parts[1] + 0.2 * parts[2])


def test_union_is_a_tighter_bound_than_one_sample() -> None:
    """Larger neighbourhoods never explore more."""
    rng = np.random.default_rng(10)
    layout = layouts.shared(unit_space(3), [((0,), (1,), (2,)), ((0, 1, 2),)])
    posterior = condition(
        layout, random_hyper(layout, rng), "matern52", told(rng.random((6, 3)), rng.standard_normal(6))
    )
    gain, x = torch.full((4,), 0.5, dtype=torch.float64), torch.from_numpy(rng.random((20, 3)))
    sample, union = (build(posterior, gain, 1.0, kind).value(x) for kind in ("sample", "union"))
    assert bool((union <= sample + 1e-12).all())


def test_one_factor_is_plain_gp_ucb() -> None:
    """With one factor phi is mean + sqrt(beta) sigma of the GP."""
    a, rng = phi(((0, 1),), 2, kappa=0.7)
    x = torch.from_numpy(rng.random((5, 2)))
    mean, var = a.posterior.total(x)
    expected = mean[0] - a.posterior.constant()[0] + 0.7 * var[0].sqrt()
    torch.testing.assert_close(a.value(x), expected, rtol=0, atol=1e-10)


def test_appendix_a_shares_out_variances_by_neighbourhood_sizes() -> None:
    """On the example of App. A the coupling is 1 / |N_k|^2 with sizes 3, 2, 4 and 3."""
    a, _ = phi(APPENDIX_A, 3)
    sizes = np.array([3.0, 2.0, 4.0, 3.0])
    near = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 1, 1], [1, 0, 1, 1]])
    np.testing.assert_allclose(a.coupling.numpy(), near / sizes**2)


def test_theorem_beta_for_a_finite_domain() -> None:
    """beta_t = 2 log(|D| pi^2 t^2 / (6 delta))."""
    for size, t, delta in ((10, 1, 0.1), (1000, 7, 0.05)):
        expected = 2 * math.log(size * math.pi**2 * t**2 / (6 * delta))
        assert beta("theory", 3, t, math.log(size), delta) == pytest.approx(expected)


def test_theorem_beta_is_finite_for_huge_and_for_infinite_domains() -> None:
    """A finite domain beyond the range of a float and a continuous one both give a finite number."""
    huge = beta("theory", 600, 5, 600 * math.log(4), 0.1)
    assert huge == pytest.approx(2 * (600 * math.log(4) + math.log(math.pi**2 * 25 / 0.6)))
    assert math.isfinite(beta("theory", 3, 5, math.inf))


def test_practical_and_fixed_beta() -> None:
    """0.2 d log(2t) by name; a number is taken as it is; every schedule is positive from the first ask on."""
    assert beta("practical", 7, 30) == pytest.approx(0.2 * 7 * math.log(60))
    assert beta(1.7, 7, 30) == 1.7
    assert beta(0.0, 7, 30) == 0.0
    assert all(beta(name, 2, 0, 2.3) > 0 for name in ("theory", "practical"))  # type: ignore[arg-type]


def test_theorem_beta_grows_with_time() -> None:
    """Both published schedules are monotone in t."""
    for name in ("theory", "practical"):
        values = [beta(name, 4, t, 3.9) for t in range(1, 40)]  # type: ignore[arg-type]
        assert values == sorted(values)
