"""What test workers run in place of the core: a job's `problem["act"]` says what happens to its worker."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from core import InvalidPoint, NumericalError
from service.compute.jobs import AskJob, AskResult

LINE: dict[str, Any] = {
    "direction": "maximize",
    "parameters": [{"name": "x", "type": "float", "bounds": [0.0, 1.0]}],
}


def act(job: AskJob, seconds: float) -> AskResult:
    what = job.problem.get("act", "answer")
    if report := job.problem.get("report"):  # a named pipe: who opens it learns that the job has begun
        Path(report).write_text(f"{os.getpid()}\n")
    return ACTS[what](job, seconds)


def _answer(job: AskJob, seconds: float) -> AskResult:
    return AskResult([{"x": 0.5}], ["dumbo"], {"pid": os.getpid()}, {"seconds": seconds})


def _describe(job: AskJob, seconds: float) -> AskResult:
    import torch

    facts = {"threads": torch.get_num_threads(), "nice": os.nice(0), "omp": os.environ["OMP_NUM_THREADS"]}
    return AskResult([], [], None, facts | {"preloaded": "service.compute.preload" in sys.modules})


def _hang(job: AskJob, seconds: float) -> AskResult:
    while True:
        time.sleep(60)


def _die(job: AskJob, seconds: float) -> AskResult:
    os.kill(os.getpid(), signal.SIGKILL)
    return _hang(job, seconds)


def _die_once(job: AskJob, seconds: float) -> AskResult:
    mark = Path(job.problem["mark"])
    if mark.exists():
        return _answer(job, seconds)
    mark.touch()
    return _die(job, seconds)


def _eat(job: AskJob, seconds: float) -> AskResult:
    import numpy as np

    eaten = [np.ones(2**21) for _ in range(4096)]  # 16 MB each
    return AskResult([], [], None, {"eaten": len(eaten)})


def _eat_torch(job: AskJob, seconds: float) -> AskResult:
    import torch

    return AskResult([], [], None, {"eaten": torch.ones(2**33).numel()})


def _invalid(job: AskJob, seconds: float) -> AskResult:
    raise InvalidPoint("x: expected a number")


def _numerical(job: AskJob, seconds: float) -> AskResult:
    import torch

    raise NumericalError("not positive definite", torch.ones(2))


def _bug(job: AskJob, seconds: float) -> AskResult:
    raise ZeroDivisionError("a bug")


ACTS = {
    "answer": _answer,
    "describe": _describe,
    "hang": _hang,
    "die": _die,
    "die_once": _die_once,
    "eat": _eat,
    "eat_torch": _eat_torch,
    "invalid": _invalid,
    "numerical": _numerical,
    "bug": _bug,
}
