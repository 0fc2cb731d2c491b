"""Requests that gather while others are at work are done in one go, and none suffers for another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from service.errors import StorageUnavailable
from service.http.together import Late, Together, Work


class Negation:
    """Negates numbers, notes the batches, and begins only when it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, items: Sequence[int]) -> list[int | Exception]:
        self.begun.set()
        assert self.go.wait(60)
        self.batches.append(list(items))
        if 13 in items:
            raise LookupError(f"{len(items)} at once")
        if 0 in items:
            raise StorageUnavailable("no database")
        return [ValueError(item) if item > 100 else -item for item in items]


def _alike(batch: Sequence[int], item: int) -> bool:
    return item % 2 == batch[0] % 2


async def _do(
    negation: Negation, items: Sequence[int], work: Work[int, int] | None = None
) -> list[int | BaseException]:
    """What came of each; all but the first arrive while the first is at work."""
    together = Together(work or Work(negation, 64, 60.0))
    tasks = [asyncio.create_task(together.do(item)) for item in (-1, *items)]
    await asyncio.sleep(0)  # every task has taken its seat
    negation.go.set()
    first, *others = await asyncio.gather(*tasks, return_exceptions=True)
    assert (first, negation.batches.pop(0)) == (1, [-1])
    return others


def test_what_gathers_is_done_in_one_go() -> None:
    """All that came while the first was at work are one batch, and everybody gets an own result."""
    negation = Negation()
    assert asyncio.run(_do(negation, [1, 2, 3, 4])) == [-1, -2, -3, -4]
    assert negation.batches == [[1, 2, 3, 4]]


def test_batches_are_bounded() -> None:
    """No batch is larger than allowed, and all are served in the order they came."""
    negation = Negation()
    assert asyncio.run(_do(negation, range(1, 8), Work(negation, 3, 60.0))) == [-n for n in range(1, 8)]
    assert negation.batches == [[1, 2, 3], [4, 5, 6], [7]]


def test_slow_work_is_done_one_by_one() -> None:
    """Where two would take longer together than anyone should wait, nobody has to wait for another."""
    negation = Negation()
    assert asyncio.run(_do(negation, [1, 2, 3], Work(negation, 64, 0.0))) == [-1, -2, -3]
    assert negation.batches == [[1], [2], [3]]


def test_only_what_goes_together_is_done_together() -> None:
    """A batch ends before the first that does not join it; nobody is overtaken."""
    negation = Negation()
    assert asyncio.run(_do(negation, [1, 3, 4, 6, 5], Work(negation, 64, 60.0, _alike))) == [-1, -3, -4, -6, -5]
    assert negation.batches == [[1, 3], [4, 6], [5]]


def test_an_error_is_its_own_items_only() -> None:
    """The refused one raises, the others of its batch have their results."""
    first, refused, last = asyncio.run(_do(Negation(), [1, 101, 3]))
    assert (first, last) == (-1, -3)
    assert isinstance(refused, ValueError)


def test_a_failed_batch_is_done_one_by_one() -> None:
    """One item makes the work itself fail: it alone gets that error, the others are done."""
    negation = Negation()
    outcomes = asyncio.run(_do(negation, [1, 13, 3]))
    assert outcomes[::2] == [-1, -3]
    assert repr(outcomes[1]) == repr(LookupError("1 at once"))
    assert negation.batches == [[1, 13, 3], [1], [13], [3]]


def test_what_the_service_lacks_is_said_to_all() -> None:
    """Without a database nobody tries again in vain, one after the other."""
    negation = Negation()
    outcomes = asyncio.run(_do(negation, [1, 0, 3]))
    assert [type(outcome) for outcome in outcomes] == [StorageUnavailable] * 3
    assert negation.batches == [[1, 0, 3]]


def test_one_that_left_does_not_hold_up_the_others() -> None:
    """Whoever is cancelled while at work is skipped when results are handed out."""

    async def scenario() -> int:
        negation = Negation()
        together = Together(Work(negation, 64, 60.0))
        gone, stays = (asyncio.create_task(together.do(item)) for item in (1, 2))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        negation.go.set()
        return await stays

    assert asyncio.run(scenario()) == -2


def test_one_whose_turn_does_not_come_withdraws() -> None:
    """It is late, and never worked on."""

    async def scenario() -> tuple[int, list[list[int]]]:
        negation = Negation()
        together = Together(Work(negation, 64, 60.0))
        first = asyncio.create_task(together.do(1, patience=60.0))
        assert await asyncio.to_thread(negation.begun.wait, 60)
        with pytest.raises(Late):
            await together.do(2, patience=0.0)
        negation.go.set()
        return await first, negation.batches

    assert asyncio.run(scenario()) == (-1, [[1]])
