"""Asks of one study computed in one go: each gets what it would have got alone, and all of it is stored at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from service.compute.jobs import AskJob, AskResult
from service.errors import SpaceIsExhausted, TooManyTrials
from service.idempotency.repository import Keyed
from service.metrics import Metrics
from service.settings import Settings
from service.storage.database import Database
from service.studies.records import Problems
from service.trials.ask import ATTEMPTS, Asks
from service.trials.schemas import AskRequest
from service.trials.shares import Asking, may_share
from tests.support.app import Api, InlineCompute

MODEL: dict[str, Any] = {"seed": 3, "initial_trials": 2}
TOLD = [{"parameters": {"x": i - 2.0, "n": 1 + 9 * i, "kind": "ab"[i % 2]}, "value": i} for i in range(4)]


class Noted(InlineCompute):
    """The real core, and a note of how many points each job was for. `before` is called first."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.before: Any = lambda: None

    def ask(self, job: AskJob) -> AskResult:
        self.counts.append(job.count)
        self.before()
        return super().ask(job)


@pytest.fixture
def compute() -> Noted:
    return Noted()


@pytest.fixture
def database(api: Api) -> Iterator[Database]:
    """The shared application's database, over connections of our own."""
    database = Database(api.settings.database_url)
    yield database
    database.close()


@pytest.fixture
def asks(api: Api, database: Database, compute: Noted) -> Asks:
    return Asks(database, compute, api.settings, Problems(), Metrics())


def asking(study: str, **body: Any) -> Asking:
    return Asking("default", study.rpartition("/")[2], AskRequest.model_validate(body))


def ask(asks: Asks, study: str, *bodies: dict[str, Any]) -> list[dict[str, Any]]:
    """The one trial that each of these asks gets."""
    answers = asks.ask([asking(study, **body) for body in bodies])
    return [trial for answer in answers for trial in orjson.loads(answer.body)["trials"]]


def test_one_computation_serves_all(api: Api, asks: Asks, compute: Noted) -> None:
    """Points by the model for four clients: distinct, numbered without a gap, each with its client and lease."""
    study = api.study(algorithm=MODEL)
    api.tell(study, results=TOLD)
    bodies = [{"client_id": "a"}, {}, {"client_id": "b", "lease_seconds": 60}, {}]
    trials = ask(asks, study, *bodies)
    assert compute.counts == [4]
    assert [t["number"] for t in trials] == [4, 5, 6, 7]
    assert [t["client_id"] for t in trials] == ["a", None, "b", None]
    assert len({str(t["parameters"]) for t in trials}) == 4
    assert {t["origin"] for t in trials} == {"dumbo"}
    assert trials[2]["lease_expires_at"] < trials[0]["lease_expires_at"]
    assert trials == api.get(f"{study}/trials", params={"state": "running"}).json()["trials"]
    made = api.get(f"{study}/trials/7/diagnostics").json()
    assert (made["first_trial"], made["count"]) == (4, 4)


def test_points_are_those_of_one_ask_for_as_many(api: Api, asks: Asks) -> None:
    """Asks that share get the very points of one ask with their number as its count."""
    studies = [api.study(algorithm=MODEL) for _ in range(2)]
    for study in studies:
        api.tell(study, results=TOLD)
    together = ask(asks, studies[0], {}, {}, {})
    assert [t["parameters"] for t in together] == [t["parameters"] for t in api.ask(studies[1], count=3)]


def test_held_and_expired_trials_come_first(api: Api, asks: Asks, compute: Noted) -> None:
    """One client gets its own trial again, one the trial whose lease is over, and only the third a new point."""
    study = api.study()
    api.ask(study, client_id="held")
    api.ask(study, client_id="gone", lease_seconds=1e-6)
    bodies = [{"client_id": "new"}, {"client_id": "held"}, {"client_id": "late"}]
    trials = ask(asks, study, *bodies)
    assert [(t["number"], t["client_id"]) for t in trials] == [(1, "new"), (0, "held"), (2, "late")]
    assert compute.counts == [1]
    assert [t["client_id"] for t in api.get(f"{study}/trials").json()["trials"]] == ["held", "new", "late"]


def test_fixed_values_hold_for_all(api: Api, asks: Asks) -> None:
    """Asks that share fix the same values, and every point has them."""
    study = api.study()
    assert {t["parameters"]["kind"] for t in ask(asks, study, *[{"fixed": {"kind": "b"}}] * 3)} == {"b"}


def test_all_go_again_when_another_ask_was_faster(api: Api, asks: Asks, compute: Noted) -> None:
    """The shared points are dropped and computed anew; if that happens every time, they are random and say so."""
    study = api.study()
    compute.before = lambda: api.ask(study) if len(compute.counts) == 1 else None
    assert [t["number"] for t in ask(asks, study, {}, {})] == [1, 2]
    compute.before = lambda: api.ask(study)
    assert [t["origin"] for t in ask(asks, study, {}, {})] == ["random", "random"]
    assert compute.counts == [2] * (2 + ATTEMPTS)


def test_too_little_for_all_is_left_to_be_asked_one_by_one(api: Api, database: Database) -> None:
    """A study with room for one more trial, and a space with one point left: asks that share get an error, not less."""
    full = Asks(database, Noted(), Settings(max_trials=1), Problems(), Metrics())
    study = api.study()
    with pytest.raises(TooManyTrials):
        full.ask([asking(study), asking(study)])
    roomy = Asks(database, Noted(), api.settings, Problems(), Metrics())
    small = api.study(parameters=[{"name": "k", "type": "categorical", "values": ["a", "b"]}])
    api.ask(small)
    with pytest.raises(SpaceIsExhausted):
        roomy.ask([asking(small), asking(small)])
    assert api.get(small).json()["trial_counts"]["running"] == 1


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        ({}, {}, True),
        ({"client_id": "a"}, {"client_id": "b", "lease_seconds": 5}, True),
        ({"client_id": "a"}, {"client_id": "a"}, False),
        ({"count": 2}, {}, False),
        ({}, {"count": 2}, False),
        ({"fixed": {"n": 1}}, {"fixed": {"n": 1}}, True),
        ({"fixed": {"n": 1}}, {}, False),
        ({"fixed": {"n": 1}}, {"fixed": {"n": True}}, False),
    ],
)
def test_which_asks_may_share(one: dict[str, Any], other: dict[str, Any], may: bool) -> None:
    """Those for one trial each, by different clients, with the same values fixed."""
    assert may_share([asking("s", **one)], asking("s", **other)) is may


def test_an_ask_with_a_key_shares_with_nobody() -> None:
    """Its answer is stored with its work, under its own key."""
    keyed = Asking("default", "s", AskRequest(), Keyed("default", "k", "0"))
    assert not may_share([asking("s")], keyed)
    assert not may_share([keyed], asking("s"))
