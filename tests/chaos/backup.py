"""Backup and restore under write load: `dumbo export` while clients write, `dumbo import` elsewhere.

What is restored is one moment of the original: everything that was acknowledged before the export began is in it, and
nothing is half there. Restored studies go to the other kind of database, and answer as the original does.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.chaos.client import Caller
from tests.chaos.consistency import broken
from tests.chaos.report import Finding, summary
from tests.chaos.site import Shift, Tally, home, open_site
from tests.support.server import ROOT, clean_environment

BACKUPS = 10  # from each database, at scale 1


def dumbo(database_url: str, *arguments: str | Path) -> None:
    """Run a command as an operator does; it must succeed."""
    environment = clean_environment({"database_url": database_url}) | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "service.cli", *map(str, arguments)]
    subprocess.run(command, env=environment, check=True, capture_output=True)


def backed_up(shift: Shift, source: str, target: str) -> list[str]:
    """Export from the source while the shift writes, import into the target; what was lost."""
    acknowledged = shift.acknowledged()
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        dumbo(source, "export", "--output", file.name)
        dumbo(target, "import", file.name)
    with open_site(target) as restored:
        caller = Caller(restored.url, keep=False)
        losses = shift.held_against(caller, acknowledged)
    return losses + broken(target)


def findings(scale: float) -> Iterator[Finding]:
    rng = random.Random(8)
    for kind, other in (("sqlite", "postgres"), ("postgres", "sqlite")):
        started, tally, backups = time.monotonic(), Tally(), max(1, round(scale * BACKUPS))
        with home(kind) as where, open_site(where.url) as site:
            shift = Shift(site.url, rng)
            try:
                for _ in range(backups):
                    time.sleep(rng.uniform(0, 2))
                    with home(other) as elsewhere:
                        tally.losses += backed_up(shift, where.url, elsewhere.url)
            finally:
                shift.end(tally)
        detail = f"{tally.acknowledged:,} answers given meanwhile{summary(tally.losses)}"
        tried = f"{backups} backups restored on {other}"
        yield Finding(
            "backup and restore under write load", kind, tried, len(tally.losses), time.monotonic() - started, detail
        )
