"""Doing in one go what several requests wait for.

While a batch is at work, more requests gather, and the next batch takes as many of them as go together. Nobody waits
for company: what comes alone is done alone, at once.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from anyio import CapacityLimiter, to_thread

from service.compute.jobs import ComputeError
from service.errors import Unavailable

Item = TypeVar("Item")
Result = TypeVar("Result")


class Late(Exception):
    """The item's turn did not come in time. It was withdrawn."""


@dataclass(frozen=True)
class Work(Generic[Item, Result]):
    """What is done with a batch, in a thread: for each item, in their order, a result or the error to raise.

    If it raises instead, its items are done one by one, as what is wrong with one of them is nothing to the others;
    only what the service as a whole lacks (`Unavailable`, `ComputeError`) is said to all. A batch has at most `most`
    items, takes `seconds` at most by the pace of the one before it, and grows only by items that `joins` it.
    """

    run: Callable[[Sequence[Item]], Sequence[Result | Exception]]
    most: int
    seconds: float
    joins: Callable[[Sequence[Item], Item], bool] = lambda batch, item: True


@dataclass(eq=False)
class _Seat(Generic[Item, Result]):
    item: Item
    outcome: asyncio.Future[Result]
    context: Context = field(default_factory=copy_context)


class Together(Generic[Item, Result]):
    """Gathers items, and has one batch after the other worked on, first come, first served."""

    def __init__(self, work: Work[Item, Result], threads: CapacityLimiter | None = None) -> None:
        self._work = work
        self._threads = threads
        self._waiting: deque[_Seat[Item, Result]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._size = 1

    @property
    def idle(self) -> bool:
        return self._worker is None

    async def do(self, item: Item, patience: float | None = None) -> Result:
        """What came of the item; `Late` if its batch has not begun after `patience` seconds."""
        seat: _Seat[Item, Result] = _Seat(item, asyncio.get_running_loop().create_future())
        self._waiting.append(seat)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work_off(), context=Context())
        if patience is not None:
            await asyncio.wait([seat.outcome], timeout=patience)
            if seat in self._waiting:
                self._waiting.remove(seat)
                raise Late
        return await seat.outcome

    async def _work_off(self) -> None:
        while self._waiting:
            batch = self._next()
            started = time.monotonic()
            outcomes = await self._outcomes(batch)
            pace = (time.monotonic() - started) / len(batch)
            self._size = max(1, min(self._work.most, int(self._work.seconds / pace)))
            for seat, outcome in zip(batch, outcomes, strict=True):
                if seat.outcome.done():  # cancelled: nobody waits for it any more
                    continue
                if isinstance(outcome, Exception):
                    seat.outcome.set_exception(outcome)
                else:
                    seat.outcome.set_result(outcome)
        self._worker = None

    def _next(self) -> list[_Seat[Item, Result]]:
        batch = [self._waiting.popleft()]
        while self._waiting and len(batch) < self._size:
            if not self._work.joins([seat.item for seat in batch], self._waiting[0].item):
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _outcomes(self, batch: Sequence[_Seat[Item, Result]]) -> Sequence[Result | Exception]:
        items = [seat.item for seat in batch]
        in_context = batch[0].context.run  # log lines of a batch carry the id of its first request
        try:
            return await to_thread.run_sync(in_context, self._work.run, items, limiter=self._threads)
        except (Unavailable, ComputeError) as error:
            return [error] * len(batch)
        except Exception as error:
            if len(batch) == 1:
                return [error]
            return [outcome for seat in batch for outcome in await self._outcomes([seat])]
