"""Idempotency-Key: one key, one result, however often and wherever it is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import sqlalchemy as sa

from service.idempotency.service import forget_old
from service.storage.database import Database
from service.storage.tables import idempotency_keys
from tests.support.app import SPACE, Api, InlineCompute, running_app

POINT = {"x": 0.5, "n": 3, "kind": "a"}


@pytest.fixture
def replicas(database_url: str) -> Iterator[list[Api]]:
    """Two applications on one database."""
    with ExitStack() as stack:
        yield [stack.enter_context(running_app(database_url)) for _ in range(2)]


def _key(value: str) -> dict[str, str]:
    return {"idempotency-key": value}


def test_every_post_is_replayed(replicas: list[Api]) -> None:
    """The stored answer comes back byte for byte, also from another replica, and nothing more is done."""
    one, other = replicas
    spec = {"name": "once", "direction": "minimize", "parameters": SPACE}
    created = one.post("/v1/studies", json=spec, headers=_key("create"))
    study = created.headers["location"]
    posts = [
        ("/v1/studies", spec, "create"),
        (f"{study}/ask", {"count": 2}, "ask"),
        (f"{study}/tell", {"parameters": POINT, "value": 1}, "tell"),
        (f"{study}/predict", {"points": [POINT]}, "predict"),
    ]
    for path, body, key in posts:
        first = one.post(path, json=body, headers=_key(key))
        before = one.dump()
        again = other.post(path, json=body, headers=_key(key))
        assert (again.status_code, again.content) == (first.status_code, first.content), path
        assert again.headers.get("location") == first.headers.get("location")
        assert one.dump() == before
    assert one.get(study).json()["trial_counts"]["running"] == 2


def test_the_same_key_with_another_request_is_409(api: Api) -> None:
    """Another body or another path under a used key is refused; key order and blanks are no difference."""
    study = api.study()
    api.post(f"{study}/ask", json={"count": 1, "client_id": "a"}, headers=_key(study)).raise_for_status()
    for path, body in ((f"{study}/ask", {"count": 2}), (f"{study}/tell", {"parameters": POINT, "value": 1})):
        answer = api.post(path, json=body, headers=_key(study))
        assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_key_reused")
    same = b'{ "client_id": "a", "count": 1 }'
    headers = _key(study) | {"content-type": "application/json"}
    assert api.post(f"{study}/ask", content=same, headers=headers).status_code == 200


def test_failures_are_not_stored(api: Api) -> None:
    """What was refused may be tried again under the same key, corrected."""
    study = api.study()
    key = _key(f"{study} tell")
    assert api.post(f"{study}/tell", json={"trial": 0, "value": 1}, headers=key).status_code == 404
    assert api.post(f"{study}/tell", json={"trial": "0", "value": 1}, headers=key).status_code == 422
    api.ask(study)
    assert api.post(f"{study}/tell", json={"trial": 0, "value": 1}, headers=key).status_code == 200


def test_a_replay_comes_before_the_state_of_the_study(api: Api) -> None:
    """An ask that succeeded is replayed though the study is stopped by now."""
    study = api.study()
    first = api.post(f"{study}/ask", headers=_key(f"{study} a"))
    api.patch(study, json={"state": "stopped"})
    assert api.post(f"{study}/ask", headers=_key(f"{study} a")).content == first.content


@pytest.mark.parametrize("key", ["", "k" * 256, "a\tb", "ä".encode("latin-1")])
def test_a_key_that_is_none_is_refused(sqlite_api: Api, key: str | bytes) -> None:
    """A key is 1 to 255 printable ASCII characters."""
    study = sqlite_api.study()
    answer = sqlite_api.post(
        f"{study}/ask", headers=[(b"idempotency-key", key if isinstance(key, bytes) else key.encode())]
    )
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == ["header", "Idempotency-Key"]


def test_identical_concurrent_asks_give_one_set_of_trials(replicas: list[Api]) -> None:
    """Twelve at once, over two replicas, all get the same two trials."""
    study = replicas[0].study()
    start = threading.Barrier(12)

    def ask(i: int) -> bytes:
        start.wait()
        return replicas[i % 2].post(f"{study}/ask", json={"count": 2}, headers=_key("one")).content

    with ThreadPoolExecutor(12) as threads:
        answers = set(threads.map(ask, range(12)))
    assert len(answers) == 1
    assert [t["number"] for t in replicas[0].get(f"{study}/trials").json()["trials"]] == [0, 1]


def test_identical_concurrent_tells_and_creations_give_one(replicas: list[Api]) -> None:
    """Neither a point never asked for nor a study is made twice."""
    study = replicas[0].study()
    start = threading.Barrier(8)

    def post(i: int) -> tuple[int, bytes, int, bytes]:
        start.wait()
        api = replicas[i % 2]
        told = api.post(f"{study}/tell", json={"parameters": POINT, "value": 1}, headers=_key("tell"))
        spec = {"name": "same", "direction": "maximize", "parameters": SPACE}
        made = api.post("/v1/studies", json=spec, headers=_key("make"))
        return told.status_code, told.content, made.status_code, made.content

    with ThreadPoolExecutor(8) as threads:
        answers = set(threads.map(post, range(8)))
    assert [(told, made) for told, _, made, _ in answers] == [(200, 201)]
    assert replicas[0].get(study).json()["trial_counts"]["completed"] == 1


def test_an_ask_that_fails_leaves_the_key_free(sqlite_url: str) -> None:
    """After a crash in the middle of an ask, the same key does the work."""

    class Once(InlineCompute):
        failed = False

        def ask(self, job):  # type: ignore[no-untyped-def]
            if not self.failed:
                self.failed = True
                raise RuntimeError("crash")
            return super().ask(job)

    with running_app(sqlite_url, compute=Once()) as api:
        study = api.study()
        assert api.post(f"{study}/ask", headers=_key("k")).status_code == 500
        assert api.post(f"{study}/ask", headers=_key("k")).json()["trials"][0]["number"] == 0


def test_old_answers_are_forgotten(api: Api) -> None:
    """What is older than promised is dropped, the rest is kept."""
    study = api.study()
    database = Database(api.settings.database_url)
    for key in ("old", "young"):
        api.post(f"{study}/ask", headers=_key(f"{study} {key}")).raise_for_status()
    with database.write() as tx:
        age = sa.update(idempotency_keys).where(idempotency_keys.c.key == f"{study} old")
        created = tx.execute(sa.select(sa.func.min(idempotency_keys.c.created_at))).scalar_one()
        tx.execute(age.values(created_at=created.replace(year=2020)))
    assert forget_old(database, hours=24) == 1
    with database.read() as tx:
        kept = set(tx.execute(sa.select(idempotency_keys.c.key)).scalars())
    database.close()
    assert f"{study} young" in kept
    assert f"{study} old" not in kept
