"""The paper's synthetic functions and the families against published values and BoTorch's own definitions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from botorch.test_functions import Ackley, Hartmann, Powell, Rastrigin, Rosenbrock, SixHumpCamel
from scipy.optimize import minimize

from benchmarks import problems
from benchmarks.problems import BenchmarkProblem

ORACLES = {
    "camel": SixHumpCamel,
    "hartmann-6": Hartmann,
    "powell-24": lambda **kw: Powell(dim=24, **kw),
    "rastrigin-100": lambda **kw: Rastrigin(dim=100, **kw),
    "rosenbrock-20": lambda **kw: Rosenbrock(dim=20, **kw),
    "ackley-10": lambda **kw: Ackley(dim=10, **kw),
}
MOVABLE = [*ORACLES, "embedded-50"]


def random_points(problem: BenchmarkProblem, n: int, seed: int = 0) -> np.ndarray:
    return problem.from_unit(np.random.default_rng(seed).random((n, problem.n_dims)))


@pytest.mark.parametrize("name", ORACLES)
def test_values_equal_botorchs_negated_test_functions(name: str) -> None:
    """Each function equals an implementation by other hands at random points, on the same box."""
    problem = problems.make(name)
    oracle = ORACLES[name](negate=True, dtype=torch.double)
    X = random_points(problem, 50)
    expected = oracle(torch.as_tensor(X)).numpy()
    # BoTorch keeps Hartmann's constants in single precision.
    np.testing.assert_allclose([problem.f(x) for x in X], expected, rtol=1e-7, atol=1e-9)
    if name != "rosenbrock-20":  # ours has the classical box of half the width
        np.testing.assert_allclose(np.array(problem.bounds), oracle.bounds.T.numpy())


@pytest.mark.parametrize("name", [n for n in ORACLES if n != "ackley-10"])
def test_the_stated_optimum_is_the_published_one(name: str) -> None:
    """The optimum's value agrees with BoTorch's stated one."""
    stated = ORACLES[name](negate=True).optimal_value
    assert problems.make(name).optimum == pytest.approx(stated, abs=5e-5)


@pytest.mark.parametrize("name", MOVABLE)
def test_no_point_nearby_beats_the_stated_optimizer(name: str) -> None:
    """The optimizer has the optimum's value, and a local search from it gains nothing."""
    problem = problems.make(name)
    assert problem.optimizer is not None
    x = np.array(problem.optimizer)
    assert problem.f(x) == pytest.approx(problem.optimum, abs=1e-8)
    around = x + np.random.default_rng(1).normal(scale=1e-3, size=(200, problem.n_dims))
    assert max(problem.f(z) for z in around) <= problem.optimum + 1e-12


@pytest.mark.parametrize("name", MOVABLE)
def test_a_shift_moves_the_optimum_and_keeps_its_value(name: str) -> None:
    """Each seed puts the optimum elsewhere inside the box; the value there is the old optimum."""
    plain = problems.make(name)
    places = []
    for seed in (1, 2):
        shifted = problems.make(f"{name}-shifted", seed)
        place = np.array(shifted.optimizer)
        low, high = np.array(shifted.bounds).T
        assert ((place > low) & (place < high)).all()
        assert shifted.f(place) == pytest.approx(plain.optimum, abs=1e-8)
        places.append(place)
    assert not np.allclose(places[0], places[1])
    assert not np.allclose(places[0], plain.optimizer)


@pytest.mark.parametrize("name", MOVABLE)
def test_a_cornered_optimum_lies_on_faces_of_the_box(name: str) -> None:
    """About half of its coordinates, at both ends; the others lie inside, and the value there is the old optimum."""
    plain = problems.make(name)
    low, high = np.array(plain.bounds).T
    at_low = at_high = 0
    for seed in range(20):
        problem = problems.make(f"{name}-cornered", seed)
        place = np.array(problem.optimizer)
        assert ((place >= low) & (place <= high)).all()
        assert problem.f(place) == pytest.approx(plain.optimum, abs=1e-8)
        at_low, at_high = at_low + (place == low).mean() / 20, at_high + (place == high).mean() / 20
    assert 0.1 < at_low < 0.4
    assert 0.1 < at_high < 0.4


@pytest.mark.parametrize("name", ["camel", "hartmann-6"])
def test_no_value_outside_the_box_exceeds_the_optimum(name: str) -> None:
    """A shift brings outside points into the box, so the optimum must hold there as well."""
    problem = problems.make(name)
    box = np.array(problem.bounds)
    width = box[:, 1] - box[:, 0]
    rng = np.random.default_rng(3)
    for _ in range(30):
        start = rng.uniform(box[:, 0] - width, box[:, 1] + width)
        end = minimize(lambda x: -problem.f(x), start)
        assert -end.fun <= problem.optimum + 1e-6


@pytest.mark.parametrize("name", ["camel", "hartmann-6", "powell-24", "rastrigin-100", "rosenbrock-20"])
def test_factor_values_sum_to_f_and_depend_on_their_variables_alone(name: str) -> None:
    """Changing variables outside a factor leaves its value alone, and the factors add up."""
    problem = problems.make(f"{name}-shifted", 5)
    assert problem.factors is not None
    x, other = random_points(problem, 2)
    values = problem.factor_values(x)
    assert sum(values.values()) == pytest.approx(problem.f(x), rel=1e-12)
    for factor_name, factor in zip(problem.factor_names, problem.factors, strict=True):
        mixed = other.copy()
        mixed[list(factor)] = x[list(factor)]
        assert problem.factor_values(mixed)[factor_name] == pytest.approx(values[factor_name], rel=1e-12)


def test_embedded_function_ignores_all_but_six_variables() -> None:
    """Exactly six coordinates of the embedded function have an effect, and each seed chooses others."""
    active = []
    for seed in (0, 1):
        problem = problems.make("embedded-50", seed)
        x = np.full(50, 0.4)
        active.append({j for j in range(50) if problem.f(x + 0.1 * np.eye(50)[j]) != problem.f(x)})
    assert [len(a) for a in active] == [6, 6]
    assert active[0] != active[1]


def test_rastrigins_last_block_may_be_short_and_powells_may_not() -> None:
    """Dimensions that do not fill the blocks give shorter ones, or a clear refusal, not a failure in a run."""
    problem = problems.make("rastrigin-8")
    assert problem.factors == ((0, 1, 2, 3, 4), (5, 6, 7))
    x = np.linspace(-5.0, 5.0, 8)
    assert problem.f(x) == pytest.approx(-sum(10 + v * v - 10 * np.cos(2 * np.pi * v) for v in x))
    assert list(problem.factor_values(x).values())[1] == pytest.approx(
        -sum(10 + v * v - 10 * np.cos(2 * np.pi * v) for v in x[5:])
    )
    with pytest.raises(ValueError, match="blocks of four"):
        problems.make("powell-10")
