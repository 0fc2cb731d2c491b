"""A wall clock that jumps, by hours and years, forwards and backwards, under a server with SQLite.

The real server runs with a library before the system's that turns its clock (`clock.c`; it needs a C compiler). Leases
go by that clock: a jump forwards ends them, a jump backwards ends none. Deadlines do not. Nothing told is lost.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.chaos.outage import Witness, finding, witness
from tests.chaos.report import Finding
from tests.support.databases import fresh_database
from tests.support.server import ROOT, Server, clean_environment

TIMES = 100
HOUR = 3600
JUMPS = (HOUR, 26 * HOUR, 400 * 24 * HOUR, -HOUR, -26 * HOUR, -400 * 24 * HOUR)
SOURCE = Path(__file__).with_name("clock.c")


def findings(scale: float) -> Iterator[Finding]:
    if shutil.which("cc") is None:
        print("clocks: not tried, for there is no C compiler to build a clock with", file=sys.stderr)
        return
    yield jumping(max(2, round(TIMES * scale)))


def jumping(times: int) -> Finding:
    """Turn the clock so many times."""
    started = time.monotonic()
    rng = random.Random(4)
    with tempfile.TemporaryDirectory() as home, fresh_database("sqlite") as url:
        hands = Path(home, "seconds")
        server = _server(url, build(Path(home)), hands)
        try:
            with witness(server.url) as client:
                for step in range(times):
                    _jump(client, hands, rng.choice(JUMPS), f"worker-{step}")
        finally:
            server.kill()
    return finding("clock jumps", "sqlite", times, started, client)


def build(home: Path) -> Path:
    library = home / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def _server(url: str, library: Path, hands: Path) -> Server:
    settings = {"port": 0, "workers": 1, "database_url": url}
    turned = {"LD_PRELOAD": str(library), "TURNED_CLOCK": str(hands), "PYTHONPATH": str(ROOT)}
    return Server([sys.executable, "-m", "service.cli", "serve"], clean_environment(settings) | turned, None)


def _jump(client: Witness, hands: Path, seconds: int, name: str) -> None:
    """A trial is asked for with a lease of two hours, then the clock jumps: is it given to another, as it should?"""
    held = client.ask(client_id=name, lease_seconds=2 * HOUR)
    before = int(hands.read_text()) if hands.exists() else 0
    _set(hands, before + seconds)
    expired = seconds > 2 * HOUR
    other = client.ask(client_id=f"{name}, another")
    given = other.get("number") == held.get("number")
    claim = f"after {seconds} s a lease of two hours is {'over' if given else 'kept'}"
    client.expect(claim, given == expired)
    value = float(seconds)
    for trial in {held.get("number"), other.get("number")}:
        if client.call("POST", "/v1/studies/outage/tell", {"trial": trial, "value": value}) is not None:
            client.told[int(str(trial))] = value
    client.expect("a tell after a jump", client.tell())
    client.expect("not ready after a jump", client.ready())


def _set(hands: Path, seconds: int) -> None:
    new = hands.with_suffix(".new")
    new.write_text(str(seconds))
    new.rename(hands)  # at once: a clock is never read half set
