"""One real server and one browser for all tests of the dashboard; each test gets a page of its own, and is failed
by any console error, any uncaught exception and any request to another host.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect

from service.settings import Settings
from tests.support.app import Api
from tests.support.browser import chromium, must_run, running_browser
from tests.support.server import running_server

PATIENCE = 20_000  # milliseconds: the machine may be busy


# Not for the whole session: Playwright keeps an event loop in this thread, in the way of tests that start their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium; where there is none the test is skipped, but on CI it fails."""
    if chromium() is None and not must_run():
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with running_browser() as running:
        yield running


@pytest.fixture(scope="session")
def api(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A client of the real server that the pages are loaded from."""
    copy = shutil.copy(sqlite_template, tmp_path_factory.mktemp("dashboard") / "dumbo.db")
    url = f"sqlite:///{copy}"
    with running_server(url) as server, Api(server.url, Settings(database_url=url)) as client:
        yield client


@dataclass
class Watch:
    """What went wrong in a page. `expected` are pieces of messages that the test provokes."""

    hosts: set[str]
    expected: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"uncaught: {error}"))
        page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        # The browser itself logs every answer of 400 and above.
        if message.type in ("error", "warning") and not any(text in message.text for text in self.expected):
            self.faults.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        if urlsplit(request.url).netloc not in self.hosts and not request.url.startswith("blob:"):
            self.faults.append(f"asked another host: {request.url}")


@pytest.fixture
def watch(api: Api) -> Iterator[Watch]:
    watching = Watch({urlsplit(str(api.base_url)).netloc})
    yield watching
    assert watching.faults == []


@pytest.fixture
def context(browser: Browser, api: Api) -> Iterator[BrowserContext]:
    """A browser session of its own: no key, no theme."""
    opened = browser.new_context(base_url=str(api.base_url), viewport={"width": 1280, "height": 900})
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext, watch: Watch) -> Page:
    """A page that is watched."""
    opened = context.new_page()
    watch.follow(opened)
    return opened


@pytest.fixture(scope="session")
def told_study(api: Api) -> str:
    """A study with some results, a failure and a running trial; its path. Tests only look at it."""
    study = api.study(
        name="looked at",
        direction="maximize",
        parameters=[{"name": n, "type": "float", "bounds": [-1, 1]} for n in "abcd"]
        + [{"name": "kind", "type": "categorical", "values": ["red", "blue"]}],
        algorithm={"seed": 5, "initial_trials": 5},
    )
    for _ in range(9):
        [trial] = api.ask(study)
        p = trial["parameters"]
        value = -((p["a"] - 0.2) ** 2) - p["b"] * p["c"] - abs(p["d"]) + (p["kind"] == "red")
        api.tell(study, trial=trial["number"], value=value)
    [trial] = api.ask(study)
    api.tell(study, trial=trial["number"], state="failed", reason="it broke")
    api.ask(study, client_id="bench-1")
    return study


def identity(study: str) -> str:
    """The id in a study's path."""
    return study.rsplit("/", 1)[1]
