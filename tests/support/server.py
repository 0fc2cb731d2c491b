"""The real server as a child process on a free port, as a user would start it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx

from tests.support.processes import die_with_parent

ROOT = Path(__file__).parents[2]
ADDRESS = re.compile(r"listens on (http://\S+)")


class Server:
    """A running `dumbo serve`: where it listens, what it printed, and how to stop it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path | None) -> None:
        # Into a file, not a pipe: the server's children hold a pipe open a little longer than it lives.
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `kill`)
        self.process = subprocess.Popen(
            command,
            env={**environment, "PYTHONUNBUFFERED": "1"},
            cwd=cwd,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
        try:
            self.url = self._wait_for_address()
            # The port is open before the application is up, so one patient request is enough.
            httpx.get(f"{self.url}/readyz", timeout=120).raise_for_status()
        except BaseException:
            self.kill()
            raise

    @property
    def output(self) -> str:
        """Everything it has printed and logged so far."""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode()

    def _wait_for_address(self) -> str:
        while not (match := ADDRESS.search(self.output)):
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}:\n{self.output}")
            time.sleep(0.02)
        return match[1]

    def stop(self, sig: signal.Signals = signal.SIGTERM, timeout: float = 60) -> int:
        """Ask it to stop, and wait until it has; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(timeout)

    def kill(self) -> None:
        """End it and what it has started, whatever state they are in."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._log.close()


def clean_environment(settings: Mapping[str, object]) -> dict[str, str]:
    """The environment with these settings as DUMBO_ variables and no others."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("DUMBO_")}
    return others | {f"DUMBO_{name.upper()}": str(value) for name, value in settings.items()}


@contextmanager
def running_server(database_url: str, cwd: Path | None = None, **settings: object) -> Iterator[Server]:
    """`dumbo serve` on a free port, ready when yielded."""
    chosen = {"port": 0, "workers": 1, "database_url": database_url} | settings
    environment = clean_environment(chosen) | {"PYTHONPATH": str(ROOT)}
    server = Server([sys.executable, "-m", "service.cli", "serve"], environment, cwd)
    try:
        yield server
        server.stop()
    finally:
        server.kill()
