"""The real server under load, on loopback, on both databases. Exit code 1 if anything was lost.

    python -m benchmarks.service_load [--seconds 30] [--database sqlite] [--json FILE] [--readme]

For each database it measures tells against a bare FastAPI endpoint that does the same one-row transaction, the p99 of
tells and reads while four asks compute, and 32 clients that ask and tell on one study: no error, no point twice, no
gap in the numbers, every told value there. A target that is missed is shown as missed; only a loss is a failure.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.load import report
from benchmarks.load.report import Row
from benchmarks.load.scenarios import bare_tells, crowd, light_beside_heavy, service_tells
from benchmarks.readme import fill
from service.storage.schema import upgrade
from tests.support.postgres import postgres_server
from tests.support.server import ROOT, Server, running_server

ASKS = 4
CLIENTS = 32
BARE_ROWS = 10_000


@contextmanager
def fresh_databases(kind: str) -> Iterator[Iterator[str]]:
    """URLs of new databases with the schema, as many as wanted."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as home:
            yield (_upgraded(f"sqlite:///{home}/{i}.db") for i in range(100))
        return
    with postgres_server(durable=True) as server:
        yield (_upgraded(server.url(server.create())) for _ in range(100))


def _upgraded(url: str) -> str:
    upgrade(url)
    return url


@contextmanager
def bare_server(database_url: str) -> Iterator[Server]:
    """The yardstick."""
    command = [sys.executable, "-m", "benchmarks.load.bare", database_url, str(BARE_ROWS)]
    server = Server(command, dict(os.environ), ROOT)
    try:
        yield server
    finally:
        server.kill()


def measure(kind: str, seconds: float) -> tuple[list[Row], list[str]]:
    """All scenarios on one database: the rows, and what was lost."""
    rows: list[Row] = []
    with fresh_databases(kind) as databases:
        say(f"{kind}: tells")
        with bare_server(next(databases)) as server:
            bare = asyncio.run(bare_tells(server.url, BARE_ROWS, seconds / 6))
        with running_server(next(databases)) as server:
            one = asyncio.run(service_tells(server.url, 1, seconds / 6, bare.rate))
            own = asyncio.run(service_tells(server.url, 16, seconds / 6, bare.rate))
        rows += report.tell_rows(kind, bare, one, own)
        say(f"{kind}: light requests beside {ASKS} asks")
        with running_server(next(databases), workers=ASKS) as server:
            beside = asyncio.run(light_beside_heavy(server.url, ASKS, seconds / 3))
        rows += report.beside_rows(kind, ASKS, beside)
        say(f"{kind}: {CLIENTS} clients")
        with running_server(next(databases), workers=os.cpu_count() or 1) as server:
            many = asyncio.run(crowd(server.url, CLIENTS, seconds))
        rows += report.crowd_rows(kind, CLIENTS, many)
    samples = [bare, one, own, *beside.tells, *beside.reads]
    errors = [f"{kind}: {n} light requests got {status}" for s in samples for status, n in s.errors.items()]
    return rows, errors + [f"{kind}: {loss}" for loss in many.lost]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30, help="length of the longest run (default 30)")
    parser.add_argument("--database", choices=["sqlite", "postgres"], help="only this one")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements there as well")
    parser.add_argument("--readme", action="store_true", help="put the table into the README")
    arguments = parser.parse_args()
    rows: list[Row] = []
    lost: list[str] = []
    for kind in [arguments.database] if arguments.database else ["sqlite", "postgres"]:
        measured, missing = measure(kind, arguments.seconds)
        rows += measured
        lost += missing
    print(report.table(rows))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report.as_json(rows, lost), indent=2) + "\n")
    if arguments.readme:
        fill("service load", report.table(rows))
    for loss in lost:
        print(f"LOST: {loss}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
