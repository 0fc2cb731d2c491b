"""A study's page: live, and by hand."""

from __future__ import annotations

import re

from playwright.sync_api import BrowserContext, Page, expect

from tests.service.dashboard.conftest import Watch, identity
from tests.support.app import Api

BOX = [{"name": n, "type": "float", "bounds": [-1, 1]} for n in "ab"]


def test_results_appear_without_a_reload(page: Page, api: Api) -> None:
    """While a client asks and tells, the figures and the curve follow."""
    study = api.study(name="watched", parameters=BOX, algorithm={"seed": 1, "initial_trials": 3})
    page.goto(f"/#/studies/{identity(study)}")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    expect(page.get_by_text("no result yet")).to_be_visible()
    curve = page.get_by_role("slider", name="Trials.")
    for number in range(4):
        [trial] = api.ask(study)
        expect(curve).to_have_attribute("aria-valuetext", f"Trial {number}: running")
        api.tell(study, trial=trial["number"], value=10 - number)
        expect(curve).to_have_attribute("aria-valuetext", f"Trial {number}: {10 - number}")
    expect(page.locator(".figure").filter(has_text="best")).to_contain_text("7")
    expect(page.locator("path.best-line")).to_have_count(1)


def test_the_structure_follows_and_can_be_wound_back(page: Page, api: Api) -> None:
    """A new ask moves the structure on; the slider shows an earlier one."""
    study = api.study(name="structured", parameters=BOX, algorithm={"seed": 1, "initial_trials": 3})
    for i in range(5):
        [trial] = api.ask(study)
        api.tell(study, trial=trial["number"], value=i)
    page.goto(f"/#/studies/{identity(study)}/structure")
    expect(page.get_by_role("img", name="Factor graph")).to_be_visible()
    expect(page.locator(".graph .variable")).to_have_count(2)
    expect(page.locator("output")).to_have_text("now (trial 4)")
    api.ask(study)
    expect(page.locator("output")).to_have_text("now (trial 5)")
    slider = page.get_by_role("slider", name="Structure as of")
    slider.focus()
    slider.press("Home")
    expect(page.locator("output")).to_have_text("trial 3")
    shown = api.get(f"{study}/decomposition", params={"at": 3}).json()
    expect(page.locator(".graph .factor")).to_have_count(len(shown["map"]))
    api.ask(study)  # who looks back is left there
    expect(slider).to_have_attribute("max", "3")
    expect(page.locator("output")).to_have_text("trial 3")


def test_factors_are_drawn_from_predictions(page: Page, api: Api) -> None:
    """Shares of the variance, then a curve or a contour as chosen."""
    # Known factors: which variables an inferred one holds is the model's to say.
    factors = [{"name": "left", "parameters": ["a", "kind"]}, {"name": "right", "parameters": ["b"]}]
    kind = {"name": "kind", "type": "categorical", "values": ["red", "blue"]}
    study = api.study(name="drawn", parameters=[*BOX, kind], decomposition={"mode": "known", "factors": factors})
    for i in range(9):
        point = {"a": i / 8, "b": (i % 3) / 3, "kind": ["red", "blue"][i % 2]}
        api.tell(study, parameters=point, value=point["a"] ** 2 + point["b"] + i % 2)
    page.goto(f"/#/studies/{identity(study)}/factors")
    bars = page.get_by_role("list", name="Share of the variance").get_by_role("listitem")
    expect(bars).to_have_count(2)
    expect(page.get_by_role("img", name="Posterior mean of")).to_be_visible()
    page.get_by_label("Factor", exact=True).select_option(label="left")
    page.get_by_label("Along", exact=True).select_option("a")
    page.get_by_label("and along").select_option("")
    expect(page.get_by_role("img", name=re.compile("along a, with its 95 % band"))).to_be_visible()
    expect(page.locator(".observation, .rug")).to_have_count(9)
    page.get_by_label("and along").select_option("kind")
    expect(page.get_by_role("img", name=re.compile("over a and kind"))).to_be_visible()


def test_a_trial_is_asked_for_and_told_by_hand(page: Page, watch: Watch, api: Api) -> None:
    """Ask, type something that is no number, see it said at the field, type the value; mark another as failed."""
    watch.expected.add("status of 422")
    study = api.study(name="by hand", parameters=BOX)
    page.goto(f"/#/studies/{identity(study)}")
    page.get_by_role("button", name="Ask for a trial").click()
    expect(page.get_by_role("heading", name="Trial 0")).to_be_visible()
    page.get_by_label("Value").fill("twelve")
    page.get_by_role("button", name="Tell the result").click()
    expect(page.get_by_label("Value")).to_have_accessible_description("Input should be a valid number")
    page.get_by_label("Value").fill("12.5")
    page.get_by_label("Standard error").fill("0.5")
    page.get_by_role("button", name="Tell the result").click()
    expect(page.get_by_role("heading", name="Trial 0")).to_contain_text("completed")
    trial = api.get(f"{study}/trials/0").json()
    assert (trial["value"], trial["sem"]) == (12.5, 0.5)

    page.get_by_role("button", name="Ask for a trial").click()
    expect(page.get_by_role("heading", name="Trial 1")).to_be_visible()
    page.get_by_label("Reason").fill("diverged")
    page.get_by_role("button", name="Mark as failed").click()
    expect(page.get_by_role("heading", name="Trial 1")).to_contain_text("failed")
    assert api.get(f"{study}/trials/1").json()["reason"] == "diverged"


def test_factor_values_and_points_of_ones_own_are_told(page: Page, api: Api) -> None:
    """Where the factors are known each can be told; so can a point that nobody asked for."""
    factors = [{"name": "left", "parameters": ["a"]}, {"name": "right", "parameters": ["b"]}]
    study = api.study(name="known", parameters=BOX, decomposition={"mode": "known", "factors": factors})
    page.goto(f"/#/studies/{identity(study)}/trials")
    page.get_by_text("Tell a point that was never asked for").click()
    page.get_by_label("a", exact=True).fill("0.5")
    page.get_by_label("b", exact=True).fill("-0.5")
    page.get_by_label("I know the value of each factor").check()
    page.get_by_label("left").fill("1")
    page.get_by_label("right").fill("2")
    page.get_by_role("button", name="Tell", exact=True).click()
    expect(page.get_by_role("heading", name="Trial 0")).to_be_visible()
    expect(page.get_by_text("nobody asked for this point")).to_be_visible()
    trial = api.get(f"{study}/trials/0").json()
    assert trial["parameters"] == {"a": 0.5, "b": -0.5}
    assert (trial["value"], trial["factor_values"]) == (3, {"left": 1, "right": 2})


def test_a_lost_connection_is_said_and_mended(
    page: Page, context: BrowserContext, watch: Watch, told_study: str
) -> None:
    """Offline the page says so and keeps what it shows; back online it is live again."""
    watch.expected.add("net::ERR_INTERNET_DISCONNECTED")
    page.goto(f"/#/studies/{identity(told_study)}")
    status = page.locator("#connection")
    expect(status).to_have_text("Live")
    context.set_offline(True)
    expect(status).to_have_text("No connection – trying again")
    expect(page.get_by_role("heading", name="looked at")).to_be_visible()
    context.set_offline(False)
    expect(status).to_have_text("Live")


def test_a_study_is_stopped_and_deleted(page: Page, watch: Watch, api: Api) -> None:
    """Stopping disables asking; deleting takes two presses."""
    watch.expected.add("status of 404")  # a look that was under way when it went
    study = api.study(name="to be deleted", parameters=BOX)
    page.goto(f"/#/studies/{identity(study)}/about")
    page.get_by_role("button", name="Stop the study").click()
    expect(page.get_by_role("button", name="Ask for a trial")).to_be_disabled()
    expect(page.get_by_role("button", name="Reactivate the study")).to_be_visible()
    page.get_by_role("button", name="Delete the study").click()
    assert api.get(study).status_code == 200
    page.get_by_role("button", name="Really delete").click()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    assert api.get(study).status_code == 404
