"""Trials: the table, the CSV, links, and how an ask was made."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.service.dashboard.conftest import Watch, identity
from tests.support.app import Api


def _column(page: Page, index: int) -> list[str]:
    return page.locator(f"table.trials tbody td:nth-child({index})").all_inner_texts()


def test_the_table_is_sorted_and_filtered(page: Page, api: Api, told_study: str) -> None:
    """By any column, both ways; by state and by comparisons; the rest is said."""
    page.goto(f"/#/studies/{identity(told_study)}/trials")
    expect(page.locator("table.trials tbody tr")).to_have_count(11)
    assert _column(page, 1) == [str(n) for n in reversed(range(11))]
    page.get_by_role("button", name="value").click()
    trials = api.get(f"{told_study}/trials").json()["trials"]
    done = sorted((t for t in trials if t["value"] is not None), key=lambda t: t["value"])
    assert _column(page, 1)[:9] == [str(t["number"]) for t in done]
    expect(page.get_by_role("columnheader", name="value")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("button", name="value").press("Enter")
    assert _column(page, 1)[:9] == [str(t["number"]) for t in reversed(done)]
    page.get_by_label("State").select_option("failed")
    expect(page.locator("table.trials tbody tr")).to_have_count(1)
    page.get_by_label("State").select_option("")
    page.get_by_label("Filter").fill("a > 0, kind = red")
    wanted = [t for t in trials if t["parameters"]["a"] > 0 and t["parameters"]["kind"] == "red"]
    expect(page.locator("table.trials tbody tr")).to_have_count(len(wanted))
    page.get_by_label("Filter").fill("z > 0")
    expect(page.get_by_text("There is no parameter z.")).to_be_visible()


def test_the_csv_is_the_apis(page: Page, api: Api, told_study: str, tmp_path: Path) -> None:
    """The button saves what the API streams, under the study's name."""
    page.goto(f"/#/studies/{identity(told_study)}/trials")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "looked-at.csv"
    download.value.save_as(tmp_path / "saved.csv")
    assert (tmp_path / "saved.csv").read_bytes() == api.get(f"{told_study}/trials.csv").content


def test_a_trial_opens_from_the_curve(page: Page, told_study: str) -> None:
    """By pointer, with its parameters shown on the way, and by keyboard."""
    page.goto(f"/#/studies/{identity(told_study)}")
    curve = page.get_by_role("slider", name="Trials.")
    curve.focus()
    curve.press("Home")
    expect(curve).to_have_attribute("aria-valuenow", "0")
    expect(page.locator(".tooltip")).to_contain_text("kind")
    mark = page.locator("circle.chosen").bounding_box()
    assert mark is not None
    curve.press("ArrowRight")
    curve.press("Enter")
    expect(page.get_by_role("heading", name="Trial 1")).to_be_visible()
    page.go_back()
    expect(curve).to_be_visible()
    page.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    expect(page.locator(".tooltip")).to_contain_text("Trial 0")
    page.mouse.click(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    expect(page.get_by_role("heading", name="Trial 0")).to_be_visible()


def test_a_link_to_a_trial_shows_how_it_was_made(page: Page, api: Api, told_study: str) -> None:
    """Origin, seconds by phase, the acceptance rate, and the acquisition before and after."""
    trial = next(t for t in api.get(f"{told_study}/trials").json()["trials"] if t["origin"] == "dumbo")
    made = api.get(f"{told_study}/trials/{trial['number']}/diagnostics").json()["diagnostics"]
    page.goto(f"/#/studies/{identity(told_study)}/trials/{trial['number']}")
    expect(page.get_by_text("DuMBO: the model's proposal")).to_be_visible()
    phases = page.get_by_role("list", name="Seconds by phase").get_by_role("listitem")
    expect(phases).to_have_count(len(made["seconds"]))
    expect(page.locator("dt", has_text="acceptance rate")).to_be_visible()
    expect(page.locator("dt", has_text="by ADMM")).to_be_visible()
    expect(page.locator("dt", has_text="after polish")).to_be_visible()
    stamp = page.locator("time").first
    expect(stamp).to_have_attribute("title", f"{trial['asked_at'][:19].replace('T', ' ')} UTC")
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("heading", name=f"Trial {trial['number'] + 1}")).to_be_visible()


def test_what_was_expected_of_a_trial_stands_beside_what_came(page: Page, api: Api) -> None:
    """The model's mean and sd there, and how many of the latter the value told lies off."""
    study = api.study(algorithm={"initial_trials": 4})
    for _ in range(4):
        [trial] = api.ask(study)
        api.tell(study, trial=trial["number"], value=random.Random(trial["number"]).random())
    [trial] = api.ask(study)
    expected = api.get(f"{study}/trials/4/diagnostics").json()["diagnostics"]["admm"]["expected"]
    page.goto(f"/#/studies/{identity(study)}/trials/4")
    expect(page.locator("dt", has_text="expected value").locator("+ dd")).to_contain_text("give or take")
    expect(page.locator("dt", has_text="it came out")).to_have_count(0)
    api.tell(study, trial=trial["number"], value=expected["mean"] - 3 * expected["sd"])
    page.reload()
    expect(page.locator("dt", has_text="it came out").locator("+ dd")).to_have_text("3 deviations lower")


def test_a_ridge_is_said(page: Page, api: Api) -> None:
    """Which parameters make up for each other, heaviest first."""
    study = api.study(parameters=[{"name": n, "type": "float", "bounds": [0, 1]} for n in "abcd"])
    rng = random.Random(3)
    points = [{n: rng.random() for n in "abcd"} for _ in range(60)]
    results = [{"parameters": p, "value": math.sin(9 * (p["a"] - 0.5 * p["b"] + 0.25 * p["c"]))} for p in points]
    api.tell(study, results=results)
    [trial] = api.ask(study)
    page.goto(f"/#/studies/{identity(study)}/trials/{trial['number']}")
    said = page.locator("dd", has_text="a ridge: values vary most with")
    expect(said).to_have_text(re.compile(r"with 1 a, .0\.[45]\d* b, 0\.[23]\d* c$"))


def test_each_of_several_points_has_its_own_model(page: Page, api: Api) -> None:
    """The fit of the first point begins from nothing, that of the second goes on from it."""
    study = api.study(algorithm={"initial_trials": 4})
    for _ in range(4):
        [trial] = api.ask(study)
        api.tell(study, trial=trial["number"], value=random.Random(trial["number"]).random())
    trials = api.ask(study, count=2)
    [first, second] = api.get(f"{study}/trials/5/diagnostics").json()["diagnostics"]["admm"]
    assert first["fit_evaluations"] != second["fit_evaluations"]
    for trial, made in zip(trials, (first, second), strict=True):
        page.goto(f"/#/studies/{identity(study)}/trials/{trial['number']}")
        term = page.locator("dt", has_text="evaluations of the fit")
        expect(term.locator("+ dd")).to_have_text(str(made["fit_evaluations"]))


def _asked_with_factors(api: Api, *factors: list[str]) -> tuple[str, dict[str, Any]]:
    """The page of a trial that a model of these factors of x and y has made, and its search."""
    named = [{"name": f"f{i}", "parameters": variables} for i, variables in enumerate(factors)]
    study = api.study(
        parameters=[{"name": n, "type": "float", "bounds": [-1, 1]} for n in "xy"],
        decomposition={"mode": "known", "factors": named},
        algorithm={"initial_trials": 4},
    )
    for _ in range(4):
        [trial] = api.ask(study)
        values = {f["name"]: sum(trial["parameters"][v] ** 2 for v in f["parameters"]) for f in named}
        api.tell(study, trial=trial["number"], factor_values=values)
    [trial] = api.ask(study)
    made = api.get(f"{study}/trials/{trial['number']}/diagnostics").json()["diagnostics"]
    return f"/#/studies/{identity(study)}/trials/{trial['number']}", made["admm"]


def test_residuals_are_drawn_by_iteration(page: Page, api: Api) -> None:
    """Where factors share a variable they have something to agree on."""
    address, search = _asked_with_factors(api, ["x", "y"], ["y"])
    page.goto(address)
    chart = page.get_by_role("img", name=f"Primal and dual residuals over {search['iterations']} iterations")
    expect(chart.locator("circle.dot.first")).to_have_count(search["iterations"])


def test_factors_that_share_nothing_have_no_residuals(page: Page, api: Api) -> None:
    """A sentence, in place of zeros on a logarithmic axis."""
    address, _ = _asked_with_factors(api, ["x"], ["y"])
    page.goto(address)
    expect(page.get_by_text("each was maximised by itself")).to_be_visible()
    expect(page.get_by_role("img", name="Primal and dual residuals")).to_have_count(0)


@pytest.mark.parametrize(("path", "said"), [("/trials/999", "no trial 999"), ("/nonsense", "no such page")])
def test_a_wrong_address_is_said(page: Page, told_study: str, path: str, said: str) -> None:
    """A sentence and a way back, never an empty page."""
    page.goto(f"/#/studies/{identity(told_study)}{path}")
    alert = page.get_by_role("alert").filter(has_text=said)
    expect(alert.get_by_role("link", name="All studies")).to_be_visible()


def test_a_study_that_is_not_there_is_said(page: Page, watch: Watch) -> None:
    """The API's own words."""
    watch.expected.add("status of 404")
    page.goto("/#/studies/st_aaaaaaaaaaaaaaaa")
    expect(page.get_by_role("alert")).to_contain_text("No such study")
