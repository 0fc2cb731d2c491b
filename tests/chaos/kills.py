"""Kill -9 of the server, of a compute worker and of Postgres, at random moments, while clients write.

After every kill: each answer that was given is there as it was given, nothing is half-written, numbers have no gap, a
repeated request gets its first answer. Every few kills the writers come to rest, and every trial must have come from
exactly one of their requests. The rows are checked as well: counts, best, asks, the chain, SQLite's integrity.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator

from tests.chaos.report import Finding, summary
from tests.chaos.site import Home, Shift, Site, Tally, check_rows, home, open_site
from tests.support.processes import children

KILLS = {"server": 200, "worker": 50, "Postgres": 50}  # for each database, at scale 1
SHIFT = 10  # kills after which the writers come to rest and go on with new studies
KILLED_STARTING = 0.1  # of the servers, before they are ready
KILLED_ALONE = 0.2  # of the servers; the others die with all their processes
START_SECONDS = 2.5  # about what a start takes
# Half of the servers die soon after the start, when tells flow; the others later, when workers have loaded the model.
EARLY, LATE = (0.0, 1.0), (2.0, 4.5)
BETWEEN = (0.2, 1.5)  # seconds between kills of other processes


def findings(scale: float) -> Iterator[Finding]:
    rng = random.Random(6)
    for kind in ("sqlite", "postgres"):
        for victim, kills in KILLS.items():
            if victim != "Postgres" or kind == "postgres":
                yield killed(kind, victim, max(1, round(scale * kills)), rng)


def killed(kind: str, victim: str, kills: int, rng: random.Random) -> Finding:
    """Kill the victim so many times on one database, and see what is lost."""
    strike = {"server": _kill_server, "worker": _kill_worker, "Postgres": _kill_postgres}[victim]
    started = time.monotonic()
    tally = Tally()
    with home(kind) as where, open_site(where.url) as site:
        for first in range(0, kills, SHIFT):
            _shift(where, site, tally, min(SHIFT, kills - first), strike, rng)
    what = {"worker": "a compute worker"}.get(victim, f"{'the ' if victim == 'server' else ''}{victim}")
    detail = (
        f"{tally.acknowledged:,} answers held against the database, {tally.lost_answers:,} in doubt, "
        f"{tally.replays:,} replays"
    )
    detail += summary(tally.losses)
    return Finding(f"kill -9 of {what}", kind, f"{kills} kills", len(tally.losses), time.monotonic() - started, detail)


Strike = Callable[[Home, Site, random.Random], None]


def _shift(where: Home, site: Site, tally: Tally, kills: int, strike: Strike, rng: random.Random) -> None:
    shift = Shift(site.url, rng)
    try:
        for _ in range(kills):
            strike(where, site, rng)
            tally.losses += shift.losses()
            check_rows(where, tally)
    finally:
        shift.end(tally)
    check_rows(where, tally)
    if orphans := site.orphans():
        tally.losses.append(f"{orphans} processes outlived their server")


def _kill_server(where: Home, site: Site, rng: random.Random) -> None:
    time.sleep(rng.uniform(*rng.choice([EARLY, LATE])))
    site.kill(alone=rng.random() < KILLED_ALONE)
    if rng.random() < KILLED_STARTING:
        site.kill_starting(rng.uniform(0, START_SECONDS))
    site.start()


def _kill_worker(where: Home, site: Site, rng: random.Random) -> None:
    time.sleep(rng.uniform(*BETWEEN))
    os.kill(rng.choice(_awaited(lambda: site.workers)), signal.SIGKILL)


def _kill_postgres(where: Home, site: Site, rng: random.Random) -> None:
    """All of it, which is then started again, or one of its processes, after which it starts itself again."""
    cluster = where.cluster
    assert cluster is not None
    time.sleep(rng.uniform(*BETWEEN))
    if rng.random() < 0.5:
        cluster.kill()
        cluster.start()
    else:
        os.kill(rng.choice(_awaited(lambda: children(cluster.pid))), signal.SIGKILL)


def _awaited(processes: Callable[[], list[int]]) -> list[int]:
    """The processes as soon as there are any: those killed before have to be replaced first."""
    while not (found := processes()):
        time.sleep(0.05)
    return found
