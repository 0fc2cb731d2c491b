"""Results of several requests in one transaction: each is taken or refused as if it had come alone."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from service.answers import Answer
from service.errors import ServiceError, TrialFinished, TrialNotFound
from service.storage.database import Database
from service.studies.records import Problems
from service.studies.repository import StudyRepository
from service.trials.schemas import Result
from service.trials.tell import Telling, Tells
from tests.support.app import Api

POINT = {"x": 0.25, "n": 7, "kind": "b"}


@pytest.fixture
def database(api: Api) -> Iterator[Database]:
    """The shared application's database, over connections of our own."""
    database = Database(api.settings.database_url)
    yield database
    database.close()


@pytest.fixture
def tells(api: Api, database: Database) -> Tells:
    return Tells(database, api.settings, Problems())


def one(ref: str, **result: object) -> Telling:
    """A request of one result; `ref` may be a study's path."""
    return Telling("default", ref.rpartition("/")[2], [Result.model_validate(result)], None, single=True)


def body(outcome: Answer | ServiceError | None) -> dict[str, dict[str, object]]:
    assert isinstance(outcome, Answer)
    told = orjson.loads(outcome.body)
    return {"trial": told["trials"][0], "best": told["best"]}


def test_each_answer_is_of_its_moment(api: Api, tells: Tells) -> None:
    """Best follows the order of the requests, and every one of them is a revision."""
    study = api.study()
    api.ask(study, count=3)
    revision = api.get(study).json()["revision"]
    outcomes = tells.together([one(study, trial=n, value=v) for n, v in [(2, 5.0), (0, 3.0), (1, 4.0)]])
    assert [body(o)["trial"]["number"] for o in outcomes] == [2, 0, 1]
    assert [body(o)["best"]["number"] for o in outcomes] == [2, 0, 0]
    shown = api.get(study).json()
    assert (shown["best"]["value"], shown["revision"]) == (3.0, revision + 3)
    assert shown["trial_counts"] == {"running": 0, "completed": 3, "failed": 0, "abandoned": 0}


def test_refusals_are_of_their_own_request_only(api: Api, tells: Tells) -> None:
    """Of one trial's results the first wins, an equal one is taken again, an unknown trial is refused; others count."""
    study = api.study()
    api.ask(study, count=2)
    requests = [(0, 1.0), (0, 2.0), (0, 1.0), (7, 1.0), (1, 9.0)]
    first, other, again, unknown, last = tells.together([one(study, trial=n, value=v) for n, v in requests])
    assert body(first) == body(again)
    assert isinstance(other, TrialFinished)
    assert isinstance(unknown, TrialNotFound)
    assert body(last)["trial"] == api.get(f"{study}/trials/1").json()
    assert api.get(study).json()["trial_counts"] == {"running": 0, "completed": 2, "failed": 0, "abandoned": 0}


def test_studies_by_id_and_by_name_share_a_transaction(api: Api, tells: Tells) -> None:
    """Two names of one study are one study: new points get numbers without a gap, beside those of another."""
    study, other = api.study(), api.study()
    name = api.get(study).json()["name"]
    outcomes = tells.together([one(ref, parameters=POINT, value=1) for ref in (study, name, other, study)])
    assert [body(o)["trial"]["number"] for o in outcomes] == [0, 1, 0, 2]
    assert [t["number"] for t in api.get(f"{study}/trials").json()["trials"]] == [0, 1, 2]
    assert api.get(other).json()["trial_counts"]["completed"] == 1


def test_an_unknown_study_is_left_to_be_told_alone(tells: Tells) -> None:
    """The batch does not decide on it, and the request by itself is refused."""
    assert tells.together([one("nowhere", trial=0, value=1)]) == [None]


@pytest.mark.parametrize("backend", ["postgres"])
def test_a_study_that_is_held_holds_up_no_other(api: Api, tells: Tells, database: Database) -> None:
    """Somebody else's transaction has one study's row: the results of the other one are stored meanwhile."""
    held, free = api.study(), api.study()
    with database.write() as tx:
        StudyRepository(tx).lock("default", held.rpartition("/")[2])
        left, taken = tells.together([one(ref, parameters=POINT, value=1) for ref in (held, free)])
        assert api.get(free).json()["trial_counts"]["completed"] == 1
    assert left is None
    assert body(taken)["trial"]["number"] == 0
