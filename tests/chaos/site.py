"""A server at one address that can be killed and started again, and the writers that go on calling it meanwhile."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from service.errors import StorageUnavailable
from service.storage.schema import upgrade
from tests.chaos.client import Caller, patiently
from tests.chaos.consistency import broken
from tests.chaos.ledger import Ledger, Operation
from tests.chaos.writers import Asker, Teller, Writer, new_study
from tests.support.postgres import Cluster, postgres_cluster
from tests.support.processes import children, die_with_parent, gone, watch
from tests.support.server import ROOT, Server, clean_environment

ORPHAN_SECONDS = 30.0  # within which workers must have noticed that their server is gone


@dataclass(frozen=True)
class Home:
    """A database, and the Postgres it lies in if it is one of that kind."""

    kind: str
    url: str
    cluster: Cluster | None = None


@contextmanager
def home(kind: str) -> Iterator[Home]:
    """A fresh database with the schema, as durable as an operator's."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="dumbo-chaos-") as folder:
            url = f"sqlite:///{folder}/dumbo.db"
            upgrade(url)
            yield Home(kind, url)
        return
    with postgres_cluster(durable=True) as cluster:
        server = cluster.server
        url = server.url(server.create())
        upgrade(url)
        yield Home(kind, url, cluster)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class Site:
    """`dumbo serve` on one database and one port."""

    def __init__(self, database_url: str, **settings: object) -> None:
        port = free_port()
        chosen = {"port": port, "workers": 1, "database_url": database_url, "log_level": "warning"} | settings
        self.url = f"http://127.0.0.1:{port}"
        self._environment = clean_environment(chosen) | {"PYTHONPATH": str(ROOT)}
        self._command = [sys.executable, "-m", "service.cli", "serve"]
        self.server: Server | None = None
        self._orphans: list[int] = []  # as pidfds

    def start(self) -> None:
        """Start the server, and wait until it is ready."""
        self.server = Server(self._command, self._environment, None)

    def kill_starting(self, after: float) -> None:
        """Start a server and kill it so many seconds later, at whatever it does by then."""
        with subprocess.Popen(
            self._command,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        ) as process:
            try:
                process.wait(after)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

    @property
    def workers(self) -> list[int]:
        """The compute processes: the server forks them from a process that it has started for this."""
        assert self.server is not None
        return [worker for forker in children(self.server.process.pid) for worker in children(forker)]

    def kill(self, *, alone: bool) -> None:
        """Kill -9 the server with all that it has started, or alone: then its processes must end by themselves."""
        assert self.server is not None
        if alone:
            self._orphans += watch(self.server.process.pid)
            self.server.process.kill()
            self.server.process.wait()
        self.server.kill()

    def orphans(self) -> int:
        """How many processes have outlived a server that was killed alone."""
        watched, self._orphans = self._orphans, []
        return gone(watched, ORPHAN_SECONDS)

    def close(self) -> None:
        if self.server is not None:
            self.server.kill()


@dataclass
class Tally:
    """What the writers of all shifts did, and everything that was wrong."""

    acknowledged: int = 0
    lost_answers: int = 0
    replays: int = 0
    losses: list[str] = field(default_factory=list)


class Shift:
    """Writers at work on studies of their own: six that tell, three that ask, one of these with the model."""

    def __init__(self, url: str, rng: random.Random) -> None:
        self._caller = Caller(url, keep=False)
        light, model = new_study(self._caller, initial_trials=100_000), new_study(self._caller, initial_trials=2)
        self._ledgers: list[Ledger] = [light, model]
        seeds = iter(rng.sample(range(10**9), 9))
        self._writers: list[Writer] = [Teller(url, light, next(seeds)) for _ in range(6)]
        self._writers += [Asker(url, ledger, next(seeds)) for ledger in (light, light, model)]
        for writer in self._writers:
            writer.start()

    def acknowledged(self) -> list[list[Operation]]:
        """What was acknowledged until now, of each study."""
        return [ledger.acknowledged() for ledger in self._ledgers]

    def held_against(self, caller: Caller, acknowledged: list[list[Operation]]) -> list[str]:
        """What of this is not there, by a server that may be another, while the writers go on."""
        found: list[str] = []
        for ledger, before in zip(self._ledgers, acknowledged, strict=True):
            found += ledger.losses(before, {trial["number"]: trial for trial in caller.trials(ledger.study)})
        return found

    def losses(self) -> list[str]:
        return self.held_against(self._caller, self.acknowledged())

    def end(self, tally: Tally) -> None:
        """Let the writers finish what they have begun, and hold everything against the ledgers."""
        for writer in self._writers:
            writer.stop()
        for writer in self._writers:
            writer.join()
        tally.losses += self.losses()
        for ledger in self._ledgers:
            stored = {trial["number"]: trial for trial in self._caller.trials(ledger.study)}
            tally.losses += ledger.unaccounted(stored)
            tally.acknowledged += len(ledger.acknowledged())
        tally.lost_answers += sum(writer.lost_answers for writer in self._writers)
        tally.replays += sum(writer.replays for writer in self._writers)
        tally.losses += [complaint for writer in self._writers for complaint in writer.complaints]


@contextmanager
def open_site(database_url: str, **settings: object) -> Iterator[Site]:
    """A site with its server running; no process of it is left."""
    with ExitStack() as stack:
        site = Site(database_url, **settings)
        stack.callback(site.close)
        site.start()
        yield site


def check_rows(where: Home, tally: Tally) -> None:
    """Look at the rows themselves."""
    tally.losses += patiently(lambda: broken(where.url), StorageUnavailable)
