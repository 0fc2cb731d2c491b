"""openapi.yaml as a file: written by `make openapi`, and readable without the server."""

from __future__ import annotations

from typing import Any

import yaml

from tests.support.cli import dumbo
from tests.support.server import ROOT

FILE = ROOT / "openapi.yaml"


def test_file_is_what_the_command_prints() -> None:
    """Not a comma differs, so a change of the API shows in the change of the file."""
    assert FILE.read_text() == dumbo("openapi").stdout, "run: make openapi"


def test_every_body_has_an_example() -> None:
    """A reader of the document sees what to send."""
    document = yaml.safe_load(FILE.read_text())
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if "requestBody" in operation:
                content = operation["requestBody"]["content"]["application/json"]
                assert _has_example(content, document), (method, path)


def _has_example(content: dict[str, Any], document: dict[str, Any]) -> bool:
    """Beside the schema, in it, or in one of those it is made of."""
    if "example" in content or "examples" in content:
        return True
    if reference := content.get("$ref"):
        return _has_example(document["components"]["schemas"][reference.rpartition("/")[2]], document)
    parts = [content.get("schema"), *content.get("anyOf", ()), *content.get("oneOf", ())]
    return any(_has_example(part, document) for part in parts if part)
