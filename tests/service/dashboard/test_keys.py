"""With API keys on: typed in once, refused clearly, and kept to this tab."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from service.auth.service import create_key
from service.storage.database import Database
from tests.service.dashboard.conftest import Watch
from tests.support.app import SPACE, Api, running_app


@pytest.fixture
def guarded(sqlite_template: Path, tmp_path: Path) -> Iterator[Api]:
    """A server that asks for keys, and a client with one that may write."""
    copy = shutil.copy(sqlite_template, tmp_path / "guarded.db")
    with running_app(f"sqlite:///{copy}", auth="on") as api:
        api.headers["authorization"] = f"Bearer {_key(api, 'write')}"
        yield api


def _key(api: Api, role: str) -> str:
    database = Database(api.settings.database_url)
    try:
        return create_key(database, f"a {role}r", "lab", role)[1]  # type: ignore[arg-type]
    finally:
        database.close()


@pytest.fixture
def guarded_page(context: BrowserContext, watch: Watch, guarded: Api) -> Iterator[Page]:
    watch.hosts = {f"127.0.0.1:{guarded.base_url.port}"}
    watch.expected |= {"status of 401", "status of 403"}
    page = context.new_page()
    watch.follow(page)
    yield page
    page.close()


def test_a_wrong_key_is_refused_in_words_and_a_right_one_lets_in(guarded_page: Page, guarded: Api) -> None:
    """The message says what is wrong and what to do; the key then serves until the tab is closed."""
    guarded.study(name="behind keys", parameters=SPACE)
    page = guarded_page
    page.goto(str(guarded.base_url))
    expect(page.get_by_role("heading", name="This server asks for an API key")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_hidden()
    page.get_by_label("API key").fill("dumbo_wrong_key")
    page.get_by_role("button", name="Use this key").click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not accept this key")
    expect(page.get_by_label("API key")).to_be_focused()
    page.get_by_label("API key").fill(guarded.headers["authorization"].removeprefix("Bearer "))
    page.get_by_role("button", name="Use this key").click()
    page.get_by_role("link", name="behind keys").click()
    page.get_by_role("button", name="Ask for a trial").click()
    expect(page.get_by_role("heading", name="Trial 0")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Trial 0")).to_be_visible()
    assert page.evaluate("localStorage.getItem('dumbo-key')") is None
    page.get_by_role("button", name="Forget key").click()
    expect(page.get_by_role("heading", name="This server asks for an API key")).to_be_visible()


def test_a_key_that_may_only_read_says_so(guarded_page: Page, guarded: Api) -> None:
    """Reading works; asking is refused beside the button, in the API's words."""
    guarded.study(name="only read", parameters=SPACE)
    page = guarded_page
    page.goto(str(guarded.base_url))
    page.get_by_label("API key").fill(_key(guarded, "read"))
    page.get_by_role("button", name="Use this key").click()
    page.get_by_role("link", name="only read").click()
    page.get_by_role("button", name="Ask for a trial").click()
    expect(page.get_by_role("alert").filter(has_text="this needs a key of role write")).to_be_visible()
