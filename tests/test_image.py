"""The Dockerfile without an engine: its sources exist, its steps run, and what it starts is healthy."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import httpx
import pytest

from tests.support.dockerfile import build, copied, environment, ignored, stages
from tests.support.server import ROOT, Server, clean_environment

BUILD, FINAL = stages((ROOT / "Dockerfile").read_text())


def test_image_is_small_and_not_root() -> None:
    """Two stages on a slim base, a user of its own, a volume, a port and a health check."""
    words = [instruction.word for instruction in FINAL]
    assert "-slim" in FINAL[0].rest
    assert "USER" in words
    assert next(i.rest for i in FINAL if i.word == "USER") not in ("root", "0")
    assert {"HEALTHCHECK", "VOLUME", "EXPOSE", "CMD"} <= set(words)
    assert words.index("USER") < words.index("CMD")
    assert not copied(FINAL)  # only what the first stage has built


def test_every_copied_file_is_in_the_build_context() -> None:
    """COPY finds its sources, and .dockerignore lets them through and little else."""
    for sources, _ in copied(BUILD):
        for source in sources:
            assert (ROOT / source).exists(), source
            assert not ignored(source), source
    for name in (".git", ".venv", "tests", "dumbo.db", "benchmarks"):
        assert ignored(name), name


def test_torch_comes_from_the_given_index_in_the_declared_range() -> None:
    """The build argument is used for torch alone, with the requirement that pyproject.toml states."""
    [step] = [i.rest for i in BUILD if i.word == "RUN" and "TORCH_INDEX" in i.rest]
    shown = step.replace("/opt/dumbo/bin/pip", "printf '%s\\n' pip")
    done = subprocess.run(
        ["sh", "-ec", shown],
        cwd=ROOT,
        env=os.environ | {"TORCH_INDEX": "https://example.org/cpu"},
        capture_output=True,
        text=True,
        check=True,
    )
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    [torch] = [name for name in dependencies if name.startswith("torch")]
    assert done.stdout.split() == ["pip", "install", "--index-url", "https://example.org/cpu", torch]


def test_commands_of_the_final_stage_exist() -> None:
    """Each RUN is a valid script of commands that a Debian image has."""
    for instruction in FINAL:
        if instruction.word == "RUN":
            subprocess.run(["sh", "-nc", instruction.rest], check=True)
            for command in instruction.rest.split("&&"):
                assert shutil.which(shlex.split(command)[0], path="/usr/sbin:/usr/bin:/sbin:/bin"), command


def test_built_image_serves_and_is_healthy(tmp_path: Path) -> None:
    """The build's steps run; what they install is whole, starts with the image's settings, and is healthy."""
    installed = build(BUILD, tmp_path)
    _check_whole(installed)
    data = tmp_path / "data"
    data.mkdir()
    settings = {name: value.replace("/data", str(data)) for name, value in environment(FINAL).items()}
    settings["PATH"] = f"{installed / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # The build above left the dependencies out; they are borrowed from where the tests run.
    libraries = {"PYTHONPATH": sysconfig.get_path("purelib")}
    variables = clean_environment({}) | settings | libraries | {"DUMBO_PORT": "0", "DUMBO_WORKERS": "1"}
    [command] = [json.loads(i.rest) for i in FINAL if i.word == "CMD"]
    [health] = [i.rest for i in FINAL if i.word == "HEALTHCHECK"]
    server = Server([str(installed / "bin" / command[0]), *command[1:]], variables, data)
    try:
        port = server.url.rpartition(":")[2]
        check = json.loads(health[health.index("[") :])
        subprocess.run(check, env=variables | {"DUMBO_PORT": port}, check=True)
        token = (data / "first-key").read_text().strip()
        url = f"http://127.0.0.1:{port}/v1/studies"
        assert httpx.get(url).status_code == 401
        assert httpx.get(url, headers={"Authorization": f"Bearer {token}"}).status_code == 200
        assert (data / "dumbo.db").exists()
    finally:
        server.kill()
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(check, env=variables | {"DUMBO_PORT": port}, check=True, capture_output=True)


def _check_whole(installed: Path) -> None:
    """Pages, styles and scripts are installed along with the code; the README's pictures are not."""
    [site] = installed.glob("lib/python*/site-packages")
    for package in ("core", "service", "migrations"):
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                wanted = path.parent.name != "screenshots"
                assert (site / path.relative_to(ROOT)).exists() == wanted, path
