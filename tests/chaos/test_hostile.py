"""Hostile input in short: each property on some inputs, and one small round of schemathesis."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chaos import exports, hostile, parsers, wire
from tests.chaos.properties import Property, tried
from tests.chaos.report import Finding
from tests.support.server import Server

FEW = 60


def assert_nothing_lost(finding: Finding) -> None:
    assert finding.lost == 0, finding.detail


@pytest.mark.parametrize("test", parsers.PURE, ids=lambda test: test.__name__)
def test_parsers_stand_any_input(test: Property) -> None:
    """JSON bodies, cursors and CSV cells, well-formed or not."""
    assert_nothing_lost(tried("parser", "none", test, FEW))


def test_changed_exports_are_refused(sqlite_url: str) -> None:
    """An import takes all of an export or none, wherever it was changed."""
    with exports.exports_are_read_whole_or_not(sqlite_url) as test:
        assert_nothing_lost(tried("exports", "sqlite", test, FEW))


def test_the_whole_api_stands_hostile_requests(live_server: Server) -> None:
    """No 5xx and no undocumented answer to what schemathesis makes of openapi.yaml, nor to raw bytes."""
    with wire.http_is_answered_or_closed(live_server) as test:
        assert_nothing_lost(tried("raw bytes", "sqlite", test, FEW))
    report = hostile.run(live_server.url, seed=1, per_operation=1, phases="examples,stateful")
    assert report["operations"]["tested"] > 15
    assert (report["failures"], report["errors"]) == ([], [])


def test_a_property_that_does_not_hold_is_a_loss() -> None:
    """The runner of properties would notice."""
    finding = tried("none", "none", given(st.integers())(_false), 100)
    assert finding.lost == 1
    assert "AssertionError" in finding.detail


def _false(number: int) -> None:
    assert number < 10
