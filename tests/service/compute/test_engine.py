"""Asks and predictions on real worker processes, with what can happen to them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from core import InvalidPoint
from service.compute.engine import WARMUP, WorkerCompute
from service.compute.fallback import fallback
from service.compute.jobs import AskJob, Closed, ComputeFailed, Overloaded, PredictJob
from tests.support.jobs import LINE
from tests.support.processes import descendants

ACT = "tests.support.jobs:act"
Make = Callable[..., WorkerCompute]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes engines whose workers act as the job says, and closes them after the test."""
    engines: list[WorkerCompute] = []

    def start(**options: Any) -> WorkerCompute:
        defaults = {"workers": 1, "queue_size": 8, "deadline": 60.0, "target": ACT, "warmup": None}
        engines.append(WorkerCompute(**(defaults | options)))
        return engines[-1]

    yield start
    for engine in engines:
        engine.close()


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A named pipe on which a job reports its process id when it begins."""
    pipe = tmp_path / "begun"
    os.mkfifo(pipe)
    return pipe


def act(what: str, **more: object) -> AskJob:
    return AskJob(LINE | {"act": what, **{name: str(value) for name, value in more.items()}})


def reason(engine: WorkerCompute, job: AskJob) -> str:
    """Why the ask fell back."""
    result = engine.ask(job)
    assert result.origins == ["random"]
    assert result.state is None
    assert 0 <= result.points[0]["x"] <= 1
    return str(result.diagnostics["fallback"]["reason"])


def wait_for_end(pid: int) -> None:
    """Until the process is gone; fails if it does not go."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended, _, _ = select.select([process], [], [], 30)
    os.close(process)
    assert ended, f"process {pid} still runs"


def test_core_answers_in_a_worker_and_not_in_the_caller() -> None:
    """The real target proposes and predicts, and the calling process never loads torch."""
    program = (
        "import sys\n"
        "from service.compute.engine import WARMUP, WorkerCompute\n"
        "from service.compute.jobs import PredictJob\n"
        "engine = WorkerCompute(workers=1, queue_size=1, deadline=60, memory_mb=4096)\n"
        "points = engine.ask(WARMUP).points\n"
        "predictions = engine.predict(PredictJob(WARMUP.problem, WARMUP.observations, points))\n"
        "assert set(predictions[0]) == {'mean', 'sd', 'scale', 'model_mean', 'factors'}, predictions\n"
        "assert all(set(f) == {'mean', 'sd'} for f in predictions[0]['factors'].values())\n"
        "assert 'torch' not in sys.modules\n"
        "engine.close()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_workers_are_polite_and_start_from_a_process_with_torch(make: Make) -> None:
    """One thread, ten steps nicer than the server (19 is the end), and forked from the preloaded process."""
    facts = make().ask(act("describe")).diagnostics
    assert facts == {"threads": 1, "nice": min(os.nice(0) + 10, 19), "omp": "1", "preloaded": True}


def test_same_job_gets_the_same_answer_from_every_worker(make: Make) -> None:
    """The answer is a function of the job, not of the worker or of what it did before."""
    one, other = make(target="service.compute.worker:run"), make(target="service.compute.worker:run")
    other.ask(AskJob(LINE | {"algorithm": {"seed": 99}}))
    first, second = one.ask(WARMUP), other.ask(WARMUP)
    assert (first.points, first.state) == (second.points, second.state)


def test_failing_warmup_does_not_keep_a_worker_from_work(make: Make) -> None:
    """What goes wrong while a worker warms up is not held against the jobs that follow."""
    assert make(warmup=act("invalid")).ask(act("answer")).origins == ["dumbo"]


def test_job_is_told_to_finish_before_the_deadline(make: Make) -> None:
    """The soft budget lies below the hard deadline."""
    assert make(deadline=8.0).ask(act("answer")).diagnostics == {"seconds": 6.0}


def test_killed_worker_is_replaced_and_its_job_tried_again(make: Make, tmp_path: Path) -> None:
    """A worker that dies once costs nothing but time."""
    engine = make()
    assert engine.ask(act("die_once", mark=tmp_path / "mark")).origins == ["dumbo"]


def test_kill_9_from_outside_in_the_middle_of_a_job(make: Make, begun: Path) -> None:
    """A worker killed twice from outside: this ask is answered by the fallback, the next by a model."""
    engine = make()
    with ThreadPoolExecutor(1) as callers:
        answer = callers.submit(reason, engine, act("hang", report=begun))
        os.kill(int(begun.read_text()), signal.SIGKILL)
        os.kill(int(begun.read_text()), signal.SIGKILL)
        assert answer.result(60) == "worker_died"
    assert engine.ask(act("answer")).origins == ["dumbo"]


def test_workers_killed_while_idle_cost_no_answer(make: Make) -> None:
    """With every idle worker dead the next ask waits for a new one."""
    engine = make(workers=2)
    engine.ask(act("answer"))
    for pid in engine.pids:
        os.kill(pid, signal.SIGKILL)
        wait_for_end(pid)
    assert engine.ask(act("answer")).origins == ["dumbo"]


def test_hanging_job_is_killed_at_the_deadline(make: Make, begun: Path) -> None:
    """The ask falls back, says why, and its worker is gone."""
    engine = make(deadline=0.5)
    with ThreadPoolExecutor(1) as callers:
        answer = callers.submit(reason, engine, act("hang", report=begun))
        pid = int(begun.read_text())
        assert answer.result(60) == "deadline"
    wait_for_end(pid)
    assert engine.ask(act("answer")).origins == ["dumbo"]


def test_stopped_worker_is_killed_even_if_the_job_does_not_fit_the_pipe(make: Make) -> None:
    """A worker that reads nothing cannot hold its caller beyond the deadline."""
    engine = make(deadline=0.5)
    engine.ask(act("answer"))
    os.kill(engine.pids[0], signal.SIGSTOP)
    large = AskJob(LINE | {"filling": "x" * 2**22})
    assert reason(engine, large) == "deadline"


@pytest.mark.parametrize("eater", ["eat", "eat_torch"])
def test_memory_eater_is_stopped(make: Make, eater: str) -> None:
    """A job beyond the memory limit falls back, whether numpy or torch asked for the memory."""
    engine = make(memory_mb=1024)
    assert reason(engine, act(eater)) == "out_of_memory"
    assert engine.ask(act("answer")).origins == ["dumbo"]


def test_errors_of_the_core_reach_the_caller(make: Make) -> None:
    """What the caller's data did wrong comes out as the core raised it, and the worker lives on."""
    engine = make()
    pid = engine.ask(act("answer")).state
    with pytest.raises(InvalidPoint, match="expected a number") as raised:
        engine.ask(act("invalid"))
    assert raised.value.faults[0].msg == "x: expected a number"
    assert engine.ask(act("answer")).state == pid


@pytest.mark.parametrize(("what", "why"), [("numerical", "numerical"), ("bug", "error"), ("die", "worker_died")])
def test_ask_falls_back_when_the_model_fails(make: Make, what: str, why: str) -> None:
    """No failure of the model loses an ask."""
    assert reason(make(), act(what)) == why


def test_prediction_has_no_fallback(make: Make) -> None:
    """A prediction that cannot be computed raises, and says so without the details of the program."""
    engine = make()
    with pytest.raises(ComputeFailed, match="died twice"):
        engine.predict(PredictJob(LINE | {"act": "die"}, [], []))
    with pytest.raises(ComputeFailed, match="log says why"):
        engine.predict(PredictJob(LINE | {"act": "bug"}, [], []))


def test_full_queue_refuses_with_a_time_to_retry(make: Make, begun: Path) -> None:
    """One job runs, as many as allowed wait, and one more is refused at once."""
    engine = make(queue_size=2)
    with ThreadPoolExecutor(3) as callers:
        running = callers.submit(engine.ask, act("hang", report=begun))
        begun.read_text()
        waiting = [callers.submit(engine.ask, act("answer")) for _ in range(2)]
        while engine.queue_length < 2:
            threading.Event().wait(0.001)
        with pytest.raises(Overloaded) as refused:
            engine.ask(act("answer"))
        assert 1 <= refused.value.retry_after <= 60
        engine.close()
        for future in (running, *waiting):
            with pytest.raises(Closed):
                future.result(60)


def test_nobody_waits_for_a_worker_longer_than_told(make: Make, begun: Path) -> None:
    """Behind a job that takes its time, a waiting ask is told to come again, and leaves the queue."""
    engine = make(patience=0.1)
    while True:  # until the worker has started, however long that takes
        with suppress(Overloaded):
            engine.ask(act("answer"))
            break
    with ThreadPoolExecutor(1) as callers:
        running = callers.submit(engine.ask, act("hang", report=begun))
        begun.read_text()
        with pytest.raises(Overloaded):
            engine.ask(act("answer"))
        assert engine.queue_length == 0
        engine.close()
        with pytest.raises(Closed):
            running.result(60)


def test_many_callers_share_few_workers(make: Make) -> None:
    """Forty concurrent callers on two workers each get their own answer."""
    engine = make(workers=2, queue_size=64, target="service.compute.worker:run")
    jobs = [AskJob(LINE | {"algorithm": {"seed": seed}}) for seed in range(40)]
    with ThreadPoolExecutor(40) as callers:
        answers = list(callers.map(engine.ask, jobs))
    again = [engine.ask(job) for job in jobs]
    assert [a.points for a in answers] == [a.points for a in again]
    assert engine.queue_length == 0


def test_close_kills_busy_workers_at_once(make: Make, begun: Path) -> None:
    """Closing ends the worker in the middle of its job, and its caller hears that the service is closing."""
    engine = make()
    with ThreadPoolExecutor(1) as callers:
        running = callers.submit(engine.ask, act("hang", report=begun))
        pid = int(begun.read_text())
        engine.close()
        with pytest.raises(Closed):
            running.result(60)
    wait_for_end(pid)
    with pytest.raises(Closed):
        engine.ask(act("answer"))


def test_no_worker_outlives_a_killed_server(begun: Path) -> None:
    """After kill -9 of the process that owns them, busy and idle workers end by themselves."""
    program = (
        "import sys, threading\n"
        "from service.compute.engine import WorkerCompute\n"
        "from tests.support.jobs import LINE\n"
        "from service.compute.jobs import AskJob\n"
        f"engine = WorkerCompute(workers=2, queue_size=1, deadline=600, target={ACT!r}, warmup=None)\n"
        f"engine.ask(AskJob(LINE | {{'act': 'hang', 'report': {str(begun)!r}}}))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as server:
        busy = int(begun.read_text())
        children = descendants(server.pid)
        server.kill()
    assert busy in children
    for pid in children:
        wait_for_end(pid)


def test_fallback_is_a_function_of_the_job() -> None:
    """The same ask falls back to the same points, and a later one to others."""
    job = AskJob(LINE, count=3)
    later = AskJob(LINE, observations=[{"parameters": {"x": 0.1}, "value": 1.0}], count=3)
    first, second = fallback(job, "deadline", ""), fallback(job, "deadline", "")
    assert first == second
    assert len({point["x"] for point in first.points}) == 3
    assert fallback(later, "deadline", "").points != first.points


def test_fallback_avoids_known_points_while_others_are_left() -> None:
    """Of four points it proposes the free one, then what may be measured again, never what is at work."""
    square = {"direction": "minimize", "parameters": [{"name": "k", "type": "int", "bounds": [1, 4]}]}
    told = [{"parameters": {"k": 1}, "value": 0.0}, {"parameters": {"k": 2}, "state": "abandoned"}]
    free = fallback(AskJob(square, told, [{"k": 3}]), "deadline", "")
    assert free.points == [{"k": 4}]
    repeated = fallback(AskJob(square, told, [{"k": 3}, {"k": 4}]), "deadline", "")
    assert repeated.points == [{"k": 1}]
