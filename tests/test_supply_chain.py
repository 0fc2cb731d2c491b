"""What the image is made of: pinned, hashed, listed, and named by nothing but package names."""

from __future__ import annotations

import re
from importlib.metadata import requires, version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support import lock, sbom
from tests.support.dockerfile import stages
from tests.support.server import ROOT

LOCK = (ROOT / "requirements.lock").read_text()
PINNED = dict(re.findall(r"^([\w.-]+)==(\S+)", LOCK, re.MULTILINE))


def test_everything_in_the_lock_is_pinned_and_hashed() -> None:
    """Each line is a comment, a pin or a hash; no pin is without one. No index, no host, no path."""
    assert sbom.locked_hashes().keys() == PINNED.keys()
    for line in LOCK.splitlines():
        assert re.fullmatch(r"#.*|[\w.-]+==[\w.+!]+ \\|    --hash=sha256:[0-9a-f]{64}(?: \\)?", line), line
    assert "://" not in LOCK


@pytest.mark.parametrize("requirement", lock.declared(), ids=lambda requirement: requirement.name)
def test_the_lock_fits_pyproject(requirement: Requirement) -> None:
    """What pyproject.toml asks for is locked in a version that it allows; run make lock."""
    name = canonicalize_name(requirement.name)
    if name in lock.ELSEWHERE:
        assert name not in PINNED
    else:
        assert requirement.specifier.contains(PINNED[name])


def test_the_lock_is_closed() -> None:
    """What a locked package needs is locked as well: the image installs without looking for more."""
    here = [name for name in PINNED if version(name) == PINNED[name]]
    assert here
    for name in here:
        for needed in map(Requirement, requires(name) or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in PINNED.keys() | lock.ELSEWHERE, (name, str(needed))


def test_the_image_installs_from_the_lock() -> None:
    """By hash, and before anything else could bring other versions."""
    installs = [i.rest for i in stages((ROOT / "Dockerfile").read_text())[0] if "pip install" in i.rest]
    assert "--require-hashes --no-deps -r requirements.lock" in installs[0]
    assert installs[-1].endswith("pip install .")


def test_the_lock_is_rendered_as_it_stands() -> None:
    """The command that writes it would write these very lines for these versions and hashes."""
    assert lock.render(PINNED, sbom.locked_hashes()) == LOCK


def test_the_bill_of_materials_is_whole() -> None:
    """Every package that the service needs, with its licence, and the locked ones with their hashes."""
    document = sbom.document()
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    parts = {part["name"]: part for part in document["components"]}
    assert parts.keys() == lock.closure(lock.declared()).keys()
    assert "torch" in parts
    for name, part in parts.items():
        assert part["licenses"][0]["license"]["name"] != sbom.UNKNOWN, name
        assert ("components" in part) == (name in PINNED)
