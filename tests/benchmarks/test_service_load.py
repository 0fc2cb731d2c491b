"""The load benchmark notices what it is there to notice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from benchmarks.load.client import Reply
from benchmarks.load.scenarios import Sample, bare_tells, crowd, what_is_lost
from benchmarks.readme import fill
from benchmarks.service_load import BARE_ROWS, bare_server
from tests.support.server import Server


def stored(*numbers: int) -> list[dict[str, Any]]:
    return [{"number": n, "parameters": {"x": n / 10}, "value": float(n)} for n in numbers]


def test_nothing_lost_is_said_of_a_sound_study() -> None:
    """Numbers without gaps, distinct points, and values as told."""
    assert what_is_lost(stored(0, 1, 2), {0: 0.0, 2: 2.0}, Sample(), Sample()) == []


@pytest.mark.parametrize(
    ("trials", "told", "says"),
    [
        (stored(0, 2), {}, "gaps"),
        (stored(0, 1, 1), {}, "gaps or repeat"),
        ([*stored(0), {"number": 1, "parameters": {"x": 0.0}, "value": 1.0}], {}, "proposed 2 times"),
        (stored(0, 1), {1: 7.0}, "was told 7.0"),
        (stored(0), {5: 5.0}, "trial 5 has None"),
    ],
)
def test_each_loss_is_named(trials: list[dict[str, Any]], told: dict[int, float], says: str) -> None:
    """A gap, a repeated number or point, a changed value and a missing trial are all found."""
    assert any(says in loss for loss in what_is_lost(trials, told, Sample(), Sample()))


def test_errors_are_losses() -> None:
    """An answer that is not a success counts as lost."""
    asks = Sample()
    asks.add(Reply(503, None, 0.1))
    assert what_is_lost([], {}, asks, Sample()) == ["1 asks got 503"]


def test_crowd_runs_on_the_real_server(live_server: Server) -> None:
    """A small crowd for a moment, with nothing lost."""
    result = asyncio.run(crowd(live_server.url, 4, 1.0))
    assert result.lost == []
    assert result.trials >= 4


def test_yardstick_writes_rows(sqlite_url: str) -> None:
    """The bare endpoint answers and is timed."""
    with bare_server(sqlite_url) as server:
        sample = asyncio.run(bare_tells(server.url, BARE_ROWS, 0.2))
    assert not sample.errors
    assert sample.rate > 0


def test_section_is_filled_between_its_marks(tmp_path: Path) -> None:
    """The rest of the page stays as it was, and a page without the section is an error."""
    page = tmp_path / "README.md"
    page.write_text("a\n<!-- begin load -->\nold\n<!-- end load -->\nb\n")
    fill("load", "new \\1", page)
    assert page.read_text() == "a\n<!-- begin load -->\nnew \\1\n<!-- end load -->\nb\n"
    with pytest.raises(ValueError, match="once"):
        fill("regret", "x", page)
