"""Hostile input: schemathesis over the whole OpenAPI document, along its links, against the real server.

It makes valid and broken requests for every operation, and walks from call to call. Lost is every answer that the
document does not have: another status, another form, a 5xx, a broken request taken for a good one, a thing that is gone
and still answers. `st` runs as its users run it, with seeds 1, 2, 3, ... until there were enough cases.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.chaos.report import Finding
from tests.support.databases import KINDS, fresh_database
from tests.support.server import ROOT, Server, running_server

CASES = 10_000  # on each database
PER_OPERATION = 60  # in one round
PHASES = "examples,coverage,fuzzing,stateful"
# A good body may be refused all the same: that bounds are in order, or that a name is free, no schema can say. And what
# was created need not be there: a repeated Idempotency-Key is answered as at first, also after the study was deleted.
CONFIG = """\
[checks.positive_data_acceptance]
expected-statuses = ["2XX", 304, 400, 404, 409, 422]

[checks.ensure_resource_availability]
enabled = false
"""


@dataclass
class Tally:
    """What the rounds so far have come to."""

    cases: int = 0
    operations: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, report: dict[str, Any]) -> None:
        self.cases += report["test_cases"]["generated"]
        self.operations = max(self.operations, report["operations"]["tested"])
        self.faults += [f"{failure['title']}: {', '.join(failure['operations'])}" for failure in report["failures"]]
        self.faults += [str(error) for error in report["errors"]]


def findings(scale: float) -> Iterator[Finding]:
    for kind in KINDS:
        yield attacked(kind, int(CASES * scale))


def attacked(kind: str, cases: int) -> Finding:
    """So many requests to a server on one database."""
    started = time.perf_counter()
    with fresh_database(kind) as url, running_server(url) as server:
        tally = _rounds(server, cases)
        tally.faults += _aftermath(server)
    tried = f"{tally.cases:,} requests to {tally.operations} operations"
    seconds = time.perf_counter() - started
    what = "hostile requests (schemathesis)"
    return Finding(what, kind, tried, len(tally.faults), seconds, "; ".join(tally.faults[:5]))


def _rounds(server: Server, cases: int) -> Tally:
    tally = Tally()
    for seed in itertools.count(1):
        wanted = min(PER_OPERATION, max(1, (cases - tally.cases) // 50))
        tally.add(run(server.url, seed, wanted))
        if tally.cases >= cases:
            break
    return tally


def run(url: str, seed: int, per_operation: int, phases: str = PHASES) -> dict[str, Any]:
    """One run of schemathesis; its report."""
    with tempfile.TemporaryDirectory(prefix="dumbo-st-") as scratch:
        config, report = Path(scratch, "schemathesis.toml"), Path(scratch, "report.json")
        config.write_text(CONFIG)
        command = [Path(sys.executable).with_name("st"), "--config-file", config, "run", ROOT / "openapi.yaml"]
        command += ["--url", url, "--seed", str(seed), "--max-examples", str(per_operation), "--continue-on-failure"]
        command += ["--report", "json", "--report-json-path", report, "--request-timeout", "60", "--phases", phases]
        variables = {"SCHEMATHESIS_HOOKS": "tests.chaos.taming", "TAMING_SEED": str(seed), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, cwd=scratch, env=os.environ | variables, capture_output=True, text=True, check=False
        )
        if not report.exists():
            raise RuntimeError(f"schemathesis did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        made: dict[str, Any] = json.loads(report.read_text())
    if done.returncode:  # how to reproduce what it found
        print(done.stdout[done.stdout.find("= FAILURES =") :], file=sys.stderr)
    return made


def _aftermath(server: Server) -> list[str]:
    """What is wrong with the server afterwards."""
    faults = []
    if httpx.get(f"{server.url}/readyz", timeout=60).status_code != 200:
        faults.append("not ready afterwards")
    if unhandled := server.output.count('"event":"unhandled"'):
        faults.append(f"{unhandled} unhandled errors in the log")
    return faults
