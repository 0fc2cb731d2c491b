"""The unit cube: exact round trips, valid values, exhaustion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core import Parameter, Problem, SpaceExhausted
from core.space import Space, key, random_points
from tests.core.support import unit_problem

finite = st.floats(-1e9, 1e9, allow_subnormal=False)
positive = st.floats(1e-12, 1e12, allow_subnormal=False)


def ordered(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    return st.tuples(strategy, strategy).map(lambda pair: (min(pair), max(pair)))


parameters = st.one_of(
    ordered(finite).map(lambda b: Parameter("p", "float", b)),
    ordered(positive).map(lambda b: Parameter("p", "float", b, "log")),
    ordered(st.integers(-(10**9), 10**9)).map(lambda b: Parameter("p", "int", b)),
    ordered(st.integers(1, 10**9)).map(lambda b: Parameter("p", "int", b, "log")),
    st.lists(st.one_of(st.text(max_size=3), st.booleans(), st.integers(-5, 5)), min_size=1, max_size=6,
             unique_by=lambda v: (isinstance(v, bool), v)).map(lambda v: Parameter("p", "ordinal", values=tuple(v))),
    st.lists(st.text(max_size=3), min_size=1, max_size=6, unique=True).map(
        lambda v: Parameter("p", "categorical", values=tuple(v))),
)  # fmt: skip


def space_of(*made: Parameter) -> Space:
    return Space(Problem(tuple(made), "maximize"))


@settings(max_examples=150)
@given(parameter=parameters, u=st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_decoded_values_are_valid_and_make_exact_round_trips(parameter: Parameter, u: list[float]) -> None:
    """Any row of the cube decodes to a legal value of the right type, which encodes and decodes to itself."""
    space = space_of(parameter)
    (point,) = space.decode(np.array([u[: space.n_columns]]))
    value = point["p"]
    stored = parameter.check(value)
    assert stored == value
    assert type(stored) is type(value)
    row = space.encode([point])
    assert ((row >= 0) & (row <= 1)).all()
    assert space.decode(row) == [point]


@settings(max_examples=100)
@given(bounds=ordered(st.integers(-(2**40), 2**40)), share=st.floats(0, 1))
def test_every_integer_of_a_linear_range_makes_a_round_trip(bounds: tuple[int, int], share: float) -> None:
    """A told integer comes back as itself, also in the widest range the problem admits."""
    value = min(bounds[1], bounds[0] + int(share * (bounds[1] - bounds[0])))
    space = space_of(Parameter("p", "int", bounds))
    assert space.decode(space.encode([{"p": value}])) == [{"p": value}]


@settings(max_examples=100)
@given(bounds=ordered(st.integers(1, 2**40)), share=st.floats(0, 1))
@example(bounds=(1, 2**40), share=0.7)
def test_every_integer_of_a_log_range_makes_a_round_trip(bounds: tuple[int, int], share: float) -> None:
    """A told integer comes back as itself on a log scale too."""
    value = min(bounds[1], bounds[0] + int(share * (bounds[1] - bounds[0])))
    space = space_of(Parameter("p", "int", bounds, "log"))
    assert space.decode(space.encode([{"p": value}])) == [{"p": value}]


@pytest.mark.parametrize(
    ("low", "high", "scale"),
    [(1e-300, 1e300, "log"), (1e-5, 1.0, "log"), (0.0, 5e-324, "linear"), (-1e-300, 1e-300, "linear"),
     (1e6, 1e6 + 1e-3, "linear"), (0.0, 1.7e308, "linear"), (0.1, 0.3, "linear"), (-8e307, 8e307, "linear")],
)  # fmt: skip
def test_extreme_ranges_make_exact_round_trips(low: float, high: float, scale: Any) -> None:
    """Decoded floats come back exactly in ranges of any width, and never leave them."""
    space = space_of(Parameter("p", "float", (low, high), scale))
    for point in space.decode(np.linspace(0, 1, 301)[:, None]):
        assert low <= point["p"] <= high  # type: ignore[operator]
        assert space.decode(space.encode([point])) == [point]


def test_ends_of_the_cube_are_the_bounds() -> None:
    """0 and 1 decode to the bounds exactly, on either scale."""
    for scale in ("linear", "log"):
        space = space_of(Parameter("p", "float", (0.1234567890123456, 0.9876543210987654), scale))  # type: ignore[arg-type]
        assert [p["p"] for p in space.decode(np.array([[0.0], [1.0]]))] == [0.1234567890123456, 0.9876543210987654]


def test_scales_place_values_where_they_say() -> None:
    """The middle of a log range is the geometric mean; of a linear one the arithmetic; ints and ordinals own cells."""
    log = space_of(Parameter("p", "float", (1e-4, 1.0), "log"))
    assert log.encode([{"p": 1e-2}])[0, 0] == pytest.approx(0.5)
    linear = space_of(Parameter("p", "float", (-2.0, 4.0)))
    assert linear.encode([{"p": 1.0}])[0, 0] == pytest.approx(0.5)
    ordinal = space_of(Parameter("p", "ordinal", values=(16, 32, 64)))
    np.testing.assert_allclose(ordinal.encode([{"p": v} for v in (16, 32, 64)])[:, 0], [1 / 6, 3 / 6, 5 / 6])
    assert [p["p"] for p in ordinal.decode(np.array([[0.0], [0.34], [0.99], [1.0]]))] == [16, 32, 64, 64]


def test_each_integer_is_equally_likely_on_a_linear_scale() -> None:
    """A uniform row hits every integer of a range equally often, the ends too."""
    space = space_of(Parameter("p", "int", (3, 7)))
    values = [p["p"] for p in space.decode(np.linspace(0, 1 - 1e-9, 1000)[:, None])]
    assert {v: values.count(v) for v in set(values)} == dict.fromkeys(range(3, 8), 200)


def test_categories_lie_equally_far_apart() -> None:
    """No order is made up: any two values of a categorical are at distance 1, like the ends of a range."""
    space = space_of(Parameter("p", "categorical", values=("a", "b", "c")))
    X = space.encode([{"p": v} for v in "abc"])
    distance = np.linalg.norm(X[:, None] - X[None], axis=-1)
    np.testing.assert_allclose(distance, 1 - np.eye(3))


def test_true_and_one_are_different_values() -> None:
    """JSON's true is not 1, in either list type."""
    for kind in ("ordinal", "categorical"):
        space = space_of(Parameter("p", kind, values=(True, 1, "1")))  # type: ignore[arg-type]
        points = [{"p": v} for v in (True, 1, "1")]
        back = space.decode(space.encode(points))
        assert [(type(p["p"]), p["p"]) for p in back] == [(bool, True), (int, 1), (str, "1")]
        assert len({key(space.problem, p) for p in points}) == 3


def test_neighbors_change_one_parameter_to_other_valid_values() -> None:
    """A discrete neighbour differs in that parameter alone and decodes to a value of it."""
    made = (
        Parameter("f", "float", (0.0, 1.0)),
        Parameter("i", "int", (0, 50)),
        Parameter("l", "int", (1, 9), "log"),
        Parameter("o", "ordinal", values=(1, 2, 4)),
        Parameter("c", "categorical", values=("a", "b", "d")),
    )
    space = space_of(*made)
    here: dict[str, Any] = {"f": 0.25, "i": 0, "l": 9, "o": 2, "c": "b"}
    x = space.encode([here])[0]
    for j in range(1, 5):
        found = space.decode(space.neighbors_of(j, x))
        name = made[j].name
        assert found
        assert all(p[name] != here[name] and {**p, name: here[name]} == here for p in found)
    assert {p["c"] for p in space.decode(space.neighbors_of(4, x))} == {"a", "d"}


def test_size_counts_points() -> None:
    """Told as a logarithm: finite where every free parameter is discrete, infinite with a float."""
    discrete = space_of(Parameter("i", "int", (1, 10)), Parameter("o", "ordinal", values=("a", "b")))
    assert discrete.log_size() == pytest.approx(math.log(20))
    assert discrete.log_size({"i"}) == pytest.approx(math.log(2))
    mixed = space_of(Parameter("i", "int", (1, 10)), Parameter("f", "float", (0.0, 1.0)))
    assert math.isinf(mixed.log_size())
    assert mixed.log_size({"f"}) == pytest.approx(math.log(10))


def test_size_of_a_vast_space_is_no_overflow() -> None:
    """A hundred wide ints are more points than a float can count; beside a float they are infinitely many."""
    many = [Parameter(f"i{j}", "int", (0, 10_000)) for j in range(100)]
    assert space_of(*many).log_size() == pytest.approx(100 * math.log(10_001))
    assert math.isinf(space_of(*many, Parameter("f", "float", (0.0, 1.0))).log_size())


def test_fixed_columns_hold_given_and_single_values() -> None:
    """Values fixed for an ask and parameters with one value are held where they encode."""
    made = (Parameter("f", "float", (0.0, 2.0)), Parameter("one", "float", (3.0, 3.0)),
            Parameter("c", "categorical", values=("a", "b")), Parameter("k", "int", (7, 7)))  # fmt: skip
    space = space_of(*made)
    held, at = space.fixed_columns({"c": "b"})
    assert held.tolist() == [False, True, True, True, True]
    (point,) = space.decode(np.where(held, at, 0.5)[None])
    assert point == {"f": 1.0, "one": 3.0, "c": "b", "k": 7}


def test_random_points_are_distinct_and_exhaust_exactly() -> None:
    """Of six points, five are left after one is taken: five are given, six are refused."""
    problem = Problem((Parameter("i", "int", (0, 2)), Parameter("b", "categorical", values=("a", "b"))), "minimize")
    taken = [{"i": 1, "b": "a"}]
    points = random_points(problem, np.random.default_rng(0), 5, taken=taken)
    assert len({key(problem, p) for p in [*points, *taken]}) == 6
    with pytest.raises(SpaceExhausted, match="only 5 are left"):
        random_points(problem, np.random.default_rng(0), 6, taken=taken)


def test_last_point_of_a_large_discrete_space_is_found() -> None:
    """Where random draws keep missing, enumeration finds the one point that is left."""
    problem = Problem((Parameter("i", "int", (0, 4999)),), "minimize")
    taken = [{"i": k} for k in range(5000) if k != 4321]
    assert random_points(problem, np.random.default_rng(0), taken=taken) == [{"i": 4321}]


def test_random_points_respect_fixed_values() -> None:
    """A value fixed for one ask is in every random point."""
    problem = unit_problem(3)
    points = random_points(problem, np.random.default_rng(0), 5, fixed={"x1": 0.125})
    assert {p["x1"] for p in points} == {0.125}


def test_all_fixed_leaves_one_point() -> None:
    """With everything fixed there is one point, then none."""
    problem = unit_problem(2)
    fixed = {"x0": 0.5, "x1": 0.25}
    assert random_points(problem, np.random.default_rng(0), fixed=fixed) == [fixed]
    with pytest.raises(SpaceExhausted):
        random_points(problem, np.random.default_rng(0), taken=[fixed], fixed=fixed)
