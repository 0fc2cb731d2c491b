"""Many runs at once: a process each, one thread per process, with a line of progress and the time left."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing.queues import Queue
from typing import TextIO, TypeVar

from benchmarks.arena.run import Task

Key = tuple[str, str, int]
Result = TypeVar("Result")
Work = Callable[[Task, Callable[[int], None]], Result]  # does a task, and says how many evaluations are done

# Set before the workers load numpy, torch or jax: each of those asks only once.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}

_messages: Queue[tuple[Key, int]] | None = None  # in a worker: where it reports to


def _start_worker(messages: Queue[tuple[Key, int]]) -> None:
    global _messages
    _messages = messages
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop ...
    threading.Thread(target=_end_with_parent, daemon=True).start()  # ... also when it was killed


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _do(work: Work[Result], task: Task) -> Result:
    assert _messages is not None
    messages = _messages
    return work(task, lambda n_done: messages.put((task.key, n_done)))


class Progress:
    """Counts evaluations and estimates the time left from what each algorithm took on each problem so far."""

    def __init__(self, tasks: Sequence[Task], n_jobs: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.tasks = {task.key: task for task in tasks}
        self.done = dict.fromkeys(self.tasks, 0)
        self.n_jobs = n_jobs
        self.clock = clock
        self.started = clock()
        self.first_seen: dict[Key, float] = {}
        self.rates: dict[Key, float] = {}  # seconds per evaluation

    def update(self, key: Key, n_done: int) -> None:
        self.done[key] = n_done
        start = self.first_seen.setdefault(key, self.clock())
        if n_done > 1:
            self.rates[key] = (self.clock() - start) / (n_done - 1)

    def seconds_left(self) -> float | None:
        """None until something is known."""
        if not self.rates:
            return None
        by_pair, by_algorithm = defaultdict(list), defaultdict(list)
        for (problem, algorithm, _), rate in self.rates.items():
            by_pair[problem, algorithm].append(rate)
            by_algorithm[algorithm].append(rate)
        left = []
        for key, task in self.tasks.items():
            known = by_pair[key[:2]] or by_algorithm[key[1]] or list(self.rates.values())
            left.append((task.budget - self.done[key]) * sum(known) / len(known))
        return max(sum(left) / self.n_jobs, max(left))

    def line(self) -> str:
        finished = sum(self.done[key] >= task.budget for key, task in self.tasks.items())
        evaluations, total = sum(self.done.values()), sum(task.budget for task in self.tasks.values())
        width = 24
        filled = round(width * evaluations / max(1, total))
        left = self.seconds_left()
        return (
            f"[{'#' * filled}{'.' * (width - filled)}] {evaluations}/{total} evaluations, "
            f"{finished}/{len(self.tasks)} runs, {_duration(self.clock() - self.started)} so far, "
            f"{'about ' + _duration(left) if left is not None else 'unknown time'} left"
        )


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def run_all(
    work: Work[Result],
    tasks: Sequence[Task],
    n_jobs: int,
    finished: Callable[[Result], None],
    out: TextIO | None = None,
) -> list[tuple[Task, str]]:
    """Do the tasks, hand on what comes of each when it ends, and return those that failed, with tracebacks."""
    os.environ.update(ONE_THREAD)
    context = multiprocessing.get_context("spawn")
    messages: Queue[tuple[Key, int]] = context.Queue()
    progress = Progress(tasks, n_jobs)
    executor = ProcessPoolExecutor(n_jobs, context, initializer=_start_worker, initargs=(messages,))
    try:
        futures = {executor.submit(_do, work, task): task for task in tasks}
        return _collect(futures, messages, progress, finished, out or sys.stderr)
    except KeyboardInterrupt:
        for worker in multiprocessing.active_children():
            worker.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        messages.close()


def _collect(
    futures: dict[Future[Result], Task],
    messages: Queue[tuple[Key, int]],
    progress: Progress,
    finished: Callable[[Result], None],
    out: TextIO,
) -> list[tuple[Task, str]]:
    failures: list[tuple[Task, str]] = []
    pending = set(futures)
    period = 0.5 if out.isatty() else 30.0
    last_line = -period
    while pending:
        done, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
        _drain(messages, progress)
        for future in done:
            task = futures[future]
            if error := future.exception():
                failures.append((task, "".join(traceback.format_exception(error))))
                progress.tasks.pop(task.key)
                progress.done.pop(task.key)
            else:
                finished(future.result())
                progress.update(task.key, task.budget)
        if time.monotonic() - last_line >= period or not pending:
            last_line = time.monotonic()
            out.write(f"\r\x1b[K{progress.line()}" if out.isatty() else f"{progress.line()}\n")
            out.flush()
    if out.isatty():
        out.write("\n")
    return failures


def _drain(messages: Queue[tuple[Key, int]], progress: Progress) -> None:
    while True:
        try:
            key, n_done = messages.get_nowait()
        except queue.Empty:
            return
        if key in progress.tasks:
            progress.update(key, n_done)
