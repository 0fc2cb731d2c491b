"""Clients that write all the time, keep a ledger of what they were told, and never give up on an answer."""

from __future__ import annotations

import itertools
import random
import threading
import time
import uuid
from abc import ABC, abstractmethod
from typing import Any

from tests.chaos.client import PATIENCE, Caller, NoAnswer, Reply, patiently
from tests.chaos.ledger import Ledger, Operation

PAUSE = 0.05  # seconds between two calls of one client, at most: the machine is the server's, too
SPACE = [{"name": "x", "type": "float", "bounds": [-5, 5]}, {"name": "n", "type": "int", "bounds": [1, 1000]}]
_marks = itertools.count(1)


def new_study(caller: Caller, *, initial_trials: int) -> Ledger:
    """A study of two parameters; its model is used after so many trials."""
    algorithm = {"seed": 1, "initial_trials": initial_trials}
    body: dict[str, Any] = {
        "name": uuid.uuid4().hex,
        "direction": "minimize",
        "parameters": SPACE,
        "algorithm": algorithm,
    }
    reply = patiently(lambda: caller.call("POST", "/v1/studies", body, body["name"]), NoAnswer)
    if reply.status != 201:
        raise RuntimeError(f"{reply.status} {reply.content!r}")
    return Ledger(f"/v1/studies/{reply.body['id']}")


class Writer(threading.Thread, ABC):
    """One client of one study, until it is told to stop. An operation that it has begun it brings to an end."""

    def __init__(self, url: str, ledger: Ledger, seed: int) -> None:
        super().__init__(name=f"writer-{seed}")
        self._caller = Caller(url)
        self._ledger = ledger
        self._random = random.Random(seed)
        self._enough = threading.Event()
        self.complaints: list[str] = []
        self.lost_answers = 0
        self.replays = 0

    def run(self) -> None:
        while not self._enough.is_set():
            self._do_something()
            self._enough.wait(self._random.uniform(0, PAUSE))
        self._caller.close()

    def stop(self) -> None:
        self._enough.set()

    @abstractmethod
    def _do_something(self) -> None:
        """One operation of this kind of client."""

    def _do(self, what: str, body: dict[str, Any], *, keyed: bool) -> Operation:
        """Do it; without a key only once, with one until it is answered."""
        operation = Operation(f"{self._ledger.study}/{what}", body, uuid.uuid4().hex if keyed else None)
        self._ledger.begin(operation)
        patience = time.monotonic() + PATIENCE
        while (reply := self._try(operation)) is None:
            self.lost_answers += not operation.in_doubt
            operation.in_doubt = True
            if not keyed:
                return operation
            if time.monotonic() > patience:
                self.complaints.append(f"{what}: no answer for {PATIENCE:g} s")
                return operation
            time.sleep(PAUSE)
        if reply.ok:
            operation.acknowledge(reply)
        else:
            self.complaints.append(f"{what}: {reply.status} {reply.content!r}")
        return operation

    def _try(self, operation: Operation) -> Reply | None:
        try:
            return self._caller.call("POST", operation.path, operation.body, operation.key)
        except NoAnswer:
            return None

    def _result(self) -> dict[str, float]:
        return {"value": float(next(_marks))}

    def _never_asked(self) -> dict[str, Any]:
        point = {"x": self._random.uniform(-5, 5), "n": self._random.randint(1, 1000)}
        return {"parameters": point} | self._result()

    def _replay(self) -> None:
        """Send an operation again that was answered long ago: the answer must be the first one's, to the byte."""
        keyed = [operation for operation in self._ledger.acknowledged() if operation.key is not None]
        if not keyed:
            return
        operation = self._random.choice(keyed)
        reply = self._try(operation)
        if reply is not None:
            self.replays += 1
            if reply.content != operation.content:
                self.complaints.append(f"a replay differs: {reply.status} {reply.content!r}")


class Teller(Writer):
    """Tells points that were never asked for, one or several, with a key or without, and replays."""

    def _do_something(self) -> None:
        match self._random.randrange(4):
            case 0:
                self._do("tell", self._never_asked(), keyed=True)
            case 1:
                results = [self._never_asked() for _ in range(self._random.randint(2, 6))]
                self._do("tell", {"results": results}, keyed=self._random.random() < 0.5)
            case 2:
                self._do("tell", self._never_asked(), keyed=False)
            case _:
                self._replay()


class Asker(Writer):
    """Asks for trials, and tells them one by one or together with points that were never asked for."""

    def _do_something(self) -> None:
        asked = self._do("ask", {"count": self._random.randint(1, 3)}, keyed=True)
        results = [{"trial": trial["number"]} | self._result() for trial in asked.trials]
        if self._random.random() < 0.5:
            self._do("tell", {"results": [*results, self._never_asked()]}, keyed=True)
        else:
            for result in results[self._random.randint(0, 1) :]:  # one may be left running
                self._do("tell", result, keyed=True)
        self._replay()
