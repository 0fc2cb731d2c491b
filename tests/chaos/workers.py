"""Workers that hang, and workers that need more memory than they may have, in the real server.

A worker stopped by a signal is one that hangs: at the deadline it is killed, and its ask gets a random point that says
so. One that reaches its limit of memory ends alone, with the same answer. Both are replaced.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.chaos.outage import Witness, finding, witness
from tests.chaos.report import Finding
from tests.support.databases import fresh_database
from tests.support.processes import children
from tests.support.server import Server, running_server

HANGS, MEALS = 20, 10
LITTLE = 320  # MB: a small study takes 280, the large one 425
LARGE = {
    "name": "large",
    "direction": "minimize",
    "parameters": [{"name": f"x{i}", "type": "float", "bounds": [0, 1]} for i in range(20)],
    "algorithm": {"seed": 1, "initial_trials": 1},
}


def findings(scale: float) -> Iterator[Finding]:
    yield hung(max(1, round(HANGS * scale)))
    yield starved(max(1, round(MEALS * scale)))


def hung(times: int) -> Finding:
    """Stop the worker before an ask, so many times."""
    started = time.monotonic()
    with (
        fresh_database("sqlite") as url,
        running_server(url, ask_deadline=10) as server,
        witness(server.url) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        for _ in range(4):
            client.tell()
        client.until("an ask answered by the model", lambda: "model" in client.ask()["diagnostics"])
        for _ in range(times):
            for worker in workers(server):
                os.kill(worker, signal.SIGSTOP)
            asked = pool.submit(client.ask)
            client.expect("a tell during a hanging ask", client.tell())
            _is_labelled(client, asked.result(), "deadline")
            client.until("an ask answered by the model again", lambda: "model" in client.ask()["diagnostics"])
    return finding("a worker that hangs", "sqlite", times, started, client)


def starved(times: int) -> Finding:
    """Ask for what needs more memory than a worker may have, so many times."""
    started = time.monotonic()
    with (
        fresh_database("sqlite") as url,
        running_server(url, worker_memory_mb=LITTLE) as server,
        witness(server.url) as client,
    ):
        _large_study(client)
        for _ in range(times):
            _is_labelled(client, client.ask("large"), "out_of_memory")
            client.expect("a tell after it", client.tell())
        client.until("a small ask answered by the model", lambda: "model" in client.ask()["diagnostics"])
    return finding("a worker that eats memory", "sqlite", times, started, client)


def _large_study(client: Witness) -> None:
    """A study whose model takes more memory than there is."""
    client.call("POST", "/v1/studies", LARGE)
    points = [{f"x{i}": (7 * i + k * (i + 1)) % 997 / 997 for i in range(20)} for k in range(800)]
    for first in range(0, len(points), 400):
        results = [{"parameters": point, "value": sum(point.values())} for point in points[first : first + 400]]
        client.call("POST", "/v1/studies/large/tell", {"results": results})


def workers(server: Server) -> list[int]:
    """The worker processes: children of the process that they are forked from."""
    return [pid for child in children(server.process.pid) for pid in children(child)]


def _is_labelled(client: Witness, asked: dict[str, Any], reason: str) -> None:
    """A random point, with the reason why it is one."""
    given = asked["diagnostics"].get("fallback", {}).get("reason")
    client.expect(f"{asked['origin']} for {given}, not for {reason}", (asked["origin"], given) == ("random", reason))
