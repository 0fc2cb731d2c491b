"""Ours with constants of the core changed, for the length of a run."""

from __future__ import annotations

from contextlib import suppress

import pytest

import core.hope
import core.sums
from benchmarks.arena.run import Task, execute
from benchmarks.rivals import ALGORITHMS, find
from benchmarks.rivals.changes import in_force, parsed


def test_a_change_reaches_every_module_that_has_the_constant_and_is_undone() -> None:
    """`EVERY` is defined in one module and imported by another; also an error puts both back."""
    before = core.hope.EVERY
    with suppress(RuntimeError), in_force((parsed("hope.EVERY=12"), parsed("hope.CLEAR=-1.5"))):
        assert (core.hope.EVERY, core.sums.EVERY, core.hope.CLEAR) == (12, 12, -1.5)
        raise RuntimeError
    assert core.hope.EVERY == core.sums.EVERY == before
    assert core.hope.CLEAR > 0


def test_a_variant_is_named_by_what_it_changes() -> None:
    """What it knows of the problem is what its base knows."""
    found = find("add-dumbo@hope.CLEAR=0@sums.FRESH_EVERY=7")
    assert found.label == "ADD-DuMBO, hope.CLEAR=0, sums.FRESH_EVERY=7"
    assert found.knowledge == ALGORITHMS["add-dumbo"].knowledge
    assert found.changes == (("hope", "CLEAR", 0), ("sums", "FRESH_EVERY", 7))
    assert find("dumbo") is ALGORITHMS["dumbo"]
    several = find("add-dumbo-by-5@hope.CLEAR=0")
    assert several.label == "ADD-DuMBO, 5 at a time, hope.CLEAR=0"
    assert dict(several.options) == {"mode": "known", "batch": 5}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dumbo@hope.CLEAR", "expected a change like"),
        ("dumbo@hope.CLEARLY=1", "no 'CLEARLY'"),
        ("dumbo@nothing.X=1", "expected a change like"),
        ("optuna-gp@hope.CLEAR=0", "unknown algorithm"),
        ("optuna-gp-by-5", "unknown algorithm"),
        ("dumbo-by-0", "unknown algorithm"),
        ("nobody", "unknown algorithm"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        find(name)


def test_a_run_is_made_under_its_changes() -> None:
    """Without initial trials the very first point is the model's; the same seed without the change begins as ever."""
    plain, other, same = (
        execute(Task("camel", name, 0, 14))
        for name in ("dumbo", "dumbo@improvement.KAPPAS=(9.0, 9.5)", "dumbo@hope.CLEAR=10.0")
    )
    assert plain.values[:6] == other.values[:6]  # the design
    assert plain.values != other.values
    assert plain.values == same.values
