"""The dashboard's own arithmetic, module by module, in the browser that runs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page


@pytest.fixture
def modules(page: Page) -> Page:
    """A page from which modules can be imported."""
    page.goto("/#/new")
    return page


def _call(page: Page, module: str, expression: str, argument: Any = None) -> Any:
    return page.evaluate(
        f"async (arg) => {{ const m = await import('/dashboard/{module}'); return {expression}; }}", argument
    )


def test_blocks_stand_together(modules: Page) -> None:
    """Parameters of three shuffled blocks come out block by block."""
    blocks = np.random.default_rng(3).permutation([0] * 4 + [1] * 5 + [2] * 3)
    matrix = np.where(blocks[:, None] == blocks[None], 0.8, 0.1)
    np.fill_diagonal(matrix, 1.0)
    order = _call(modules, "charts/order.js", "m.blockOrder(arg)", matrix.tolist())
    assert sorted(order) == list(range(12))
    changes = np.count_nonzero(np.diff(blocks[order]))
    assert changes == 2


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (3, "3"),
        (-1234567, "−1,234,567"),
        (0.1 + 0.2, "0.3"),
        (1.23456e-5, "1.235×10⁻⁵"),
        (-4e12, "−4×10¹²"),
        (147.7376, "147.7"),
        (None, "–"),
    ],
)
def test_numbers_are_written_for_people(modules: Page, value: float | None, shown: str) -> None:
    """Few digits, thousands set apart, powers of ten where they help."""
    assert _call(modules, "format.js", "m.number(arg)", value) == shown


def test_units_and_values_agree(modules: Page) -> None:
    """A value goes to the unit interval and back, on every kind of parameter."""
    parameters = [
        ({"type": "float", "bounds": [-5, 5], "scale": "linear"}, 2.5),
        ({"type": "float", "bounds": [1e-5, 1.0], "scale": "log"}, 1e-2),
        ({"type": "int", "bounds": [1, 1000], "scale": "log"}, 37),
        ({"type": "ordinal", "values": [16, 32, 64]}, 32),
        ({"type": "categorical", "values": ["a", "b", True]}, True),
    ]
    for parameter, value in parameters:
        back = _call(modules, "space.js", "m.fromUnit(arg[0], m.toUnit(arg[0], arg[1]))", [parameter, value])
        assert back == pytest.approx(value)


def test_points_are_spread_evenly(modules: Page) -> None:
    """Each third of each axis gets about a third of the points, in 30 dimensions too."""
    names = [f"x{j}" for j in range(30)]
    parameters = [{"name": n, "type": "float", "bounds": [0, 1], "scale": "linear"} for n in names]
    points = _call(modules, "space.js", "m.spread(arg, 300)", parameters)
    X = np.array([[point[n] for n in names] for point in points])
    thirds = np.stack([((k / 3 <= X) & ((k + 1) / 3 > X)).mean(0) for k in range(3)])
    assert np.abs(thirds - 1 / 3).max() < 0.05


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("16, 32 ,64", [16, 32, 64]),
        ('adam, sgd,"1"', ["adam", "sgd", "1"]),
        ("true, no", [True, "no"]),
        ('"a, b", c', ["a, b", "c"]),
        ("", []),
    ],
)
def test_typed_lists_are_read(modules: Page, text: str, values: list[object]) -> None:
    """Numbers, booleans and text, quotes keeping text what it is."""
    assert _call(modules, "space.js", "m.typedList(arg)", text) == values


def test_long_seeds_keep_every_digit(page: Page, told_study: str) -> None:
    """A seed of 19 digits is shown exactly, though a double cannot hold it."""
    page.goto("/")
    seed = 9_223_372_036_854_775_001
    page.route(
        "**/exact", lambda route: route.fulfill(body=f'{{"seed": {seed}, "x": 1e300}}', content_type="application/json")
    )
    shown = _call(page, "api.js", "String((await m.get('exact', { exact: true })).seed)")
    assert shown == str(seed)
    assert _call(page, "api.js", "(await m.get('exact', { exact: true })).x") == 1e300


def test_shares_of_variance(modules: Page) -> None:
    """Variances of the factors' means, as parts of their sum."""
    predictions = [{"factors": {"f": {"mean": 2 * s, "sd": 1}, "g": {"mean": s, "sd": 1}}} for s in (-1, 1)]
    assert _call(modules, "factors.js", "m.shares(arg, ['f', 'g'])", predictions) == pytest.approx([0.8, 0.2])
