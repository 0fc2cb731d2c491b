"""Tell: results of asked trials and of points never asked for, once, twice, together, and in conflict."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.app import SPACE, Api, running_app

KNOWN: dict[str, Any] = {
    "mode": "known",
    "factors": [{"name": "left", "parameters": ["x", "n"]}, {"name": "right", "parameters": ["n", "kind"]}],
}
POINT = {"x": 0.25, "n": 7, "kind": "b"}


def test_a_result_completes_its_trial(api: Api) -> None:
    """The told trial is completed, has its value and the time, and its lease is over."""
    study = api.study()
    [asked] = api.ask(study)
    told = api.tell(study, trial=0, value=0.91, sem=0.02)
    [trial] = told["trials"]
    assert (trial["state"], trial["value"], trial["sem"]) == ("completed", 0.91, 0.02)
    assert trial["parameters"] == asked["parameters"]
    assert trial["told_at"] >= trial["asked_at"]
    assert trial["lease_expires_at"] is None
    assert told["best"] == trial == api.get(f"{study}/trials/0").json() == api.get(f"{study}/best").json()


@pytest.mark.parametrize(("direction", "best"), [("minimize", 1), ("maximize", 2)])
def test_best_is_the_best_completed_trial(api: Api, direction: str, best: int) -> None:
    """Failed trials do not count, and of equal values the earlier trial is best however late it is told."""
    study = api.study(direction=direction)
    assert api.get(f"{study}/best").json()["code"] == "no_completed_trial"
    api.ask(study, count=6)
    api.tell(study, trial=0, state="failed", reason="diverged")
    assert api.get(f"{study}/best").status_code == 404
    for number, value in [(5, -2.0), (4, 3.0), (3, 1.0), (2, 3.0), (1, -2.0)]:
        api.tell(study, trial=number, value=value)
    assert api.get(f"{study}/best").json()["number"] == best
    assert api.get(study).json()["best"]["number"] == best


def test_counts_follow_the_states(api: Api) -> None:
    """Every trial is counted in its state."""
    study = api.study()
    api.ask(study, count=4)
    api.tell(study, trial=0, value=1)
    api.tell(study, trial=1, state="failed")
    api.tell(study, trial=2, state="abandoned", reason="machine gone")
    api.tell(study, parameters=POINT, value=2)
    expected = {"running": 1, "completed": 2, "failed": 1, "abandoned": 1}
    assert api.get(study).json()["trial_counts"] == expected
    for state, count in expected.items():
        assert len(api.get(f"{study}/trials", params={"state": state}).json()["trials"]) == count


def test_a_point_never_asked_for_becomes_a_trial(api: Api) -> None:
    """It gets the next number and the origin told, and was never asked."""
    study = api.study()
    api.ask(study)
    [trial] = api.tell(study, parameters=POINT, value=0.4)["trials"]
    assert (trial["number"], trial["origin"], trial["asked_at"]) == (1, "told", None)
    assert trial["parameters"] == POINT
    [failed] = api.tell(study, parameters=POINT, state="failed")["trials"]
    assert (failed["number"], failed["state"]) == (2, "failed")


def test_factor_values_sum_to_the_value(api: Api) -> None:
    """With factor values, y is their sum; a value beside them may agree up to rounding."""
    study = api.study(decomposition=KNOWN)
    api.ask(study, count=2)
    [trial] = api.tell(study, trial=0, factor_values={"left": 0.1, "right": 0.2})["trials"]
    assert (trial["value"], trial["factor_values"]) == (0.1 + 0.2, {"left": 0.1, "right": 0.2})
    [trial] = api.tell(study, trial=1, factor_values={"left": 0.1, "right": 0.2}, value=0.3)["trials"]
    assert trial["value"] == pytest.approx(0.3)


RESULTS: list[dict[str, Any]] = [
    {"value": 0.5},
    {"value": 0.5, "sem": 0.1},
    {"factor_values": {"left": 1, "right": 2}},
    {"state": "failed", "reason": "diverged"},
    {"state": "abandoned"},
]


@pytest.mark.parametrize("result", RESULTS)
def test_telling_the_same_twice_changes_nothing(api: Api, result: dict[str, Any]) -> None:
    """The repetition is 200 with the same answer, and the database stays as it is."""
    study = api.study(decomposition=KNOWN)
    api.ask(study)
    first = api.tell(study, trial=0, **result)
    before = api.dump()
    assert api.tell(study, trial=0, **result) == first
    assert api.dump() == before


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("other", RESULTS)
def test_another_result_for_a_finished_trial_is_refused(
    sqlite_api: Api, result: dict[str, Any], other: dict[str, Any]
) -> None:
    """Whatever was told first stands; anything else is 409 trial_finished."""
    if result == other:
        return
    study = sqlite_api.study(decomposition=KNOWN)
    sqlite_api.ask(study)
    sqlite_api.tell(study, trial=0, **result)
    before = sqlite_api.get(f"{study}/trials/0").json()
    refused = sqlite_api.post(f"{study}/tell", json={"trial": 0, **other})
    assert (refused.status_code, refused.json()["code"]) == (409, "trial_finished")
    assert sqlite_api.get(f"{study}/trials/0").json() == before


def test_several_results_are_told_together(api: Api) -> None:
    """A bulk tell takes results of trials and of new points, in order, in one step."""
    study = api.study()
    api.ask(study, count=2)
    results = [{"trial": 1, "value": 2}, {"parameters": POINT, "value": 1}, {"trial": 0, "state": "failed"}]
    told = api.tell(study, results=results)
    assert [t["number"] for t in told["trials"]] == [1, 2, 0]
    assert told["best"]["number"] == 2
    assert api.get(study).json()["revision"] == 2


@pytest.mark.parametrize(
    ("bad", "status", "code"),
    [
        ({"trial": 99, "value": 1}, 404, "trial_not_found"),
        ({"trial": 0, "value": 2}, 409, "trial_finished"),
        ({"trial": 1, "value": "1"}, 422, "invalid"),
        ({"parameters": POINT | {"x": 6}, "value": 1}, 422, "invalid"),
        ({"trial": 1, "value": 1, "parameters": POINT}, 422, "invalid"),
        ({"value": 1}, 422, "invalid"),
    ],
)
def test_a_bulk_tell_with_one_bad_result_stores_none(api: Api, bad: dict[str, Any], status: int, code: str) -> None:
    """All or nothing: the good results beside a bad one are not stored."""
    study = api.study()
    api.ask(study, count=3)
    api.tell(study, trial=0, value=1)
    before = api.dump()
    answer = api.post(f"{study}/tell", json={"results": [{"trial": 2, "value": 5}, bad]})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert api.dump() == before
    if status == 422:
        assert all(e["loc"][:3] == ["body", "results", 1] for e in answer.json()["errors"])


def test_contradicting_results_in_one_tell_are_refused(api: Api) -> None:
    """The same trial twice in a bulk tell is fine with the same result and a conflict with another."""
    study = api.study()
    api.ask(study)
    refused = api.post(f"{study}/tell", json={"results": [{"trial": 0, "value": 1}, {"trial": 0, "value": 2}]})
    assert refused.json()["code"] == "trial_finished"
    told = api.tell(study, results=[{"trial": 0, "value": 1}, {"trial": 0, "value": 1}])
    assert [t["value"] for t in told["trials"]] == [1, 1]


def test_results_of_one_tell_are_taken_in_order(api: Api) -> None:
    """A point told first is a trial for the results after it: the same one is fine, another one a conflict."""
    study = api.study()
    point = {"x": 0.5, "n": 3, "kind": "a"}
    refused = api.post(f"{study}/tell", json={"results": [{"parameters": point, "value": 1}, {"trial": 0, "value": 2}]})
    assert refused.json()["code"] == "trial_finished"
    told = api.tell(study, results=[{"parameters": point, "value": 1}, {"trial": 0, "value": 1}])
    assert [t["number"] for t in told["trials"]] == [0, 0]
    early = api.post(f"{study}/tell", json={"results": [{"trial": 1, "value": 1}, {"parameters": point, "value": 1}]})
    assert early.json()["code"] == "trial_not_found"


def test_a_full_study_takes_no_more_points(sqlite_url: str) -> None:
    """The limit of trials holds for asks and for tells of new points, not for results of trials there are."""
    with running_app(sqlite_url, max_trials=2) as api:
        study = api.study()
        assert api.post(f"{study}/ask", json={"count": 3}).json()["code"] == "too_many_trials"
        api.ask(study, count=2)
        assert api.post(f"{study}/ask").json()["code"] == "too_many_trials"
        assert api.post(f"{study}/tell", json={"parameters": POINT, "value": 1}).json()["code"] == "too_many_trials"
        api.tell(study, trial=1, value=1)


def test_values_come_back_exactly(api: Api) -> None:
    """Numbers survive the way in and out to the last bit."""
    study = api.study(parameters=SPACE[:1])
    for value in (0.1 + 0.2, -1e-300, 1.7976931348623157e308, 5e-324, 123456789012345680.0):
        [trial] = api.tell(study, parameters={"x": 0.1 + 0.2}, value=value)["trials"]
        assert api.get(f"{study}/trials/{trial['number']}").json()["value"] == value
        assert trial["parameters"]["x"] == 0.1 + 0.2
