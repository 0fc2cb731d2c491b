"""Half an hour of 16 clients: memory, descriptors and latency stay what they were.

Every client goes round: it makes a study, asks and tells, reads, and deletes it, so that the work is always the same.

    python -m tests.chaos.soak [--minutes 30] [--rate 5] [--database sqlite]    by itself, perhaps at a low rate
"""

from __future__ import annotations

import argparse
import random
import statistics
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.chaos.client import Caller, NoAnswer
from tests.chaos.report import RESULTS, Finding, append, summary
from tests.chaos.site import Site, home, open_site
from tests.chaos.trend import Sample, draw, growing, slope, warm
from tests.chaos.writers import SPACE
from tests.support.processes import descendants
from tests.support.server import ROOT

CLIENTS, MINUTES, RATE = 16, 30.0, 5.0
SAMPLES = 180  # over the whole time
PLOT = ROOT / "benchmarks" / "plots" / "soak.svg"


class Client(threading.Thread):
    """Goes round until it is told to stop; keeps how long its tells took, and what did not succeed."""

    def __init__(self, url: str, number: int, rate: float) -> None:
        super().__init__(name=f"soak {number}")
        self._caller = Caller(url)
        self._random = random.Random(number)
        self._pause = 1 / rate
        self.enough = threading.Event()
        self.tells: list[float] = []
        self.calls = 0
        self.complaints: list[str] = []

    def run(self) -> None:
        while not self.enough.is_set():
            try:
                self._round()
            except NoAnswer as error:
                self.complaints.append(str(error))
        self._caller.close()

    def drain(self) -> list[float]:
        """How long the tells since the last time took, in milliseconds."""
        taken, self.tells = self.tells, []
        return taken

    def _round(self) -> None:
        name = uuid.uuid4().hex
        study = f"/v1/studies/{name}"
        initial = self._random.choice([3, 100])  # some use the model
        spec = {"name": name, "direction": "minimize", "parameters": SPACE}
        self._call("POST", "/v1/studies", spec | {"algorithm": {"seed": 1, "initial_trials": initial}})
        for _ in range(6):
            answer = self._call("POST", f"{study}/ask", {"client_id": name})
            for trial in answer["trials"]:
                self._call("POST", f"{study}/tell", {"trial": trial["number"], "value": trial["parameters"]["x"] ** 2})
            self._call("GET", self._random.choice([study, f"{study}/trials", f"{study}/best"]))
        self._call("DELETE", study)

    def _call(self, method: str, path: str, body: object = None) -> dict[str, list[dict[str, dict[str, float]]]]:
        started = time.perf_counter()
        reply = self._caller.call(method, path, body, uuid.uuid4().hex if method == "POST" else None)
        if path.endswith("/tell"):
            self.tells.append(1000 * (time.perf_counter() - started))
        self.calls += 1
        if not reply.ok:
            self.complaints.append(f"{method} {path}: {reply}")
        self.enough.wait(self._pause)
        return reply.body if reply.ok and reply.content else {"trials": []}


def _megabytes(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0.0
    resident = status.partition("VmRSS:")[2].split()
    return int(resident[0]) / 1024 if resident else 0.0


def look(site: Site, started: float, clients: list[Client], health: Caller) -> Sample:
    """Measure the server now, and what the clients have seen since the last look."""
    assert site.server is not None
    pid = site.server.process.pid
    tells = [taken for client in clients for taken in client.drain()]
    probes = []
    for _ in range(5):
        asked = time.perf_counter()
        health.call("GET", "/healthz")
        probes.append(1000 * (time.perf_counter() - asked))
    return Sample(
        time.monotonic() - started,
        _megabytes(pid),
        sum(map(_megabytes, descendants(pid))),
        len(list(Path(f"/proc/{pid}/fd").iterdir())),
        statistics.median(tells) if tells else float("nan"),
        statistics.median(probes),
    )


def soak(kind: str, minutes: float, rate: float, plot: Path = PLOT) -> Finding:
    """Run for so long, each client with at most so many calls a second."""
    started = time.monotonic()
    with home(kind) as where, open_site(where.url) as site:
        clients = [Client(site.url, i, rate) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        health, pause = Caller(site.url, keep=False), threading.Event()
        samples: list[Sample] = []
        while time.monotonic() - started < 60 * minutes:
            pause.wait(60 * minutes / SAMPLES)
            samples.append(look(site, started, clients, health))
        for client in clients:
            client.enough.set()
        for client in clients:
            client.join()
    told = warm([sample for sample in samples if sample.tell_ms == sample.tell_ms])
    losses = [complaint for client in clients for complaint in client.complaints] + list(growing(told))
    draw(samples, plot)
    calls = sum(client.calls for client in clients)
    rates = {"server": "server_mb", "workers": "workers_mb"}
    slopes = [f"{who} {slope(told, name):+.1f} MB/h" for who, name in rates.items()]
    slopes += [f"descriptors {slope(told, 'descriptors'):+.1f}/h", f"tell {slope(told, 'tell_ms'):+.1f} ms/h"]
    tried = f"{CLIENTS} clients for {minutes:g} minutes, {calls:,} calls"
    detail = ", ".join(slopes) + summary(losses)
    return Finding("soak", kind, tried, len(losses), time.monotonic() - started, detail)


def findings(scale: float) -> Iterator[Finding]:
    yield soak("sqlite", max(0.2, scale * MINUTES), RATE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--rate", type=float, default=RATE, help=f"calls a second of each client (default {RATE:g})")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--plot", type=Path, default=PLOT, metavar="FILE")
    arguments = parser.parse_args()
    finding = soak(arguments.database, arguments.minutes, arguments.rate, arguments.plot)
    append(finding, arguments.results)
    print(finding)


if __name__ == "__main__":
    main()
