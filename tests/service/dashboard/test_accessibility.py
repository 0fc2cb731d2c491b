"""Every view in both themes and at both widths: axe finds nothing, and nothing sticks out of the screen."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service.dashboard.conftest import Watch, identity
from tests.support.app import Api

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text()
VIEWS = {
    "": "Search studies",
    "new": "Direction",
    "studies/{study}": "Values by trial",
    "studies/{study}/structure": "Factor graph",
    "studies/{study}/factors": "The factor up close",
    "studies/{study}/trials": "Parallel coordinates",
    "studies/{study}/trials/8": "ADMM residuals",
    "studies/{study}/trials/10": "What came of it?",
    "studies/{study}/about": "Specification",
}


def _violations(page: Page) -> list[str]:
    """What axe finds against WCAG 2.2 A and AA and its best practices."""
    page.evaluate(AXE)
    found: dict[str, Any] = page.evaluate("async () => await axe.run()")
    assert {"color-contrast", "button-name", "page-has-heading-one"} <= {rule["id"] for rule in found["passes"]}
    return [f"{v['id']}: {n['html'][:160]} {n['failureSummary']}" for v in found["violations"] for n in v["nodes"]]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "light"), (1280, "dark")])
def test_every_view_can_be_used_by_everyone(
    browser: Browser, watch: Watch, api: Api, told_study: str, width: int, scheme: str
) -> None:
    """Labels, roles, contrast, order of headings; and no sideways scrolling."""
    context = browser.new_context(
        base_url=str(api.base_url),
        viewport={"width": width, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    watch.follow(page)
    faults: list[str] = []
    for view, landmark in VIEWS.items():
        page.goto(f"/#/{view.format(study=identity(told_study))}")
        expect(page.get_by_text(landmark).first).to_be_visible()
        page.wait_for_load_state("networkidle")
        faults += [f"{view}: {fault}" for fault in _violations(page)]
        sideways = page.evaluate("document.documentElement.scrollWidth") - width
        faults += [f"{view}: sticks out by {sideways} pixels"] if sideways > 0 else []
    context.close()
    assert faults == []


def test_the_keyboard_reaches_everything(page: Page, told_study: str) -> None:
    """The skip link comes first; tabs and the curve follow in order, and the theme is chosen with a key."""
    page.goto(f"/#/studies/{identity(told_study)}")
    expect(page.get_by_role("slider", name="Trials.")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    seen = []
    for _ in range(20):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent")
        )
    wanted = ["Ask for a trial", "Progress", "Structure", "Factors", "Trials", "About"]
    places = [seen.index(name) for name in wanted]
    assert places == sorted(places)
    assert any("Arrow keys move" in (text or "") for text in seen)
    page.locator("#theme").press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
