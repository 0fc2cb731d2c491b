"""Asks are admitted up to a limit; those with an equal turn follow each other or are done together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from service.errors import Busy
from service.http.admission import Admission
from service.http.together import Work


class Gate:
    """Notes batches as they begin, and ends them when it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.begun = threading.Semaphore(0)
        self.go = threading.Event()

    def __call__(self, items: Sequence[str]) -> list[str]:
        self.batches.append(list(items))
        self.begun.release()
        assert self.go.wait(60)
        return [item.upper() for item in items]


async def _begun(gate: Gate, count: int) -> None:
    for _ in range(count):
        assert await asyncio.to_thread(gate.begun.acquire, timeout=60)


def test_equal_turns_gather_and_others_do_not_wait() -> None:
    """While one ask of a study is at work, another study's begins; what waits for the first is one batch."""

    async def scenario() -> tuple[list[str], list[list[str]]]:
        gate, admission = Gate(), Admission(limit=8, patience=60)
        work = Work(gate, 16, 60.0)
        turns = [("study", "a"), ("other", "x"), ("study", "b"), ("study", "c")]
        tasks = [asyncio.create_task(admission.in_turn(turn, item, work)) for turn, item in turns]
        await _begun(gate, 2)
        gate.go.set()
        return await asyncio.gather(*tasks), gate.batches

    results, batches = asyncio.run(scenario())
    assert results == ["A", "X", "B", "C"]
    assert (sorted(batches[:2]), batches[2:]) == ([["a"], ["x"]], [["b", "c"]])


def test_beyond_the_limit_and_beyond_patience_it_is_busy() -> None:
    """Both are answered with when to come again, and leave room for others."""

    async def scenario() -> str:
        gate, admission = Gate(), Admission(limit=2, patience=0.0)
        work = Work(gate, 16, 60.0)
        first = asyncio.create_task(admission.in_turn("study", "a", work))
        await _begun(gate, 1)
        with pytest.raises(Busy):  # its turn does not come
            await admission.in_turn("study", "b", work)
        second = asyncio.create_task(admission.run(lambda: gate(["c"])[0]))
        await _begun(gate, 1)
        with pytest.raises(Busy):  # two are inside
            await admission.in_turn("other", "d", work)
        gate.go.set()
        return await first + await second

    assert asyncio.run(scenario()) == "AC"
