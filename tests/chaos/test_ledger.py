"""The ledger: that it finds what is lost, changed, doubled or half-written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chaos.client import Reply
from tests.chaos.ledger import Ledger, Operation

JSON = dict[str, Any]


def _trial(number: int, value: float | None = None) -> JSON:
    state = "running" if value is None else "completed"
    return {"number": number, "state": state, "value": value, "parameters": {"x": number}, "told_at": value}


def _done(ledger: Ledger, path: str, body: JSON, trials: list[JSON], key: str | None = "k") -> None:
    operation = Operation(path, body, key)
    ledger.begin(operation)
    operation.acknowledge(Reply(200, json.dumps({"trials": trials}).encode()))


@pytest.fixture
def ledger() -> Ledger:
    """One trial asked and told, one asked, two told together, and two more in doubt."""
    ledger = Ledger("s")
    _done(ledger, "s/ask", {}, [_trial(0), _trial(1)])
    _done(ledger, "s/tell", {"trial": 0, "value": 5.0}, [_trial(0, 5.0)])
    both = {"results": [{"parameters": {}, "value": 6.0}, {"parameters": {}, "value": 7.0}]}
    _done(ledger, "s/tell", both, [_trial(2, 6.0), _trial(3, 7.0)])
    doubtful = {"results": [{"parameters": {}, "value": 8.0}, {"parameters": {}, "value": 9.0}]}
    ledger.begin(Operation("s/tell", doubtful, None, in_doubt=True))
    return ledger


KEPT = {0: _trial(0, 5.0), 1: _trial(1), 2: _trial(2, 6.0), 3: _trial(3, 7.0)}
BOTH = {4: _trial(4, 9.0), 5: _trial(5, 8.0)}


def _losses(ledger: Ledger, stored: dict[int, JSON]) -> list[str]:
    return [*ledger.losses(ledger.acknowledged(), stored), *ledger.unaccounted(stored)]


@pytest.mark.parametrize("stored", [KEPT, KEPT | BOTH], ids=["without", "with"])
def test_what_is_in_doubt_may_be_there_or_not(ledger: Ledger, stored: dict[int, JSON]) -> None:
    """But wholly."""
    assert _losses(ledger, stored) == []


@pytest.mark.parametrize(
    ("stored", "named"),
    [
        ({n: t for n, t in KEPT.items() if n < 3}, "gone"),
        (KEPT | {0: _trial(0)}, "another"),
        (KEPT | {0: _trial(0, 1.0)}, "nobody told"),
        (KEPT | {1: _trial(1) | {"parameters": {"x": 9}}}, "another parameters"),
        (KEPT | {4: _trial(4, 8.0)}, "1 of 2 results"),
        (KEPT | {4: _trial(4, 6.0)}, "2 times"),
        (KEPT | {4: _trial(4)}, "made 0 times"),
        (KEPT | {7: _trial(7)}, "gap"),
    ],
)
def test_what_is_lost_is_named(ledger: Ledger, stored: dict[int, JSON], named: str) -> None:
    """A trial or a result that is gone, changed, doubled, half-written, or that nobody asked for."""
    assert named in "; ".join(_losses(ledger, stored))


def test_a_running_trial_may_have_been_told_meanwhile(ledger: Ledger) -> None:
    """By a result that is in the ledger: an answer about a running trial is no promise that it stays so."""
    _done(ledger, "s/tell", {"trial": 1, "value": 4.0}, [_trial(1, 4.0)])
    assert _losses(ledger, KEPT | {1: _trial(1, 4.0)}) == []
