"""The list of studies and the form that makes one."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from tests.service.dashboard.conftest import Watch, identity
from tests.support.app import Api, running_app


def test_an_empty_server_shows_how_to_begin(
    context: BrowserContext, watch: Watch, sqlite_template: Path, tmp_path: Path
) -> None:
    """The curl line names this very server, and makes a study when it is run."""
    copy = shutil.copy(sqlite_template, tmp_path / "empty.db")
    with running_app(f"sqlite:///{copy}") as empty:
        watch.hosts.add(f"127.0.0.1:{empty.base_url.port}")
        page = context.new_page()
        watch.follow(page)
        page.goto(str(empty.base_url))
        expect(page.get_by_role("heading", name="No studies yet")).to_be_visible()
        line = page.locator("pre").inner_text()
        address, body = line.split()[2], line.split("-d '")[1].rstrip("'")
        made = empty.post(address, content=body, headers={"content-type": "application/json"})
        assert made.status_code == 201
        expect(page.get_by_role("link", name="first")).to_be_visible()  # without reloading
        page.close()


def test_studies_are_listed_and_found(page: Page, api: Api, told_study: str) -> None:
    """Each with its state, trials, best value and sparkline; the search narrows the list."""
    api.study(name="another one", metadata={"team": "vision"})
    page.goto("/")
    row = page.get_by_role("link", name="looked at")
    expect(row).to_contain_text("active")
    expect(row).to_contain_text("trials 11")
    expect(row).to_contain_text("1 running")
    expect(row).to_contain_text("1 failed")
    best = api.get(told_study).json()["best"]["value"]
    expect(row.locator(".number")).to_have_attribute("title", str(best))
    expect(row.get_by_role("img", name="The best value rose")).to_be_visible()
    page.get_by_label("Search studies").fill("VISION")
    expect(row).to_be_hidden()
    expect(page.get_by_role("link", name="another one")).to_be_visible()
    page.get_by_label("Search studies").fill("looked")
    row.click()
    expect(page.get_by_role("heading", name="looked at")).to_be_visible()
    assert identity(told_study) in page.url


def test_a_study_is_made_in_the_form(page: Page, watch: Watch, api: Api) -> None:
    """What the API refuses is shown at the field; then the study is there, as typed."""
    watch.expected.add("status of 422")
    page.goto("/#/new")
    page.get_by_label("Name", exact=True).first.fill("from the form")
    first = page.get_by_role("group", name="Parameter 1")
    first.get_by_label("Name").fill("rate")
    first.get_by_label("Low").fill("1")
    first.get_by_label("High").fill("1e-3")
    first.get_by_label("Scale").select_option("log")
    page.get_by_role("button", name="Add a parameter").click()
    second = page.get_by_role("group", name="Parameter 2")
    second.get_by_label("Name").fill("optimizer")
    second.get_by_label("Type").select_option("categorical")
    second.get_by_label("Values").fill("adam, sgd")
    page.get_by_role("button", name="Create study").click()

    low = first.get_by_label("Low")
    expect(low).to_have_attribute("aria-invalid", "true")
    expect(low).to_have_accessible_description("low must not exceed high, got [1, 0.001]")
    expect(low).to_be_focused()
    low.fill("1e-5")
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("heading", name="from the form")).to_be_visible()
    made = api.get("/v1/studies/from the form").json()
    assert made["direction"] == "minimize"
    assert made["parameters"] == [
        {"name": "rate", "type": "float", "bounds": [1e-5, 1e-3], "scale": "log"},
        {"name": "optimizer", "type": "categorical", "values": ["adam", "sgd"], "scale": "linear"},
    ]


def test_the_form_takes_known_terms_and_names_what_is_wrong(page: Page, watch: Watch, api: Api) -> None:
    """Terms are chosen from the parameters; text where a number belongs and a taken name are both said."""
    watch.expected |= {"status of 422", "status of 409"}
    api.study(name="taken")
    page.goto("/#/new")
    page.get_by_label("Name", exact=True).first.fill("taken")
    for i, name in enumerate("uv", start=1):
        if i > 1:
            page.get_by_role("button", name="Add a parameter").click()
        row = page.get_by_role("group", name=f"Parameter {i}")
        row.get_by_label("Name").fill(name)
        row.get_by_label("Low").fill("0")
        row.get_by_label("High").fill("one")
    page.get_by_label("Structure").select_option("known")
    term = page.get_by_role("group", name="Term 1").get_by_label("Parameters")
    term.select_option("u")
    page.get_by_role("button", name="Create study").click()
    for i in (1, 2):
        high = page.get_by_role("group", name=f"Parameter {i}").get_by_label("High")
        expect(high).to_have_accessible_description("Input should be a valid number")
        high.fill("1")
    page.get_by_role("button", name="Create study").click()
    terms = page.get_by_role("group", name="Terms", exact=True)
    expect(terms.locator(":scope > .error")).to_have_text("factors must cover every parameter; missing: v")
    term.select_option(["u", "v"])
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("alert")).to_contain_text("there is a study named 'taken' already")
    page.get_by_label("Name", exact=True).first.fill("with terms")
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("heading", name="with terms")).to_be_visible()
    factors = api.get("/v1/studies/with terms").json()["decomposition"]["factors"]
    assert factors == [{"name": "term 1", "parameters": ["u", "v"]}]
