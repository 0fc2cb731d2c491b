"""A worker process: takes a job from its pipe, answers it, and keeps nothing between jobs.

It is polite (nice 10), limited in memory, deaf to Ctrl-C (its parent decides when it ends), and gone as soon
as its parent is, even in the middle of a job. After an error that it does not understand it ends as well, and
the pool starts another.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from multiprocessing.connection import Connection, wait
from typing import Any, Literal

from core import CoreError, NumericalError, Observation, Problem
from service.compute.jobs import JSON, AskJob, AskResult, PredictJob

Run = Callable[[Any, float], Any]  # what a worker does with (job, seconds)

NICENESS = 10
WARMUP_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """What came of a job: a result, an error of the core, or a failure of the program with its traceback."""

    kind: Literal["ready", "result", "core_error", "out_of_memory", "failure"]
    content: Any = None


def run(job: AskJob | PredictJob, seconds: float) -> AskResult | list[JSON]:
    """Let the core work on the job, in about so many seconds."""
    problem = Problem.from_dict(job.problem)
    observations = [Observation(**observation) for observation in job.observations]
    if isinstance(job, AskJob):
        return _ask(problem, observations, job, seconds)
    return _predict(problem, observations, job)


def _ask(problem: Problem, observations: list[Observation], job: AskJob, seconds: float) -> AskResult:
    from core import propose

    proposal = propose(
        problem,
        observations,
        pending=job.pending,
        state=job.state,
        count=job.count,
        fixed=job.fixed,
        seconds=seconds,
    )
    return AskResult([*map(dict, proposal.points)], proposal.origins, proposal.state, proposal.diagnostics)


def _predict(problem: Problem, observations: list[Observation], job: PredictJob) -> list[JSON]:
    from core import predict

    predictions = [asdict(p) for p in predict(problem, observations, job.points, state=job.state)]
    for prediction in predictions:
        factors = prediction["factors"].items()
        prediction["factors"] = {name: {"mean": mean, "sd": sd} for name, (mean, sd) in factors}
    return predictions


def main(connection: Connection, target: str, memory_mb: int, warmup: Any) -> None:
    """Serve jobs until the other end of the pipe is closed. `target` is the `Run` as "module:function"."""
    _settle(memory_mb)
    module, _, function = target.partition(":")
    do: Run = getattr(import_module(module), function)
    if warmup is not None:
        _answer(do, warmup, WARMUP_SECONDS)  # only its side effects are wanted: a failure is the next job's business
    connection.send(Answer("ready"))
    while True:
        try:
            job, seconds = connection.recv()
        except EOFError:
            return
        answer = _answer(do, job, seconds)
        connection.send(answer)
        if answer.kind in ("out_of_memory", "failure"):
            return


def _settle(memory_mb: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    if memory_mb:
        # Of the limits the kernel knows, this one counts what was allocated, not mapped libraries.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_mb * 2**20, memory_mb * 2**20))
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _answer(do: Run, job: Any, seconds: float) -> Answer:
    try:
        return Answer("result", do(job, seconds))
    except NumericalError as error:
        return Answer("core_error", NumericalError(str(error)))  # without tensors: the web process has no torch
    except CoreError as error:
        return Answer("core_error", error)
    except MemoryError:
        return Answer("out_of_memory")
    except Exception as error:
        # torch reports an allocation that failed as a RuntimeError
        kind: Literal["out_of_memory", "failure"] = (
            "out_of_memory" if "can't allocate memory" in str(error) else "failure"
        )
        return Answer(kind, traceback.format_exc())
