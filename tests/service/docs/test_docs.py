"""The documentation: complete without the internet, and unable to load anything from elsewhere."""

from __future__ import annotations

import re

from tests.support.app import Api


def test_the_page_loads_only_what_this_server_serves(sqlite_api: Api) -> None:
    """Every script and style of the page is ours, and the policy forbids any other."""
    page = sqlite_api.get("/docs")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert "/docs/docs.js" in links
    for link in links:
        assert link.startswith("/")
        assert sqlite_api.get(link).status_code == 200
    assert not re.search(r"<script>|<style>| on\w+=", page.text)


def test_the_script_uses_no_markup_from_data(sqlite_api: Api) -> None:
    """Names of parameters are text that people give; they must never be run."""
    script = sqlite_api.get("/docs/docs.js").text
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?://", script)
