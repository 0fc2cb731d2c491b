"""The history of concurrent clients, in small."""

from __future__ import annotations

from tests.chaos.linearizability import check
from tests.support.app import running_app


def test_concurrent_clients_see_trials_change_one_call_at_a_time(database_url: str) -> None:
    """Eight clients on two replicas, with leases that run out: every answer fits into one order."""
    with running_app(database_url) as one, running_app(database_url) as other:
        seen, losses = check([str(one.base_url), str(other.base_url)], clients=8, calls=240)
    assert losses == []
    assert seen > 100
