"""What clients were told by the service about one study, to be held against what the service says later.

Every result has a value of its own, so a trial's value says which operation it came from. An operation whose answer
never came is in doubt: with an Idempotency-Key it is sent again until it is answered; without one it was done wholly
or not at all.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.client import Reply

JSON = dict[str, Any]
RESULT = ("state", "value", "lease_expires_at", "told_at")  # what a tell changes of a trial


@dataclass
class Operation:
    """An ask or a tell, and its answer if there was one."""

    path: str
    body: JSON
    key: str | None
    content: bytes | None = None
    trials: list[JSON] = field(default_factory=list)
    in_doubt: bool = False

    def acknowledge(self, reply: Reply) -> None:
        self.trials = reply.body["trials"]
        self.content = reply.content
        self.in_doubt = False

    @property
    def results(self) -> list[JSON]:
        """What it tells, if it is a tell."""
        if not self.path.endswith("/tell"):
            return []
        results: list[JSON] = self.body.get("results", [self.body])
        return results


class Ledger:
    """The operations on one study, from any number of threads."""

    def __init__(self, study: str) -> None:
        self.study = study
        self._operations: list[Operation] = []
        self._lock = threading.Lock()

    def begin(self, operation: Operation) -> None:
        with self._lock:
            self._operations.append(operation)

    @property
    def operations(self) -> list[Operation]:
        with self._lock:
            return list(self._operations)

    def acknowledged(self) -> list[Operation]:
        return [operation for operation in self.operations if operation.content is not None]

    def losses(self, acknowledged: list[Operation], stored: Mapping[int, JSON]) -> Iterator[str]:
        """What is wrong with the stored trials, given what had been acknowledged before they were read.

        Other operations may be going on meanwhile.
        """
        told = {result["value"]: result for operation in self.operations for result in operation.results}
        if sorted(stored) != list(range(len(stored))):
            yield "the numbers have a gap"
        for operation in acknowledged:
            for trial in operation.trials:
                yield from _difference(trial, stored.get(trial["number"]))
        values = Counter(trial["value"] for trial in stored.values() if trial["value"] is not None)
        for number, trial in stored.items():
            value = trial["value"]
            if value is not None and (value not in told or told[value].get("trial", number) != number):
                yield f"trial {number} has a value that nobody told it"
        yield from (f"the result {value} was stored {times} times" for value, times in values.items() if times > 1)
        yield from self._half_written(set(values))

    def _half_written(self, values: set[float]) -> Iterator[str]:
        for operation in self.operations:
            if operation.in_doubt and operation.key is None:
                written = sum(result["value"] in values for result in operation.results)
                if written not in (0, len(operation.results)):
                    yield f"{written} of {len(operation.results)} results of one tell were written"

    def unaccounted(self, stored: Mapping[int, JSON]) -> Iterator[str]:
        """When all is quiet: every trial was made by exactly one operation, and runs unless one has told it."""
        numbers = {trial["value"]: number for number, trial in stored.items() if trial["value"] is not None}
        made: Counter[int] = Counter()
        told: set[int] = set()
        for operation in self.operations:
            if operation.path.endswith("/ask"):
                made.update(trial["number"] for trial in operation.trials)
            for result in operation.results:
                number = numbers.get(result["value"])
                if number is None:
                    if operation.content is not None:
                        yield f"the result {result['value']} was acknowledged and is gone"
                    continue
                told.add(number)
                made.update([number] if "trial" not in result else [])
        yield from (f"trial {number} was made {made[number]} times" for number in stored if made[number] != 1)
        for number, trial in stored.items():
            if (trial["state"] == "running") == (number in told):
                yield f"trial {number} is {trial['state']}"


def _difference(trial: JSON, stored: JSON | None) -> Iterator[str]:
    """A finished trial never changes; a running one only by a tell."""
    if stored is None:
        yield f"trial {trial['number']} was acknowledged and is gone"
        return
    changeable = RESULT if trial["state"] == "running" and stored["state"] != "running" else ()
    differs = [name for name in trial if name not in changeable and trial[name] != stored[name]]
    if differs:
        yield f"trial {trial['number']} was acknowledged with another {', '.join(differs)}"
