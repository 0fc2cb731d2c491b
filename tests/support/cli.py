"""`dumbo` as a user runs it: `serve` in a process of its own, the short commands in this one."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

from typer.testing import CliRunner

from service.cli.app import app
from tests.support.server import ROOT, clean_environment


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    stdout: str
    stderr: str


def dumbo(*arguments: str, stdin: bytes = b"", **settings: object) -> Done:
    """Run a command to its end, with settings given as DUMBO_ variables."""
    variables = {f"DUMBO_{name.upper()}": str(value) for name, value in settings.items()}
    result = CliRunner().invoke(app, arguments, input=stdin, env=variables)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def refused_serve(**settings: object) -> str:
    """Run a `dumbo serve` that must end by itself with code 1 and no traceback; what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "service.cli", "serve"],
        env=clean_environment({"port": 0} | settings) | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr
