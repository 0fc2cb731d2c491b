"""A pool of worker processes: a bounded queue in front, a deadline on every job, dead workers replaced.

A caller's own thread takes a worker, sends the job and waits; there is no dispatcher between them. Workers
are forked from a server process that has torch loaded already: a new one is ready in a fraction of a second.

JobFailed
├── WorkerDied        the process ended in the middle of the job
├── DeadlineExceeded  it took too long and was killed
├── OutOfMemory       it reached its memory limit
└── JobRaised         the program raised something else than a CoreError; carries the traceback
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from service.compute.jobs import Closed, Overloaded
from service.compute.worker import Answer, main

_log = logging.getLogger(__name__)
_context = multiprocessing.get_context("forkserver")

START_TIMEOUT = 120.0
RESTART_DELAY = 1.0
MAX_RETRY_AFTER = 60


class JobFailed(Exception):
    """A job that got no answer."""

    reason = "error"


class WorkerDied(JobFailed):
    """The worker ended in the middle of the job."""

    reason = "worker_died"


class DeadlineExceeded(JobFailed):
    """The job took too long, and its worker was killed."""

    reason = "deadline"


class OutOfMemory(JobFailed):
    """The job reached the worker's memory limit."""

    reason = "out_of_memory"


class JobRaised(JobFailed):
    """The program failed; the message is its traceback."""


class Worker:
    """One worker process, seen from the parent. Used by one thread at a time."""

    def __init__(self, target: str, memory_mb: int, warmup: Any) -> None:
        self._connection, theirs = _context.Pipe()
        self._process = _context.Process(
            target=main, args=(theirs, target, memory_mb, warmup), daemon=True, name="dumbo-worker"
        )
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def wait_ready(self) -> None:
        answer = self._within(START_TIMEOUT, self._connection.recv)
        assert answer.kind == "ready"

    def run(self, job: Any, seconds: float, deadline: float) -> Any:
        """The job's result, or what it raised, or a `JobFailed`."""

        def exchange() -> Answer:
            self._connection.send((job, seconds))
            answer: Answer = self._connection.recv()
            return answer

        answer = self._within(deadline, exchange)
        if answer.kind == "core_error":
            raise answer.content
        if answer.kind in ("out_of_memory", "failure"):
            self._process.join()
            raise OutOfMemory if answer.kind == "out_of_memory" else JobRaised(answer.content)
        return answer.content

    def _within(self, seconds: float, exchange: Callable[[], Answer]) -> Answer:
        """Talk to the process, and kill it if that takes too long: then the pipe breaks and the talk ends."""
        late = threading.Event()

        def expire() -> None:
            late.set()
            self.kill()

        timer = threading.Timer(seconds, expire)
        timer.start()
        try:
            answer = exchange()
        except (EOFError, OSError) as error:
            self.kill()
            raise DeadlineExceeded if late.is_set() else WorkerDied from error
        finally:
            timer.cancel()
            timer.join()
        return answer

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


class Pool:
    """Runs jobs, given as data, in `workers` processes that each call `target` ("module:function").

    At most `queue_size` callers wait for a worker, none longer than `patience` seconds; others get
    `Overloaded`. A worker runs `warmup` (a job) before its first one. Thread-safe.
    """

    def __init__(
        self,
        target: str,
        *,
        workers: int,
        queue_size: int,
        patience: float,
        memory_mb: int = 0,
        warmup: Any = None,
    ) -> None:
        _context.set_forkserver_preload(["service.compute.preload"])
        self._worker_arguments = (target, memory_mb, warmup)
        self._size, self._queue_size, self._patience = workers, queue_size, patience
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._waiting: deque[Future[Worker]] = deque()
        self._workers: set[Worker] = set()
        self._ready = threading.Event()
        self._closed = threading.Event()
        self._mean_seconds = 1.0
        for _ in range(workers):
            self._add_worker()

    def run(self, job: Any, *, seconds: float, deadline: float) -> Any:
        """Run the job within the deadline; `seconds` is what the job itself is told to take at most."""
        worker = self._take()
        started = time.monotonic()
        try:
            return worker.run(job, seconds, deadline)
        except WorkerDied:
            if self._closed.is_set():
                raise Closed("the service is shutting down") from None
            raise
        finally:
            self._mean_seconds += 0.1 * (time.monotonic() - started - self._mean_seconds)
            self._give_back(worker)

    @property
    def queue_length(self) -> int:
        return len(self._waiting)

    @property
    def pids(self) -> list[int]:
        """Of the workers that are ready or at work."""
        with self._lock:
            return [worker.pid for worker in self._workers if worker.pid is not None]

    def wait_ready(self, timeout: float | None = None) -> bool:
        return self._ready.wait(timeout)

    def close(self) -> None:
        """Kill every worker, busy or not. Whoever waits gets `Closed`."""
        with self._lock:
            self._closed.set()
            waiting, self._waiting = self._waiting, deque()
            workers = list(self._workers)
        for ticket in waiting:
            ticket.set_exception(Closed("the service is shutting down"))
        for worker in workers:
            worker.kill()

    def _take(self) -> Worker:
        ticket: Future[Worker] = Future()
        with self._lock:
            if self._closed.is_set():
                raise Closed("the service is shutting down")
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    return worker
                self._replace(worker)
            if len(self._waiting) >= self._queue_size:
                raise Overloaded(self._retry_after())
            self._waiting.append(ticket)
        try:
            return ticket.result(self._patience)
        except TimeoutError:
            with self._lock:
                if ticket not in self._waiting:  # handed over at this very moment
                    return ticket.result()
                self._waiting.remove(ticket)
                raise Overloaded(self._retry_after()) from None

    def _retry_after(self) -> int:
        """About when the queue will have moved on."""
        seconds = len(self._waiting) * self._mean_seconds / self._size
        return min(max(math.ceil(seconds), 1), MAX_RETRY_AFTER)

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            if not worker.alive:
                self._replace(worker)
            elif self._closed.is_set():
                worker.kill()
            elif self._waiting:
                self._waiting.popleft().set_result(worker)
            else:
                self._idle.append(worker)

    def _replace(self, worker: Worker) -> None:
        self._workers.discard(worker)
        self._add_worker()

    def _add_worker(self) -> None:
        threading.Thread(target=self._start_worker, name="dumbo-start-worker", daemon=True).start()

    def _start_worker(self) -> None:
        """Start a worker and hand it on when it is warm; again and again, should that fail."""
        while not self._closed.is_set():
            try:
                self._give_back(self._new_worker())
                return
            except (JobFailed, EOFError, OSError) as error:
                if not self._closed.is_set():
                    _log.error("a worker did not start: %r", error)
                self._closed.wait(RESTART_DELAY)

    def _new_worker(self) -> Worker:
        """A warm worker. From the beginning it is among those that `close` kills."""
        worker = Worker(*self._worker_arguments)
        with self._lock:
            self._workers.add(worker)
        if self._closed.is_set():
            worker.kill()
        try:
            worker.wait_ready()
        except JobFailed:
            with self._lock:
                self._workers.discard(worker)
            raise
        self._ready.set()
        return worker
