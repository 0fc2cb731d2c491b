"""Ask: new points, trials handed out again, leases, fixed values, and what is kept of how an ask was made."""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

from service.compute.jobs import AskJob, AskResult
from service.storage.database import Database
from service.storage.tables import model_states, trials
from tests.support.app import SPACE, Api, InlineCompute, running_app


def _when(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _expire(api: Api, study: str, *numbers: int) -> None:
    """Let leases run out, by moving them into the past."""
    database = Database(api.settings.database_url)
    at = (trials.c.study_id == study.rsplit("/", 1)[1]) & trials.c.number.in_(numbers)
    with database.write() as tx:
        past = _when("2020-01-01T00:00:00Z")
        assert tx.execute(sa.update(trials).where(at).values(lease_expires_at=past)).rowcount == len(numbers)
    database.close()


def test_an_empty_body_asks_for_one_trial(api: Api) -> None:
    """No body at all, an empty object and null all mean the defaults."""
    study = api.study()
    answers = [api.post(f"{study}/ask"), api.post(f"{study}/ask", json={})]
    answers.append(api.post(f"{study}/ask", content=b"null", headers={"content-type": "application/json"}))
    assert [[t["number"] for t in answer.json()["trials"]] for answer in answers] == [[0], [1], [2]]


def test_a_new_trial_is_running_with_a_lease(api: Api) -> None:
    """It has a number, a point of the space, its origin, and a lease as long as was asked for."""
    study = api.study()
    [trial] = api.ask(study, client_id="worker 1", lease_seconds=90)
    assert (trial["state"], trial["origin"], trial["client_id"]) == ("running", "initial", "worker 1")
    assert _when(trial["lease_expires_at"]) - _when(trial["asked_at"]) == timedelta(seconds=90)
    assert set(trial["parameters"]) == {"x", "n", "kind"}
    assert trial["value"] is trial["told_at"] is None
    assert api.get(f"{study}/trials/0").json() == trial


def test_points_of_one_ask_and_of_several_are_distinct(api: Api) -> None:
    """Ten points at once and ten more one by one are twenty different points, numbered without gaps."""
    study = api.study()
    handed = api.ask(study, count=10) + [api.ask(study)[0] for _ in range(10)]
    assert [trial["number"] for trial in handed] == list(range(20))
    assert len({str(trial["parameters"]) for trial in handed}) == 20


def test_the_model_takes_over_from_the_initial_points(api: Api) -> None:
    """After the initial trials, points come from the model, its state is stored and its diagnostics are kept."""
    study = api.study(algorithm={"seed": 1, "initial_trials": 3})
    for trial in api.ask(study, count=3):
        api.tell(study, trial=trial["number"], value=trial["parameters"]["x"] ** 2)
    asked = api.post(f"{study}/ask").json()
    assert asked["trials"][0]["origin"] == "dumbo"
    kept = api.get(f"{study}/trials/3/diagnostics").json()
    assert kept["diagnostics"].items() <= asked["diagnostics"].items()
    assert (kept["first_trial"], kept["count"]) == (3, 1)
    assert kept["decomposition"]["samples"]


def test_a_told_point_has_no_diagnostics(api: Api) -> None:
    """How a point was found is known only if we found it."""
    study = api.study()
    api.tell(study, parameters={"x": 0, "n": 1, "kind": "a"}, value=1)
    answer = api.get(f"{study}/trials/0/diagnostics")
    assert (answer.status_code, answer.json()["code"]) == (404, "no_diagnostics")


def test_a_client_gets_its_running_trials_back(api: Api) -> None:
    """A restarted worker goes on where it was, and gets new trials only beyond those it holds."""
    study = api.study()
    held = api.ask(study, count=2, client_id="w", lease_seconds=1000)
    api.ask(study, client_id="other")
    again = api.ask(study, count=2, client_id="w", lease_seconds=5000)
    assert [t["parameters"] for t in again] == [t["parameters"] for t in held]
    assert [t["number"] for t in again] == [0, 1]
    assert _when(again[0]["lease_expires_at"]) > _when(held[0]["lease_expires_at"])
    assert [t["number"] for t in api.ask(study, count=3, client_id="w")] == [0, 1, 3]
    api.tell(study, trial=0, value=1)
    assert [t["number"] for t in api.ask(study, client_id="w")] == [1]


def test_without_a_client_id_every_ask_is_new(api: Api) -> None:
    """Trials handed out to nobody in particular are not handed out again while their lease lasts."""
    study = api.study()
    assert [api.ask(study)[0]["number"] for _ in range(3)] == [0, 1, 2]


def test_an_expired_trial_is_handed_out_again_before_new_points(api: Api) -> None:
    """It goes to whoever asks next, with a new lease, and nothing is computed for it."""
    study = api.study()
    first = api.ask(study, count=3, client_id="gone")
    _expire(api, study, 1, 2)
    asked = api.post(f"{study}/ask", json={"count": 2, "client_id": "new"}).json()
    assert [t["number"] for t in asked["trials"]] == [1, 2]
    assert [t["parameters"] for t in asked["trials"]] == [t["parameters"] for t in first[1:]]
    assert {t["client_id"] for t in asked["trials"]} == {"new"}
    assert asked["diagnostics"] == {"redelivered": 2}
    assert [t["number"] for t in api.ask(study, count=2)] == [3, 4]


def test_expired_and_new_trials_come_in_one_answer(api: Api) -> None:
    """Where too few have expired, new points make up the count, conditioned on all that run."""
    study = api.study()
    api.ask(study, count=2)
    _expire(api, study, 0)
    assert [t["number"] for t in api.ask(study, count=3)] == [0, 2, 3]


def test_a_late_tell_counts_if_nobody_else_told(api: Api) -> None:
    """After its lease a client may still tell; the one it was handed to since may then not tell otherwise."""
    study = api.study()
    api.ask(study, client_id="slow")
    _expire(api, study, 0)
    assert api.ask(study, client_id="second")[0]["number"] == 0
    assert api.tell(study, trial=0, value=1.0)["trials"][0]["state"] == "completed"
    assert api.post(f"{study}/tell", json={"trial": 0, "value": 2.0}).json()["code"] == "trial_finished"
    assert api.ask(study, client_id="second")[0]["number"] == 1


def test_fixed_values_hold_for_one_ask(api: Api) -> None:
    """Every new point has them, and only running trials that agree with them are handed out again."""
    study = api.study()
    api.ask(study, count=2, fixed={"kind": "a"})  # left free, one of them might agree by chance
    for trial in api.ask(study, count=4, fixed={"kind": "c", "n": 7}):
        assert (trial["parameters"]["kind"], trial["parameters"]["n"]) == ("c", 7)
    _expire(api, study, 0, 1, 2)
    assert [t["number"] for t in api.ask(study, count=2, fixed={"kind": "c", "n": 7})] == [2, 6]


def test_an_exhausted_space_is_said_so(api: Api) -> None:
    """When every point is running there is nothing new to hand out, until a lease expires."""
    study = api.study(parameters=[{"name": "k", "type": "categorical", "values": ["a", "b", "c"]}])
    assert len({t["parameters"]["k"] for t in api.ask(study, count=3)}) == 3
    answer = api.post(f"{study}/ask")
    assert (answer.status_code, answer.json()["code"]) == (409, "space_exhausted")
    _expire(api, study, 1)
    assert [t["number"] for t in api.ask(study, count=2)] == [1]


def test_an_abandoned_point_is_not_proposed_again(api: Api) -> None:
    """Of three points one is abandoned and one fails: the failed one may come again, the abandoned one not."""
    study = api.study(parameters=[{"name": "k", "type": "categorical", "values": ["a", "b", "c"]}])
    first = api.ask(study, count=3)
    api.tell(study, trial=0, state="abandoned")
    api.tell(study, trial=1, state="failed")
    [again] = api.ask(study)
    assert again["parameters"] == first[1]["parameters"]


def test_the_same_seed_and_history_give_the_same_proposal(sqlite_url: str) -> None:
    """Two studies with one seed, told the same, ask for the same points, whatever order the tells came in."""
    with running_app(sqlite_url) as api:
        studies = [api.study(algorithm={"seed": 5, "initial_trials": 4}) for _ in range(2)]
        for study, order in zip(studies, ([0, 1, 2, 3], [3, 1, 0, 2]), strict=True):
            points = api.ask(study, count=4)
            for number in order:
                api.tell(study, trial=number, value=points[number]["parameters"]["x"] ** 2)
        rounds = [[api.ask(study, count=2) for _ in range(2)] for study in studies]
        shown = [[[t["parameters"] for t in asked] for asked in study] for study in rounds]
    assert shown[0] == shown[1]


class Overtaking(InlineCompute):
    """While an ask computes, another one is always faster."""

    def __init__(self, rivals: int) -> None:
        self.api: Api | None = None
        self.study = ""
        self.rivals = rivals
        self.pending: list[int] = []

    def ask(self, job: AskJob) -> AskResult:
        self.pending.append(len(job.pending))
        if self.rivals and self.api is not None:
            self.rivals -= 1
            study, rival = self.study, self.api
            with running_app(rival.settings.database_url) as replica:
                replica.ask(study)
        return super().ask(job)


def test_an_overtaken_ask_goes_again_knowing_the_new_points(backend: str, database_url: str) -> None:
    """Points that another replica handed out meanwhile are pending in the next attempt, and all are distinct."""
    compute = Overtaking(rivals=2)
    with running_app(database_url, compute=compute) as api:
        compute.study = study = api.study()
        compute.api = api
        [trial] = api.ask(study)
        assert compute.pending == [0, 1, 2]
        assert trial["number"] == 2
        assert len({str(t["parameters"]) for t in api.get(f"{study}/trials").json()["trials"]}) == 3


def test_an_ask_that_is_always_overtaken_falls_back(sqlite_url: str) -> None:
    """It gets a random point, labelled so, rather than none."""
    compute = Overtaking(rivals=100)
    with running_app(sqlite_url, compute=compute) as api:
        compute.study = study = api.study()
        compute.api = api
        asked = api.post(f"{study}/ask").json()
        assert asked["trials"][0]["origin"] == "random"
        assert asked["diagnostics"]["fallback"]["reason"] == "overtaken"
        numbers = [t["number"] for t in api.get(f"{study}/trials").json()["trials"]]
        assert numbers == list(range(6))


class ToldMeanwhile(InlineCompute):
    """While an ask computes, a result is told."""

    api: Api | None = None
    study = ""
    asks = 0

    def ask(self, job: AskJob) -> AskResult:
        self.asks += 1
        if self.api is not None and self.asks == 2:
            self.api.tell(self.study, trial=0, value=1.0)
        return super().ask(job)


def test_a_tell_meanwhile_does_not_invalidate_an_ask(backend: str, database_url: str) -> None:
    """The ask is stored as computed, and the result is not lost."""
    compute = ToldMeanwhile()
    with running_app(database_url, compute=compute) as api:
        compute.study, compute.api = api.study(), api
        api.ask(compute.study)
        assert api.ask(compute.study)[0]["number"] == 1
        assert compute.asks == 2
        assert api.get(compute.study).json()["trial_counts"] == {
            "running": 1,
            "completed": 1,
            "failed": 0,
            "abandoned": 0,
        }


def test_a_state_of_an_unknown_version_is_replaced(sqlite_url: str) -> None:
    """What another version left behind does not stop a study: the chain starts anew."""
    with running_app(sqlite_url) as api:
        study = api.study(algorithm={"seed": 1, "initial_trials": 2})
        for trial in api.ask(study, count=2):
            api.tell(study, trial=trial["number"], value=trial["number"])
        api.ask(study)
        database = Database(sqlite_url)
        with database.write() as tx:
            tx.execute(sa.update(model_states).values(state={"version": 10**6}))
        database.close()
        assert api.get(f"{study}/decomposition").status_code == 200
        assert api.post(f"{study}/predict", json={"points": [{"x": 0, "n": 1, "kind": "a"}]}).status_code == 200
        assert api.ask(study)[0]["origin"] == "dumbo"


def test_limits_of_an_ask_are_settings(sqlite_url: str) -> None:
    """Too many trials at once and too long a lease are refused with the limit named."""
    with running_app(sqlite_url, max_count=3, max_lease_seconds=60, lease_seconds=10) as api:
        study = api.study(parameters=SPACE[:1])
        for body, field, limit in (({"count": 4}, "count", "3"), ({"lease_seconds": 61}, "lease_seconds", "60")):
            error = api.post(f"{study}/ask", json=body)
            assert error.status_code == 422
            assert error.json()["errors"][0]["loc"] == ["body", field]
            assert limit in error.json()["errors"][0]["msg"]
        [trial] = api.ask(study)
        assert _when(trial["lease_expires_at"]) - _when(trial["asked_at"]) == timedelta(seconds=10)
