"""Names are shown as they are, whatever they hold, and never run."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.service.dashboard.conftest import identity
from tests.support.app import Api

NAMES = {
    "script": "<script>window.hacked = 1</script>".replace("/", "\\"),
    "image": "<img src=x onerror='window.hacked = 1'>",
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u0639\u0627\u0644\u0645",
    "emoji": "🧪🔬 café ﷽",
    "long": "m" * 100,
    "selector": "x\"] , [name='a.b' \\ ${alert(1)}",
}


@pytest.mark.parametrize("kind", NAMES)
def test_a_hostile_name_is_text_on_every_view(page: Page, api: Api, kind: str) -> None:
    """As the study's, a parameter's, a factor's and a client's name, a value and a reason."""
    name = NAMES[kind]
    study = api.study(
        name=name,
        parameters=[
            {"name": name, "type": "float", "bounds": [0, 1]},
            {"name": "b", "type": "categorical", "values": [name, "plain"]},
        ],
        decomposition={
            "mode": "known",
            "factors": [{"name": name, "parameters": [name]}, {"name": "g", "parameters": ["b", name]}],
        },
        metadata={name: name},
    )
    api.tell(study, results=[{"parameters": {name: i / 5, "b": name}, "value": i} for i in range(5)])
    [trial] = api.ask(study, client_id=name)
    api.tell(study, trial=trial["number"], state="failed", reason=name)
    page.goto("/")
    expect(page.locator(".study-name").filter(has_text=name).first).to_be_visible()
    at = f"/#/studies/{identity(study)}"
    page.goto(at)
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.goto(f"{at}/structure")
    expect(page.locator(".graph .variable title").filter(has_text=name)).to_have_count(1)
    page.goto(f"{at}/factors")
    expect(page.get_by_role("img", name="Posterior mean of")).to_be_visible()
    page.goto(f"{at}/trials")
    expect(page.locator("table.trials tbody td", has_text=name).first).to_be_visible()
    page.goto(f"{at}/trials/{trial['number']}")
    expect(page.locator("dd", has_text=name).first).to_be_visible()
    page.goto(f"{at}/about")
    expect(page.locator("td", has_text=name).first).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
