"""Faults around the service in short: once each, where that takes seconds."""

from __future__ import annotations

import shutil

import pytest

from tests.chaos import clocks, crowds, disks, postgres
from tests.chaos.report import Finding


def assert_nothing_lost(finding: Finding) -> None:
    assert finding.lost == 0, finding.detail


@pytest.mark.skipif(not disks.can_mount(), reason="only root may mount a small disk")
def test_a_full_disk_loses_nothing() -> None:
    """503 while it is full, not ready meanwhile, and well again by itself."""
    assert_nothing_lost(disks.full(1))


def test_postgres_may_be_restarted() -> None:
    """503 while it is away, not ready meanwhile, and well again by itself."""
    assert_nothing_lost(postgres.suffered("Postgres restarted", postgres.restarted, 1))


def test_a_crowd_of_silent_clients_goes_away(sqlite_url: str) -> None:
    """Each is closed within its time, its file is free again, and whoever works is served."""
    assert_nothing_lost(crowds.crowded("idle connections", b"", 200, sqlite_url))


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler to build a clock with")
def test_the_clock_may_jump() -> None:
    """Leases follow the wall clock, forwards and backwards; nothing else does, and nothing is lost."""
    assert_nothing_lost(clocks.jumping(3))
