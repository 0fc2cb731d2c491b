"""A disk that fills up, and files that take no writes, under SQLite.

The full disk is a small tmpfs, which only root can mount; others see a limit on the size of files instead, which fails
every write. Both leave reading as it was.
"""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from service.storage.schema import upgrade
from tests.chaos.outage import Witness, finding, witness
from tests.chaos.report import Finding
from tests.support.cli import refused_serve
from tests.support.server import Server, running_server

TIMES = 20
SIZE = 24  # MB; an empty database, its log and some room


def findings(scale: float) -> Iterator[Finding]:
    times = max(1, round(TIMES * scale))
    if can_mount():
        yield full(times)
        yield read_only(max(1, times // 4))
    else:
        print("disks: neither full nor read-only without root, who alone may mount one", file=sys.stderr)
    yield unwritable(times)


def can_mount() -> bool:
    return os.geteuid() == 0 and sys.platform.startswith("linux")


def full(times: int) -> Finding:
    """Fill the disk to the last byte, again and again."""
    started = time.monotonic()
    with (
        small_disk() as disk,
        running_server(f"sqlite:///{disk / 'dumbo.db'}") as server,
        witness(server.url) as client,
    ):
        for _ in range(times):
            client.expect("a tell before", client.tell())
            ballast = _fill(disk)
            _assert_honest(client)
            ballast.unlink()
            client.recovers()
        _check_integrity(client, disk / "dumbo.db")
    return finding("disk full", "sqlite", times, started, client)


def read_only(times: int) -> Finding:
    """Start on a disk mounted read-only: it must refuse with a sentence, and start once the disk can be written."""
    started = time.monotonic()
    faults: list[str] = []
    with small_disk() as disk:
        url = f"sqlite:///{disk / 'dumbo.db'}"
        upgrade(url)
        for _ in range(times):
            _remount(disk, "ro")
            said = refused_serve(database_url=url)
            if not said.startswith("dumbo: the database cannot be"):
                faults.append(f"it said: {said[-200:]}")
            _remount(disk, "rw")
            with running_server(url) as server:
                faults += [] if httpx.get(f"{server.url}/readyz", timeout=60).is_success else ["not ready afterwards"]
    seconds = time.monotonic() - started
    tried = f"{times} starts refused, {times} made"
    return Finding("read-only file", "sqlite", tried, len(faults), seconds, "; ".join(faults[:5]))


def _remount(disk: Path, mode: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{mode}", disk], check=True)


def unwritable(times: int) -> Finding:
    """Let every write to any file fail, the log's included."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "dumbo.db")
        with running_server(f"sqlite:///{path}") as server, witness(server.url) as client:
            for _ in range(times):
                client.expect("a tell before", client.tell())
                with _no_writes(server):
                    _assert_honest(client)
                client.recovers()
            _check_integrity(client, path)
    return finding("files that take no writes", "sqlite", times, started, client)


def _assert_honest(client: Witness) -> None:
    """No write is taken, every read is, and it says that it is not ready."""
    client.expect("a thousand results were acknowledged without room for them", not client.tell_much())
    client.until("not ready", lambda: not client.ready())
    client.expect("reading failed", client.call("GET", "/v1/studies/outage") is not None)
    client.expect("the process seems dead", client.call("GET", "/healthz") is not None)


@contextmanager
def small_disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dumbo-disk-") as home:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}m", "dumbo-chaos", home], check=True)
        try:
            yield Path(home)
        finally:
            subprocess.run(["umount", home], check=True)


def _fill(disk: Path) -> Path:
    """A file that takes all the room there is."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (2**20, 2**12, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return ballast


@contextmanager
def _no_writes(server: Server) -> Iterator[None]:
    before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)


def _check_integrity(client: Witness, path: Path) -> None:
    connection = sqlite3.connect(path)
    [(verdict,)] = connection.execute("PRAGMA integrity_check").fetchall()
    connection.close()
    client.expect(f"integrity_check says {verdict}", verdict == "ok")
