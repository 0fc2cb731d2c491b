"""The checker of histories, on histories made by hand."""

from __future__ import annotations

import pytest

from tests.chaos.history import Call, explains, faults


def handed(
    client: str | None, at: float, until: float, *, start: float | None = None, end: float | None = None
) -> Call:
    return Call("handed out", 0, start or at, end or at + 0.5, client, at, until)


def told(value: float, start: float, end: float) -> Call:
    return Call("told", 0, start, end, value=value)


def refused(value: float, start: float, end: float) -> Call:
    return Call("refused", 0, start, end, value=value)


def read(value: float | None, start: float, end: float) -> Call:
    return Call("read", 0, start, end, value=value)


GOOD = {
    "asked, told, read": [handed("a", 1, 9), told(5, 2, 3), read(5, 4, 5)],
    "a client gets its own trial again": [handed("a", 1, 9), handed("a", 2, 9)],
    "a lease that is over": [handed("a", 1, 2), handed("b", 2, 9), handed(None, 9, 12)],
    "a late tell, by whoever held it before": [handed("a", 1, 2), handed("b", 3, 9), told(5, 4, 5)],
    "the same result twice": [handed("a", 1, 9), told(5, 2, 3), told(5, 4, 5)],
    "of two at once, the later one is refused": [handed("a", 1, 9), told(5, 2, 6), refused(4, 2, 6)],
    "a read during a tell may see either": [handed("a", 1, 9), told(5, 2, 6), read(None, 3, 4), read(5, 4.5, 5)],
    "a tell that began first may come last": [handed("a", 1, 9), refused(4, 2, 8), told(5, 3, 4)],
    "a late hand-out overlaps the tell": [handed("a", 1, 2), handed("b", 3, 9, start=2.9, end=5), told(5, 2.5, 4)],
}
BAD = {
    "two hold one lease": [handed("a", 1, 9), handed("b", 2, 10)],
    "nobody is somebody else": [handed(None, 1, 9), handed(None, 2, 10)],
    "handed out after its result": [handed("a", 1, 2), told(5, 3, 4), handed("b", 6, 9)],
    "two results": [handed("a", 1, 9), told(5, 2, 3), told(4, 2, 3)],
    "a tell is lost": [handed("a", 1, 9), told(5, 2, 3), read(None, 4, 5)],
    "another value is read": [handed("a", 1, 9), told(5, 2, 3), read(4, 4, 5)],
    "a value nobody told": [handed("a", 1, 9), read(5, 2, 3)],
    "a result comes and goes": [handed("a", 1, 9), told(5, 2, 8), read(5, 3, 4), read(None, 5, 6)],
    "refused for no reason": [handed("a", 1, 9), refused(5, 2, 3)],
    "refused before the other began": [handed("a", 1, 9), refused(4, 2, 3), told(5, 4, 5)],
    "refused though it was the same": [handed("a", 1, 9), told(5, 2, 3), refused(5, 4, 5)],
}


@pytest.mark.parametrize("calls", GOOD.values(), ids=GOOD)
def test_an_honest_history_is_explained(calls: list[Call]) -> None:
    """Whatever the order in which the calls are given."""
    assert explains(calls)
    assert explains(calls[::-1])


@pytest.mark.parametrize("calls", BAD.values(), ids=BAD)
def test_a_dishonest_history_is_found_out(calls: list[Call]) -> None:
    """No order of the calls explains the answers."""
    assert not explains(calls)
    assert not explains(calls[::-1])


def test_faults_of_a_whole_study() -> None:
    """Trials that are gone or skipped, results that did not last, and leases of another length are named."""
    good = [handed("a", 1, 9), told(5, 2, 3)]
    assert list(faults(good, {0: 5})) == []
    assert "no order" in " ".join(faults(good, {0: 4}))
    assert "no order" in " ".join(faults(good, {0: None}))
    assert "are gone" in " ".join(faults(good, {}))
    assert "nobody" in " ".join(faults(good, {0: 5, 1: None}))
    assert "gap" in " ".join(faults(good, {0: 5, 2: None}))
    assert "lease" in " ".join(faults([handed("a", 1, 9, start=2, end=3)], {0: None}))
