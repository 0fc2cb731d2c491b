"""What asks were made by, and what is said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.arena import records
from benchmarks.arena.asks import KINDS, Ask, Course, follow, kind_of, surprise, table
from benchmarks.arena.run import Task, execute

SEARCH: dict[str, Any] = {"expected": {"mean": 2.0, "sd": 0.5}}
BY_MODEL: dict[str, Any] = {"model": "shared", "hopeful": False, "feature": None, "n_factors": [1], "admm": SEARCH}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, "one factor"),
        ({"n_factors": [1, 3]}, "factors"),
        ({"feature": {"kind": "bowl"}}, "feature"),
        ({"hopeful": True, "n_factors": [2]}, "hopeful"),
        ({"hopeful": True, "admm": {**SEARCH, "elsewhere": 1}}, "elsewhere"),
        ({"admm": {**SEARCH, "elsewhere": 1, "released": "x0"}}, "off a bound"),
        ({"admm": None}, "random"),
    ],
)
def test_a_point_is_of_the_kind_that_decided_on_it(changes: dict[str, Any], kind: str) -> None:
    """Where several things can be said of an ask, the last to choose the point names it."""
    assert kind_of({**BY_MODEL, **changes}) == kind


def test_before_the_model_there_is_the_design() -> None:
    """Its diagnostics say nothing of a model, and nothing was expected."""
    assert kind_of({"seconds": {}, "fallbacks": []}) == "design"
    assert surprise({"seconds": {}, "fallbacks": []}, 1.0) is None


def test_surprise_is_counted_in_standard_deviations() -> None:
    """Above what was expected is positive; a model that could not say is not judged."""
    assert surprise(BY_MODEL, 3.0) == 2.0
    assert surprise(BY_MODEL, 1.5) == -1.0
    assert surprise({**BY_MODEL, "admm": {"expected": None}}, 3.0) is None


def test_the_table_adds_up_over_runs() -> None:
    """Counts, shares of new best values and of what was gained, and surprises, worked out by hand."""
    first = Course("camel", "dumbo", 0, 5.0, [Ask("design", 1, None), Ask("hopeful", 0, -3), Ask("one factor", 4, 1)])
    second = Course("camel", "dumbo", 1, 5.0, [Ask("design", 2, None), Ask("hopeful", 3, 0), Ask("one factor", 3, -1)])
    assert first.gains.tolist() == [0, 0, 3]
    lines = table([first, second]).splitlines()
    assert lines[0] == "### DuMBO on camel: 2 runs of 3 evaluations"
    assert lines[4:] == [
        f"| {KINDS['design']} | 2 | 0% |  |  |  |",
        f"| {KINDS['one factor']} | 2 | 50% | 75% | 0 | 0% |",
        f"| {KINDS['hopeful']} | 2 | 50% | 25% | -1.50 | 50% |",
    ]


def test_a_run_that_is_followed_is_the_run_itself() -> None:
    """The same values as without, every model's point with what was expected of it."""
    task = Task("camel-shifted", "dumbo", 0, 14)
    seen: list[int] = []
    course = follow(task, seen.append)
    assert course.values.tolist() == execute(task).values
    assert seen == list(range(1, 15))
    made = [ask.kind != "design" for ask in course.asks]
    assert made == [ask.surprise is not None for ask in course.asks]
    assert 1 <= sum(made) < 14


def test_a_course_comes_back_from_the_record_as_it_was(tmp_path: Path) -> None:
    """Asks with and without a surprise, beside others of the same file."""
    course = Course("rover", "dumbo", 0, None, [Ask("design", -9.5, None), Ask("one factor", -7.25, -0.5)])
    other = Course("rover", "dumbo", 1, None, [Ask("design", -3.0, None)])
    for each in (course, other):
        records.append(tmp_path / "asks.jsonl", each)
    assert records.load(tmp_path / "asks.jsonl", Course) == [course, other]
