"""What counts as flat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.trend import Sample, draw, growing, slope, warm

FLAT = [Sample(10.0 * i, 100 + i % 3, 300 + i % 5, 30 + i % 2, 5 + i % 2, 1.0) for i in range(180)]


def test_what_only_varies_is_flat() -> None:
    """Ups and downs are no growth, nor is a warm-up at the beginning."""
    cold = [replace(sample, server_mb=50 + i) for i, sample in enumerate(FLAT[:36])]
    assert list(growing(warm([*cold, *FLAT[36:]]))) == []
    assert abs(slope(FLAT, "server_mb")) < 1


@pytest.mark.parametrize(
    ("leak", "named"),
    [
        (lambda i, s: replace(s, server_mb=s.server_mb + 0.1 * i), "server_mb"),
        (lambda i, s: replace(s, workers_mb=s.workers_mb + 0.5 * i), "workers_mb"),
        (lambda i, s: replace(s, descriptors=s.descriptors + i // 20), "descriptors"),
        (lambda i, s: replace(s, tell_ms=s.tell_ms * (1 + i / 60)), "slower"),
    ],
)
def test_growth_is_found(leak: Callable[[int, Sample], Sample], named: str) -> None:
    """Of memory, descriptors or latency, each by its name."""
    [found] = growing([leak(i, sample) for i, sample in enumerate(FLAT)])
    assert named in found


def test_a_machine_that_is_slower_for_everyone_is_no_fault() -> None:
    """Latency counts beside that of a request that does nothing."""
    busy = [replace(s, tell_ms=s.tell_ms * (1 + i), health_ms=1.0 + i) for i, s in enumerate(FLAT)]
    assert list(growing(busy)) == []


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    """As SVG."""
    pytest.importorskip("matplotlib")
    draw(FLAT, tmp_path / "plots" / "soak.svg")
    assert "<svg" in (tmp_path / "plots" / "soak.svg").read_text()
