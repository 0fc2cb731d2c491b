"""Many clients at once, one and two replicas, threads and real worker processes: nothing lost, doubled or skipped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from service.compute.engine import WorkerCompute
from service.compute.jobs import AskJob, AskResult
from tests.support.app import Api, InlineCompute, running_app
from tests.support.server import Server


@pytest.fixture
def replicas(database_url: str) -> Iterator[list[Api]]:
    """Two applications on one database."""
    with ExitStack() as stack:
        yield [stack.enter_context(running_app(database_url)) for _ in range(2)]


def _at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Do the work `count` times at the same moment."""
    start = threading.Barrier(count)

    def run(i: int) -> Any:
        start.wait()
        return work(i)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


def _all_trials(api: Api, study: str) -> list[dict[str, Any]]:
    trials: list[dict[str, Any]] = api.get(f"{study}/trials", params={"limit": 1000}).json()["trials"]
    return trials


def test_concurrent_asks_give_distinct_points(replicas: list[Api]) -> None:
    """Ten asks over two replicas: ten points, ten numbers, no gap; the chain of the model survives."""
    study = replicas[0].study(algorithm={"seed": 2, "initial_trials": 3})
    points = [{"x": i - 2.0, "n": 1 + 20 * i, "kind": "abc"[i % 3]} for i in range(4)]
    replicas[0].tell(study, results=[{"parameters": p, "value": p["x"] ** 2} for p in points])
    handed = _at_once(10, lambda i: replicas[i % 2].ask(study)[0])
    assert sorted(t["number"] for t in handed) == list(range(4, 14))
    assert len({str(t["parameters"]) for t in handed}) == 10
    history = replicas[0].get(f"{study}/decomposition/history").json()["history"]
    asked = [t["number"] for t in _all_trials(replicas[0], study) if t["origin"] == "dumbo"]
    made = [replicas[0].get(f"{study}/trials/{number}/diagnostics").json()["first_trial"] for number in asked]
    assert [entry["trial"] for entry in history] == sorted(set(made), reverse=True)
    assert asked


def test_asks_and_tells_at_once_leave_no_gap(replicas: list[Api]) -> None:
    """Eight clients ask and tell, four more tell points of their own: counts, numbers and best all agree."""
    study = replicas[0].study(algorithm={"seed": 2, "initial_trials": 100})

    def client(i: int) -> None:
        api = replicas[i % 2]
        for round_ in range(4):
            if i < 8:
                [trial] = api.ask(study, client_id=f"client {i}")
                api.tell(study, trial=trial["number"], value=float(i + 10 * round_))
            else:
                api.tell(study, parameters={"x": round_, "n": i, "kind": "a"}, value=float(100 * i))

    _at_once(12, client)
    trials = _all_trials(replicas[0], study)
    assert [t["number"] for t in trials] == list(range(48))
    assert {t["state"] for t in trials} == {"completed"}
    shown = replicas[1].get(study).json()
    assert shown["trial_counts"] == {"running": 0, "completed": 48, "failed": 0, "abandoned": 0}
    assert shown["best"]["value"] == min(t["value"] for t in trials) == 0.0


def test_of_concurrent_results_for_one_trial_one_wins(replicas: list[Api]) -> None:
    """Eight different results: one is taken, seven are refused, and the trial keeps the one."""
    study = replicas[0].study()
    replicas[0].ask(study)
    answers = _at_once(8, lambda i: replicas[i % 2].post(f"{study}/tell", json={"trial": 0, "value": i}))
    taken = [a.json()["trials"][0]["value"] for a in answers if a.status_code == 200]
    assert len(taken) == 1
    assert all(a.json()["code"] == "trial_finished" for a in answers if a.status_code != 200)
    assert replicas[0].get(f"{study}/trials/0").json()["value"] == taken[0]


def test_one_client_asking_twice_at_once_gets_the_same_trial(replicas: list[Api]) -> None:
    """Whoever holds a running trial gets it back, also when both asks come together."""
    study = replicas[0].study()
    replicas[0].ask(study, client_id="w")
    handed = _at_once(6, lambda i: replicas[i % 2].ask(study, client_id="w")[0]["number"])
    assert handed == [0] * 6


class Gate(InlineCompute):
    """Asks that compute until they are let go."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.go = threading.Event()

    def ask(self, job: AskJob) -> AskResult:
        self.begun.release()
        assert self.go.wait(60)
        return super().ask(job)


def test_tells_and_reads_go_on_while_many_asks_compute(database_url: str) -> None:
    """Sixty-four asks wait for the model; none of the threads that serve everything else is theirs."""
    gate = Gate()
    with running_app(database_url, compute=gate) as api, ThreadPoolExecutor(64) as threads:
        studies = [api.study() for _ in range(64)]
        api.tell(studies[0], parameters={"x": 0, "n": 1, "kind": "a"}, value=1)
        asks = [threads.submit(api.ask, study) for study in studies]
        for _ in studies:
            assert gate.begun.acquire(timeout=60)
        for i in range(10):
            api.tell(studies[0], parameters={"x": 0, "n": 1, "kind": "a"}, value=i)
            assert api.get(studies[0]).status_code == 200
        assert not any(ask.done() for ask in asks)
        gate.go.set()
        assert all(ask.result()[0]["state"] == "running" for ask in asks)


def test_more_asks_than_may_wait_are_503(sqlite_url: str) -> None:
    """Beyond the queue's size an ask is told to come back, and the waiting ones are served."""
    gate = Gate()
    with running_app(sqlite_url, compute=gate, queue_size=2) as api, ThreadPoolExecutor(3) as threads:
        studies = [api.study() for _ in range(4)]
        asks = [threads.submit(api.ask, study) for study in studies[:3]]
        for _ in asks:
            assert gate.begun.acquire(timeout=60)
        answer = api.post(f"{studies[3]}/ask")
        assert answer.status_code == 503
        assert answer.json()["code"] == "overloaded"
        assert int(answer.headers["retry-after"]) >= 1
        gate.go.set()
        assert all(ask.result()[0]["number"] == 0 for ask in asks)


def test_an_ask_does_not_wait_for_its_turn_for_ever(sqlite_url: str) -> None:
    """Asks of one study take turns; one whose turn does not come is 503, not a hanging connection."""
    gate = Gate()
    with running_app(sqlite_url, compute=gate, ask_wait=0.2) as api, ThreadPoolExecutor(1) as threads:
        study = api.study()
        first = threads.submit(api.ask, study)
        assert gate.begun.acquire(timeout=60)
        assert api.post(f"{study}/ask").status_code == 503
        gate.go.set()
        assert first.result()[0]["number"] == 0


@pytest.mark.parametrize("backend", ["postgres"])
def test_proposals_are_the_same_in_workers_and_on_any_replica(database_url: str) -> None:
    """One study is asked through worker processes, an equal one inline and on another replica: the same points."""
    told = [{"parameters": {"x": i - 2.0, "n": 1 + 9 * i, "kind": "ab"[i % 2]}, "value": i} for i in range(5)]
    compute = WorkerCompute(workers=2, queue_size=8, deadline=120)
    rounds: list[list[dict[str, Any]]] = []
    try:
        with running_app(database_url, compute=compute) as pool, running_app(database_url) as inline:
            for replicas in ([pool, pool, pool], [inline, pool, inline]):
                study = pool.study(algorithm={"seed": 4, "initial_trials": 3})
                pool.tell(study, results=told)
                rounds.append([api.ask(study)[0]["parameters"] for api in replicas])
    finally:
        compute.close()
    assert rounds[0] == rounds[1]


def test_a_killed_server_loses_no_answer(start_server: Callable[..., Server], sqlite_url: str) -> None:
    """After kill -9, a new server has every trial that was answered, and goes on with the same proposals."""
    spec = {
        "direction": "minimize",
        "parameters": [{"name": "x", "type": "float", "bounds": [-5, 5]}],
        "algorithm": {"seed": 1, "initial_trials": 3},
    }

    def step(url: str, study: str) -> dict[str, Any]:
        [trial] = httpx.post(f"{url}/v1/studies/{study}/ask", timeout=60).json()["trials"]
        value = (trial["parameters"]["x"] - 1) ** 2
        body = {"trial": trial["number"], "value": value}
        [told] = httpx.post(f"{url}/v1/studies/{study}/tell", json=body, timeout=60).json()["trials"]
        return dict(told)

    server = start_server(sqlite_url)
    for name in ("steady", "killed"):
        httpx.post(f"{server.url}/v1/studies", json=spec | {"name": name}, timeout=60).raise_for_status()
    steady = [step(server.url, "steady") for _ in range(6)]
    killed = [step(server.url, "killed") for _ in range(4)]
    server.stop(signal.SIGKILL)
    restarted = start_server(sqlite_url)
    stored = httpx.get(f"{restarted.url}/v1/studies/killed/trials", timeout=60).json()["trials"]
    assert stored == killed
    killed += [step(restarted.url, "killed") for _ in range(2)]
    assert [t["parameters"] for t in killed] == [t["parameters"] for t in steady]
    assert {t["origin"] for t in killed[4:]} == {"dumbo"}
