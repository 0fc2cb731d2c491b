"""`python -m tests.support.lock > requirements.lock`: what the image installs, pinned and hashed (`make lock`).

The versions are those installed here, which the tests have passed with. The files are fetched by pip, from wherever pip
is set up to look, for Python 3.11 on Linux, x86-64 and ARM; each package gets the SHA-256 of every one of its files.
torch is left out: the image takes it from the index that its build argument names, whose files are others.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from tests.support.server import ROOT

PYTHON = "3.11"
MACHINES = ("x86_64", "aarch64")
GLIBC = ("2_28", "2_27", "2_26", "2_24", "2_17", "2_12", "2_5")
ELSEWHERE = {"torch"}
HEAD = f"""\
# Everything the image installs but torch, pinned and hashed, for Python {PYTHON} on Linux (x86-64 and ARM).
# Written by: make lock
"""


def declared() -> list[Requirement]:
    """What pyproject.toml asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [Requirement(text) for text in project["dependencies"]]


def closure(wanted: Iterable[Requirement]) -> dict[str, str]:
    """These packages and all that they need, with the versions installed here."""
    versions: dict[str, str] = {}
    todo = list(wanted)
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        found = distribution(name)
        extras = {""} | requirement.extras
        needed = [Requirement(text) for text in found.requires or ()]
        chosen = [n for n in needed if n.marker is None or any(n.marker.evaluate({"extra": e}) for e in extras)]
        if name not in versions or requirement.extras:
            todo += [n for n in chosen if canonicalize_name(n.name) not in versions]
        versions[name] = found.version
    return dict(sorted(versions.items()))


def hashes(versions: dict[str, str]) -> dict[str, list[str]]:
    """The SHA-256 of each package's files, for every machine."""
    found: dict[str, set[str]] = defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        for machine in MACHINES:
            platforms = [part for glibc in GLIBC for part in ("--platform", f"manylinux_{glibc}_{machine}")]
            platforms += ["--platform", f"manylinux2014_{machine}"]
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
            command += ["--python-version", PYTHON, "--dest", folder, *platforms]
            command += [f"{name}=={version}" for name, version in versions.items()]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for path in Path(folder).iterdir():
            found[parse_wheel_filename(path.name)[0]].add(hashlib.sha256(path.read_bytes()).hexdigest())
    return {name: sorted(values) for name, values in found.items()}


def render(versions: dict[str, str], digests: dict[str, list[str]]) -> str:
    """In the form that `pip install --require-hashes -r` reads."""
    lines = [HEAD]
    for name, version in versions.items():
        lines.append(" \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{d}" for d in digests[name])]) + "\n")
    return "".join(lines)


def main() -> int:
    try:
        versions = closure(declared())
    except PackageNotFoundError as missing:
        print(f"not installed here: {missing}; run make test first", file=sys.stderr)
        return 1
    locked = {name: version for name, version in versions.items() if name not in ELSEWHERE}
    sys.stdout.write(render(locked, hashes(locked)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
