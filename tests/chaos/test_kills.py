"""A kill or two of each kind; `make chaos` does hundreds."""

from __future__ import annotations

import random

import pytest

from tests.chaos.kills import killed


@pytest.mark.parametrize(("kind", "victim"), [("sqlite", "server"), ("postgres", "Postgres")])
def test_a_kill_loses_nothing(kind: str, victim: str) -> None:
    """Clients write, the victim dies and comes back: every answer that was given is there, and nothing is half-done."""
    finding = killed(kind, victim, 1, random.Random(1))
    assert finding.lost == 0, finding.detail
