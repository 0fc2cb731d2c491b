"""What is served, and under which policy."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from tests.support.app import Api

STATIC = Path(str(files("service.dashboard").joinpath("static")))
FILES = sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file())


def test_the_policy_lets_nothing_else_in(sqlite_api: Api) -> None:
    """No inline script or style, no other host, no string as markup, no frame."""
    policy = dict(
        part.strip().partition(" ")[::2] for part in sqlite_api.get("/").headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert {policy[f"{kind}-src"] for kind in ("script", "style", "img", "connect")} == {"'self'"}
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["trusted-types"] == "'none'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_served_and_revalidated(sqlite_api: Api, name: str) -> None:
    """With its type, under the policy; and a browser that has it already gets 304."""
    answer = sqlite_api.get(f"/dashboard/{name}")
    assert answer.status_code == 200
    assert answer.content == (STATIC / name).read_bytes()
    kinds = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
    assert answer.headers["content-type"].startswith(kinds[Path(name).suffix])
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    again = sqlite_api.get(f"/dashboard/{name}", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path", ["endpoints.py", "../endpoints.py", "%2e%2e/endpoints.py", "..%2fapp.py", "", "views/"]
)
def test_nothing_else_is_served(sqlite_api: Api, path: str) -> None:
    """Neither our Python nor a folder nor anything outside."""
    assert sqlite_api.get(f"/dashboard/{path}").status_code == 404


def test_the_page_fetches_every_module_at_once(sqlite_api: Api) -> None:
    """Each is named in the page: following imports one by one costs a round trip for every level."""
    page = sqlite_api.get("/").text
    named = {line.split('"')[3] for line in page.splitlines() if 'rel="modulepreload"' in line} | {"dashboard/app.js"}
    assert named == {f"dashboard/{name}" for name in FILES if name.endswith(".js")}


def test_no_file_names_another_host_or_turns_strings_into_markup() -> None:
    """The sources themselves: no address but SVG's namespace, and none of the ways around text nodes."""
    for name in FILES:
        text = (STATIC / name).read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, name
        assert "https://" not in text, name
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style="):
            assert way not in text, (name, way)
