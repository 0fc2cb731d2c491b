"""How fast the dashboard is in the browser with a large study: 100 parameters and 5,000 trials.

    python -m benchmarks.dashboard_speed [--trials 5000] [--parameters 100] [--readme]

The real server, Debian's Chromium, and a new browser session for every first paint. A view's time runs from the
navigation to the moment its chart or table is there, or for a tab from the click. An interaction's time is the
browser's own (the Event Timing API): from the key or the click to the next frame on the screen, the worst of several.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import httpx
import numpy as np
from playwright.sync_api import Browser, Page

from benchmarks.problems.base import consecutive_blocks
from benchmarks.readme import fill
from service.storage.schema import upgrade
from tests.support.browser import running_browser
from tests.support.server import running_server

BATCH = 500
FIRST_PAINT = 2000.0  # milliseconds
INTERACTION = 200.0
REPEATS = 5
WATCH = """
window.slowest = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.slowest = Math.max(window.slowest, entry.duration);
}).observe({ type: "event", durationThreshold: 16, buffered: true });
"""
TWO_FRAMES = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"
)


@dataclass(frozen=True)
class Row:
    """One line of the table, in milliseconds."""

    what: str
    result: float
    target: float

    def __str__(self) -> str:
        verdict = "yes" if self.result <= self.target else "**no**"
        shown = "under 16" if self.result < 16 else f"{self.result:.0f}"
        return f"| {self.what} | {shown} ms | {self.target:.0f} ms | {verdict} |"


def fill_study(api: httpx.Client, n_parameters: int, n_trials: int) -> str:
    """A study with known factors of four parameters, told in bulk; its id."""
    names = [f"x{j}" for j in range(n_parameters)]
    blocks = consecutive_blocks(n_parameters, 4)
    factors = [{"name": f"f{i}", "parameters": [names[j] for j in block]} for i, block in enumerate(blocks)]
    spec = {
        "name": "large",
        "direction": "minimize",
        "parameters": [{"name": name, "type": "float", "bounds": [-5, 5]} for name in names],
        "decomposition": {"mode": "known", "factors": factors},
    }
    study = str(api.post("/v1/studies", json=spec).raise_for_status().json()["id"])
    rng = np.random.default_rng(0)
    for start in range(0, n_trials, BATCH):
        X = rng.uniform(-5, 5, (min(BATCH, n_trials - start), n_parameters)) * np.exp(-start / n_trials)
        results = [{"parameters": dict(zip(names, map(float, x), strict=True)), "value": float(x @ x)} for x in X]
        api.post(f"/v1/studies/{study}/tell", json={"results": results}).raise_for_status()
    return study


@contextmanager
def opened(browser: Browser, url: str) -> Iterator[Page]:
    """A page of a new session, at `url` and with nothing cached."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(url, wait_until="commit")
    yield page
    context.close()


def first_paint(browser: Browser, url: str, sign: str) -> float:
    """Milliseconds from the navigation until what the view is about can be seen."""
    with opened(browser, url) as page:
        page.wait_for_selector(sign, timeout=60_000)
        return float(page.evaluate("performance.now()"))


def interaction(page: Page, act: Callable[[], object]) -> float:
    """Milliseconds from input to the next frame, by the browser's account."""
    page.evaluate("() => { window.slowest = 0; }")
    act()
    page.evaluate(TWO_FRAMES)
    return float(page.evaluate("window.slowest"))


def tab(page: Page, name: str, sign: str) -> float:
    """Milliseconds from the click on a tab until its content is there."""
    link = page.get_by_role("link", name=name, exact=True)
    link.hover()
    start = time.perf_counter()
    page.mouse.down()
    page.mouse.up()
    page.wait_for_selector(sign, timeout=60_000)
    return 1000 * (time.perf_counter() - start)


VIEWS = {
    "studies": ("", ".study .sparkline"),
    "progress": ("studies/{study}", "path.best-line"),
    "structure": ("studies/{study}/structure", ".graph .factor"),
    "trials": ("studies/{study}/trials", "table.trials tbody tr"),
    "one trial": ("studies/{study}/trials/7", ".facts.dense"),
}


def paints(browser: Browser, base: str, study: str) -> Iterator[Row]:
    for view, (path, sign) in VIEWS.items():
        url = f"{base}/#/{path.format(study=study)}"
        times = [first_paint(browser, url, sign) for _ in range(REPEATS)]
        yield Row(f"first paint, {view}", float(np.median(times)), FIRST_PAINT)


def interactions(browser: Browser, base: str, study: str, n_trials: int) -> Iterator[Row]:
    with opened(browser, f"{base}/#/studies/{study}") as page:
        page.wait_for_selector("path.best-line")
        curve = page.get_by_role("slider", name="Trials.")
        curve.focus()
        yield _worst(page, "curve: next trial by key", [lambda: page.keyboard.press("ArrowLeft")] * REPEATS)
        page.get_by_label("Vertical axis").focus()
        yield _worst(page, "curve: zoom", [partial(page.keyboard.press, key) for key in ("ArrowDown", "ArrowUp")])
        page.get_by_role("link", name="Trials", exact=True).click()
        page.get_by_text(f"{n_trials:,} trials", exact=True).wait_for(timeout=60_000)
        sort = page.get_by_role("button", name="value")
        yield _worst(page, f"table: sort {n_trials:,} trials", [lambda: sort.press("Enter")] * REPEATS)
        turn = page.get_by_role("button", name="Next")
        yield _worst(page, "table: turn the page", [turn.click] * REPEATS)
        everything = page.get_by_role("checkbox", name="parameters")
        yield _worst(page, "table: show all parameters", [everything.click])
        yield _worst(page, "table: turn the page with all parameters", [turn.click] * REPEATS)
        everything.click()
        page.get_by_label("Filter").focus()
        keys = [partial(page.keyboard.press, c) for c in "x7 > 0.5"]
        yield _worst(page, "table and parallel coordinates: type a filter", keys)
        page.get_by_label("Parameters", exact=True).focus()
        yield _worst(page, "parallel coordinates: other parameters", [lambda: page.keyboard.press("ArrowDown")] * 3)
        signs = {"Progress": "path.best-line", "Structure": ".graph .factor", "Trials": "table.trials tbody tr"}
        for name, sign in signs.items():
            yield Row(
                f"tab {name}, until drawn", float(np.median([_again(page, name, sign) for _ in range(3)])), INTERACTION
            )


def _again(page: Page, name: str, sign: str) -> float:
    page.get_by_role("link", name="About", exact=True).click()
    page.get_by_role("heading", name="Specification").wait_for()
    return tab(page, name, sign)


def _worst(page: Page, what: str, acts: Sequence[Callable[[], object]]) -> Row:
    return Row(what, max(interaction(page, act) for act in acts), INTERACTION)


def measured(browser: Browser, base: str, study: str, n_trials: int) -> Iterator[Row]:
    yield from paints(browser, base, study)
    yield from interactions(browser, base, study, n_trials)


def table(rows: list[Row]) -> str:
    return "\n".join(["| in Chromium | measured | target | reached |", "|---|---|---|---|", *map(str, rows)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument("--parameters", type=int, default=100)
    parser.add_argument("--readme", action="store_true", help="put the table into the README")
    arguments = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as home:
        url = f"sqlite:///{home}/dumbo.db"
        upgrade(url)
        with running_server(url) as server, httpx.Client(base_url=server.url, timeout=120) as api:
            study = fill_study(api, arguments.parameters, arguments.trials)
            with running_browser() as browser:
                for row in measured(browser, server.url, study, arguments.trials):
                    print(row, file=sys.stderr, flush=True)
                    rows.append(row)
    print(table(rows))
    if arguments.readme:
        fill("dashboard speed", table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
