"""A model of the truth: random sequences of every call, by `machine`, against the service and against `truth`."""

from __future__ import annotations

import time
from collections.abc import Iterator

from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import HypothesisException
from hypothesis.stateful import run_state_machine_as_test

from tests.chaos import truth
from tests.chaos.consistency import broken
from tests.chaos.machine import Contract
from tests.chaos.replicas import replicas
from tests.chaos.report import Finding, summary
from tests.chaos.site import home

EXAMPLES, STEPS = 500, 30
SETTINGS = {
    "max_trials": truth.MAX_TRIALS,
    "max_count": truth.MAX_COUNT,
    "max_results": truth.MAX_RESULTS,
    "max_lease_seconds": truth.MAX_LEASE,
    "lease_seconds": truth.LEASE,
}


def run(url: str, examples: int, steps: int = STEPS, *, derandomize: bool = False) -> tuple[int, int]:
    """Run the machine on a database that has the schema; how many calls were made, and how many restarts."""
    with replicas(url, **SETTINGS) as site:
        machine = type("Run", (Contract,), {"site": site})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                database=None,
                derandomize=derandomize,
                phases=[Phase.generate],  # to shrink what takes a second to try would take all night
                suppress_health_check=list(HealthCheck),
            ),
        )
        return site.calls, site.restarts


def findings(scale: float) -> Iterator[Finding]:
    examples = max(2, round(scale * EXAMPLES))
    for kind in ("sqlite", "postgres"):
        started = time.monotonic()
        with home(kind) as where:
            losses: list[str] = []
            calls = restarts = 0
            try:
                calls, restarts = run(where.url, examples)
            except (AssertionError, HypothesisException) as error:
                losses.append(repr(error))
            losses += broken(where.url)
        detail = f"{calls:,} calls, {restarts:,} restarts{summary(losses)}"
        seconds = time.monotonic() - started
        yield Finding("a model of the truth", kind, f"{examples} examples", len(losses), seconds, detail)
