"""`python -m tests.support.sbom`: what the image is made of, as CycloneDX 1.6, and under which licences (`make sbom`).

It needs no network: names and hashes are those of `requirements.lock`, licences those that installed packages state.
The document goes to the file that is named (default: sbom.json), a table of licences to stdout.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from importlib.metadata import PackageMetadata, metadata, version
from pathlib import Path
from typing import Any

from tests.support.lock import closure, declared
from tests.support.server import ROOT

UNKNOWN = "not stated"
LOCKED = re.compile(r"^([\w.-]+)==\S+((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def locked_hashes() -> dict[str, list[str]]:
    """The hashes in the lock file, by package."""
    found = LOCKED.findall((ROOT / "requirements.lock").read_text())
    return {name: re.findall(r"[0-9a-f]{64}", hashes) for name, hashes in found}


def licence(package: PackageMetadata) -> str:
    """As the package states it: an SPDX expression, classifiers, or the first line of a text."""
    if expression := package.get("License-Expression"):
        return str(expression)
    classifiers = [c for c in package.get_all("Classifier") or () if c.startswith("License ::")]
    if classifiers:
        return " AND ".join(c.rpartition(" :: ")[2] for c in classifiers)
    return next(iter(str(package.get("License") or "").strip().splitlines()), UNKNOWN)


def component(name: str, installed: str, hashes: list[str]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{installed}",
        "name": name,
        "version": installed,
        "purl": f"pkg:pypi/{name}@{installed}",
        "licenses": [{"license": {"name": licence(metadata(name))}}],
    }
    # One component may come as one of several files; each is a part that can be told by its hash.
    if hashes:
        described["components"] = [
            {"type": "file", "name": f"{name}-{installed}", "hashes": [{"alg": "SHA-256", "content": digest}]}
            for digest in hashes
        ]
    return described


def document() -> dict[str, Any]:
    """The bill of materials."""
    hashes = locked_hashes()
    parts = [component(name, installed, hashes.get(name, [])) for name, installed in closure(declared()).items()]
    own = {"type": "application", "name": "dumbo-service", "version": version("dumbo-service"), "bom-ref": "dumbo"}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": parts,
        "dependencies": [{"ref": "dumbo", "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def main(target: Path) -> None:
    made = document()
    target.write_text(json.dumps(made, indent=1) + "\n")
    by_licence: dict[str, list[str]] = defaultdict(list)
    for part in made["components"]:
        by_licence[part["licenses"][0]["license"]["name"]].append(part["name"])
    for name, packages in sorted(by_licence.items(), key=lambda entry: -len(entry[1])):
        print(f"{name}: {', '.join(packages)}")
    print(f"{len(made['components'])} packages; the bill of materials is in {target}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "sbom.json"))
