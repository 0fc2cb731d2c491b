"""Reading trials: pages, cursors, CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from tests.support.app import SPACE, Api

POINT = {"x": -0.5, "n": 3, "kind": "a"}


def _told(api: Api, study: str, count: int) -> None:
    api.tell(study, results=[{"parameters": POINT, "value": -i} for i in range(count)])


def _pages(api: Api, study: str, **query: Any) -> list[list[int]]:
    pages: list[list[int]] = []
    while True:
        page = api.get(f"{study}/trials", params=query).json()
        pages.append([trial["number"] for trial in page["trials"]])
        if page["next_cursor"] is None:
            return pages
        query["cursor"] = page["next_cursor"]


def test_pages_hold_every_trial_once(api: Api) -> None:
    """Forwards and backwards, in full pages and a last one, and without an empty page at the end."""
    study = api.study()
    _told(api, study, 5)
    assert _pages(api, study, limit=2) == [[0, 1], [2, 3], [4]]
    assert _pages(api, study, limit=2, order="desc") == [[4, 3], [2, 1], [0]]
    assert _pages(api, study, limit=5) == [[0, 1, 2, 3, 4]]
    assert _pages(api, api.study()) == [[]]


def test_pages_of_one_state(api: Api) -> None:
    """Only trials of that state are listed, across pages."""
    study = api.study()
    api.ask(study, count=3)
    _told(api, study, 3)
    api.tell(study, trial=1, value=0)
    assert _pages(api, study, state="completed", limit=2) == [[1, 3], [4, 5]]
    assert _pages(api, study, state="running", limit=1) == [[0], [2]]


def test_a_cursor_goes_on_where_it_was_though_trials_come(api: Api) -> None:
    """Trials added after a page was read come on a later page, and none is given twice."""
    study = api.study()
    _told(api, study, 3)
    first = api.get(f"{study}/trials", params={"limit": 2}).json()
    _told(api, study, 2)
    assert _pages(api, study, limit=2, cursor=first["next_cursor"]) == [[2, 3], [4]]


def test_a_cursor_of_another_listing_or_a_changed_one_is_refused(api: Api) -> None:
    """Every character counts, and so do the study, the filter and the order."""
    study, other = api.study(), api.study()
    _told(api, study, 3)
    _told(api, other, 3)
    cursor = api.get(f"{study}/trials", params={"limit": 1}).json()["next_cursor"]
    changed = [cursor[:i] + ("A" if cursor[i] != "A" else "B") + cursor[i + 1 :] for i in range(len(cursor))]
    attempts = [(f"{study}/trials", {"cursor": c}) for c in (*changed, cursor + "A", cursor[:-1], cursor + "=")]
    attempts += [
        (f"{other}/trials", {"cursor": cursor}),
        (f"{study}/trials", {"cursor": cursor, "state": "completed"}),
        (f"{study}/trials", {"cursor": cursor, "order": "desc"}),
        ("/v1/studies", {"cursor": cursor}),
    ]
    for path, query in attempts:
        answer = api.get(path, params=query)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor"), query


def test_csv_holds_every_trial(api: Api) -> None:
    """More trials than fit into one piece, each with its parameters and factor values, exactly."""
    known = {
        "mode": "known",
        "factors": [{"name": "f", "parameters": ["x", "n"]}, {"name": "g", "parameters": ["kind"]}],
    }
    study = api.study(decomposition=known)
    api.tell(study, results=[{"parameters": POINT, "factor_values": {"f": i, "g": 0.1}} for i in range(600)])
    api.ask(study)
    answer = api.get(f"{study}/trials.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [int(row["number"]) for row in rows] == list(range(601))
    assert (rows[7]["parameters.x"], rows[7]["parameters.kind"]) == ("-0.5", "a")
    assert (rows[7]["factor_values.f"], float(rows[7]["value"])) == ("7.0", 7.1)
    assert rows[7]["told_at"].endswith("Z")
    assert (rows[600]["state"], rows[600]["value"], rows[600]["factor_values.f"]) == ("running", "", "")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("http://x")'])
def test_csv_is_safe_to_open_in_a_spreadsheet(sqlite_api: Api, text: str) -> None:
    """Text that a spreadsheet would run as a formula is marked as text; numbers stay numbers."""
    parameters = [SPACE[0], {"name": "=cmd", "type": "categorical", "values": [text, "plain"]}]
    study = sqlite_api.study(parameters=parameters)
    sqlite_api.ask(study, client_id=text, fixed={"=cmd": text, "x": -1.5})
    sqlite_api.tell(study, trial=0, state="failed", reason=text)
    [row] = csv.DictReader(io.StringIO(sqlite_api.get(f"{study}/trials.csv").text, newline=""))
    assert row["client_id"] == row["reason"] == row["parameters.=cmd"] == f"'{text}"
    assert row["parameters.x"] == "-1.5"


def test_the_series_is_every_trial_in_columns(api: Api) -> None:
    """Number, state, value and origin by number; with `improvements`, only what beat all before it."""
    study = api.study(direction="maximize")
    assert api.get(f"{study}/series").json() == {"numbers": [], "states": [], "values": [], "origins": []}
    api.tell(study, results=[{"parameters": POINT, "value": value} for value in (1, 0.5, 2, 2, 3)])
    [trial] = api.ask(study)
    answer = api.get(f"{study}/series")
    assert answer.json() == {
        "numbers": [0, 1, 2, 3, 4, 5],
        "states": ["completed"] * 5 + ["running"],
        "values": [1, 0.5, 2, 2, 3, None],
        "origins": ["told"] * 5 + [trial["origin"]],
    }
    better = api.get(f"{study}/series", params={"improvements": True}).json()
    assert (better["numbers"], better["values"]) == ([0, 2, 4], [1, 2, 3])
    again = api.get(f"{study}/series", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304


def test_improvements_of_a_minimized_objective_fall(api: Api) -> None:
    """The direction decides what is better."""
    study = api.study()
    api.tell(study, results=[{"parameters": POINT, "value": value} for value in (1, 2, 0.5)])
    assert api.get(f"{study}/series", params={"improvements": True}).json()["values"] == [1, 0.5]
