"""Debian's Chromium, driven by Playwright. It looks nothing up and calls nobody by itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

QUIET = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """Where it is installed, if it is."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def must_run() -> bool:
    """On CI a missing browser is a failure, not a reason to skip."""
    return os.environ.get("CI", "") not in ("", "0", "false")


@contextmanager
def running_browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        raise RuntimeError("no Chromium is installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            headless=True,
            chromium_sandbox=False,
            args=["--no-sandbox", *QUIET] if os.getuid() == 0 else QUIET,
        )
        try:
            yield browser
        finally:
            browser.close()
