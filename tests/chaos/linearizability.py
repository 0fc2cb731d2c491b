"""32 clients against two server processes on one database: every call is recorded, and the history is checked.

Leases are short, so that trials go from hand to hand while they are told, late and by several at once.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from datetime import datetime

from tests.chaos.client import Caller, NoAnswer, Reply
from tests.chaos.consistency import broken
from tests.chaos.history import Call, faults
from tests.chaos.report import Finding, summary
from tests.chaos.site import home, open_site
from tests.chaos.writers import new_study

CLIENTS, CALLS, STUDIES = 32, 10_000, 4
LEASES = (0.2, 1.0, 5.0)


class Client(threading.Thread):
    """Asks, tells what it or another was given, and reads, in turns at random, on either server."""

    def __init__(self, number: int, urls: list[str], handed: dict[str, list[int]], calls: int) -> None:
        super().__init__(name=f"client {number}")
        self._callers = [Caller(url, keep=False) for url in urls]
        self._random = random.Random(number)
        self._id = f"client {number // 2}"  # two threads behind each: a client may ask twice at once
        self._handed, self._calls = handed, calls  # numbers by study, shared by all
        self.history: list[tuple[str, Call]] = []
        self.complaints: list[str] = []

    def run(self) -> None:
        try:
            for _ in range(self._calls):
                self._do_something()
        except NoAnswer as error:
            self.complaints.append(f"no answer: {error}")

    def _do_something(self) -> None:
        study = self._random.choice(list(self._handed))
        known = self._handed[study]
        if not known or self._random.random() < 0.4:
            self._ask(study)
        else:
            trial = known[-self._random.randint(1, min(len(known), 2 * CLIENTS))]
            (self._tell if self._random.random() < 0.5 else self._read)(study, trial)

    def _timed(self, method: str, path: str, body: object = None) -> tuple[float, Reply, float]:
        start = time.time()
        reply = self._random.choice(self._callers).call(method, path, body)
        return start, reply, time.time()

    def _ask(self, study: str) -> None:
        client = self._random.choice([self._id, None])
        lease = self._random.choice(LEASES)
        body = {"lease_seconds": lease, "count": self._random.randint(1, 2)} | ({"client_id": client} if client else {})
        start, reply, end = self._timed("POST", f"{study}/ask", body)
        if not reply.ok:
            self.complaints.append(f"ask: {reply}")
            return
        for trial in reply.body["trials"]:
            until = datetime.fromisoformat(trial["lease_expires_at"]).timestamp()
            call = Call("handed out", trial["number"], start, end, client, until - lease, until)
            self.history.append((study, call))
            self._handed[study].append(trial["number"])

    def _tell(self, study: str, trial: int) -> None:
        value = float(self._random.randint(0, 3))
        start, reply, end = self._timed("POST", f"{study}/tell", {"trial": trial, "value": value})
        if reply.status in (200, 409):
            self.history.append((study, Call("told" if reply.ok else "refused", trial, start, end, value=value)))
        else:
            self.complaints.append(f"tell: {reply}")

    def _read(self, study: str, trial: int) -> None:
        start, reply, end = self._timed("GET", f"{study}/trials/{trial}")
        if reply.ok:
            self.history.append((study, Call("read", trial, start, end, value=reply.body["value"])))
        else:
            self.complaints.append(f"read: {reply}")


def check(urls: list[str], clients: int, calls: int) -> tuple[int, list[str]]:
    """Let the clients make so many calls in all; how many views of trials were checked, and what was wrong."""
    caller = Caller(urls[0], keep=False)
    handed: dict[str, list[int]] = {new_study(caller, initial_trials=100_000).study: [] for _ in range(STUDIES)}
    threads = [Client(i, urls, handed, calls // clients) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    losses = [complaint for thread in threads for complaint in thread.complaints]
    seen = [entry for thread in threads for entry in thread.history]
    for study in handed:
        final = {trial["number"]: trial["value"] for trial in caller.trials(study)}
        losses += faults((call for of, call in seen if of == study), final)
    return len(seen), losses


def findings(scale: float) -> Iterator[Finding]:
    for kind in ("postgres", "sqlite"):
        calls = max(CLIENTS, round(scale * CALLS))
        started = time.monotonic()
        with home(kind) as where:
            with open_site(where.url) as one, open_site(where.url) as other:
                seen, losses = check([one.url, other.url], CLIENTS, calls)
            losses += broken(where.url)
        detail = f"{seen:,} views of trials checked{summary(losses)}"
        tried = f"{CLIENTS} clients, 2 servers, {calls:,} calls"
        yield Finding("linearizability of trials", kind, tried, len(losses), time.monotonic() - started, detail)
