"""The README's pictures of the dashboard, from real runs: WLAN with its factors told, Powell-24 with them inferred.

    python -m benchmarks.screenshots [--keep DATABASE]

With `--keep` the runs are stored in that SQLite file, and taken from there if it has them already.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
from PIL import Image
from playwright.sync_api import Browser

from benchmarks.problems import BenchmarkProblem, make
from service.storage.schema import upgrade
from tests.support.browser import running_browser
from tests.support.server import ROOT, running_server

PLACE = ROOT / "service" / "dashboard" / "screenshots"
LARGEST = 180_000  # bytes
HEIGHTS = {1280: 860, 390: 844}


@dataclass(frozen=True)
class Shot:
    """One picture: of which view, how wide, in which theme, and what must be there before it is taken."""

    name: str
    study: str
    view: str
    sign: str
    width: int = 1280
    theme: str = "light"
    whole: bool = True  # the whole page, not only what fits on the screen


SHOTS = [
    Shot("progress", "wlan", "", "path.best-line"),
    Shot("structure", "powell", "/structure", ".pairs", theme="dark"),
    Shot("factors", "wlan", "/factors", ".isoline"),
    Shot("trials", "wlan", "/trials", "table.trials tbody tr", whole=False),
    Shot("ask", "wlan", "/trials/18", ".dot", theme="dark"),
    Shot("progress-narrow", "wlan", "", "path.best-line", width=390, theme="dark", whole=False),
    Shot("structure-narrow", "powell", "/structure", ".graph .factor", width=390, whole=False),
]


def run_wlan(api: httpx.Client, n_trials: int = 40) -> None:
    """Ask and tell each access point's own capacity; now and then an evaluation fails."""
    problem = make("wlan-log")
    study = _create(
        api, "wlan", {**problem.to_spec("known", seed=1), "metadata": {"what": "powers of 12 access points"}}
    )
    for step in range(n_trials):
        [trial] = api.post(f"{study}/ask", json={"client_id": "testbed"}).raise_for_status().json()["trials"]
        result: dict[str, object] = {"trial": trial["number"]}
        if step % 13 == 7:
            result |= {"state": "failed", "reason": "an access point did not answer"}
        else:
            result["factor_values"] = problem.factor_values(_point(problem, trial["parameters"]))
        api.post(f"{study}/tell", json=result).raise_for_status()
    api.post(f"{study}/ask", json={"client_id": "testbed"}).raise_for_status()


def run_powell(api: httpx.Client, n_told: int = 200, n_asks: int = 50) -> None:
    """Tell points from all over the box, then let the model ask: it must find who goes with whom by itself.

    Outputs are not bent: what is bent is no longer a sum.
    """
    problem = make("powell-24-shifted", seed=1)
    study = _create(api, "powell", problem.to_spec("infer", seed=1, transform="none"))
    rng = np.random.default_rng(1)
    points = [problem.from_unit(u) for u in rng.random((n_told, problem.n_dims))]
    names = problem.parameter_names
    told = [{"parameters": dict(zip(names, map(float, x), strict=True)), "value": problem.f(x)} for x in points]
    api.post(f"{study}/tell", json={"results": told}).raise_for_status()
    for _ in range(n_asks):
        [trial] = api.post(f"{study}/ask").raise_for_status().json()["trials"]
        value = problem.f(_point(problem, trial["parameters"]))
        api.post(f"{study}/tell", json={"trial": trial["number"], "value": value}).raise_for_status()


def _create(api: httpx.Client, name: str, spec: dict[str, object]) -> str:
    made = api.post("/v1/studies", json={**spec, "name": name}).raise_for_status()
    return str(made.headers["location"])


def _point(problem: BenchmarkProblem, parameters: dict[str, float]) -> np.ndarray:
    return np.array([parameters[name] for name in problem.parameter_names])


def ensure(api: httpx.Client) -> dict[str, str]:
    """Both runs, made unless they are there; their ids by name."""
    for name, run in (("powell", run_powell), ("wlan", run_wlan)):
        if api.get(f"/v1/studies/{name}").status_code == 404:
            run(api)
    return {name: api.get(f"/v1/studies/{name}").json()["id"] for name in ("wlan", "powell")}


def take(browser: Browser, base: str, ids: dict[str, str], shot: Shot) -> None:
    viewport = {"width": shot.width, "height": HEIGHTS[shot.width]}
    context = browser.new_context(viewport=viewport, color_scheme="dark" if shot.theme == "dark" else "light")  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{base}/#/studies/{ids[shot.study]}{shot.view}")
    page.wait_for_selector(shot.sign)
    page.wait_for_timeout(600)  # until the last frame is drawn
    save(page.screenshot(full_page=shot.whole), PLACE / f"{shot.name}.png")
    context.close()


def save(png: bytes, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.save(path, optimize=True)
    if path.stat().st_size > LARGEST:  # a palette costs a little fidelity
        picture.quantize(256, kmeans=3, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="DATABASE", help="SQLite file for the runs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        url = f"sqlite:///{(arguments.keep or Path(home) / 'dumbo.db').absolute()}"
        upgrade(url)
        with running_server(url) as server, httpx.Client(base_url=server.url, timeout=300) as api:
            ids = ensure(api)
            with running_browser() as browser:
                for shot in SHOTS:
                    take(browser, server.url, ids, shot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
