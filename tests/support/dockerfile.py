"""A Dockerfile read as data, and its build done in a scratch directory, as far as that goes without an engine."""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.server import ROOT


@dataclass(frozen=True)
class Instruction:
    word: str
    rest: str


def stages(text: str) -> list[list[Instruction]]:
    """The instructions of each stage, each beginning with its FROM."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    found: list[list[Instruction]] = []
    for line in filter(str.strip, joined.splitlines()):
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            found.append([])
        if found:
            found[-1].append(Instruction(word, rest.strip()))
    return found


def environment(stage: list[Instruction]) -> dict[str, str]:
    """What ENV sets."""
    pairs = [pair for i in stage if i.word == "ENV" for pair in shlex.split(i.rest)]
    return dict(pair.split("=", 1) for pair in pairs)


def copied(stage: list[Instruction]) -> list[tuple[list[str], str]]:
    """Sources and target of each COPY from the build context."""
    words = [shlex.split(i.rest) for i in stage if i.word == "COPY" and not i.rest.startswith("--")]
    return [(parts[:-1], parts[-1]) for parts in words]


def ignored(path: str) -> bool:
    """Whether .dockerignore keeps the path out of the build context; the last rule that fits decides."""
    out = False
    for rule in (ROOT / ".dockerignore").read_text().split():
        if fnmatch.fnmatch(path, rule.lstrip("!")):
            out = not rule.startswith("!")
    return out


def build(stage: list[Instruction], scratch: Path) -> Path:
    """Do the build stage's COPY and RUN with / moved to `scratch`; where its /opt/dumbo has come to lie.

    Dependencies are not fetched: they are borrowed from where the tests run.
    """
    source, target = scratch / "src", scratch / "opt" / "dumbo"
    source.mkdir()
    variables = os.environ | environment(stage) | {"PIP_NO_DEPS": "1", "TORCH_INDEX": ""}
    for instruction in stage:
        if instruction.word == "COPY":
            *names, _ = shlex.split(instruction.rest)
            for name in names:
                _copy(ROOT / name, source / name)
        elif instruction.word == "RUN" and "requirements.lock" not in instruction.rest:
            command = instruction.rest.replace("/opt/dumbo", str(target))
            subprocess.run(["sh", "-ec", command], cwd=source, env=variables, check=True, capture_output=True)
    return target


def _copy(original: Path, copy: Path) -> None:
    if original.is_dir():
        shutil.copytree(original, copy, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(original, copy)
