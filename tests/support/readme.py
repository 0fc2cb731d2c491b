"""The code blocks of the README, run as they stand, so that they stay true.

`python -m tests.support.readme` does what a newcomer does: `make serve`, then every block in order.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.server import ROOT, Server, clean_environment

README = ROOT / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8000"
DATABASE = "postgresql://dumbo:secret@localhost/dumbo"
SERVE = "make serve\n"  # what starts the server that the others call


@dataclass(frozen=True)
class Block:
    """A block with its language and the line it begins at."""

    language: str
    text: str
    line: int

    def __str__(self) -> str:
        return f"{self.language}-at-line-{self.line}"


def blocks() -> list[Block]:
    """Every sh and python block."""
    text = README.read_text()
    found = [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]
    return [block for block in found if block.language in ("sh", "python")]


def run(block: Block, url: str, cwd: Path, database_url: str | None = None) -> str:
    """Run a block against the server at `url`; what it printed. Fails if any of its commands does."""
    text = block.text.replace(ADDRESS, url)
    if database_url is not None:
        text = text.replace(DATABASE, database_url)
    command = [sys.executable, "-c", text] if block.language == "python" else ["sh", "-euc", text]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DUMBO_")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(command, cwd=cwd, env=environment, text=True, capture_output=True, check=False)
    if done.returncode:
        raise AssertionError(f"{block} ended with {done.returncode}:\n{text}\n{done.stdout}\n{done.stderr}")
    return done.stdout


@contextmanager
def make_serve(scratch: Path) -> Iterator[Server]:
    """`make serve` as a newcomer runs it, on a free port and a file of its own."""
    settings = {"port": 0, "database_url": f"sqlite:///{scratch / 'dumbo.db'}"}
    server = Server(["make", "--no-print-directory", "serve"], clean_environment(settings), ROOT)
    try:
        yield server
    finally:
        server.kill()


def main() -> int:
    """Run every block that needs nothing but the server."""
    with tempfile.TemporaryDirectory() as scratch, make_serve(Path(scratch)) as server:
        for block in blocks():
            if block.text == SERVE or DATABASE in block.text:
                continue
            print(f"{block}: ok, {len(run(block, server.url, Path(scratch)).splitlines())} lines printed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
