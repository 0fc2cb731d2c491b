"""Who may compute, and when: asks wait here, without a thread and without a place in the workers' queue.

Asks of one study take turns, first come, first served: computed side by side, all but one would find
themselves overtaken. Those that wait for the same turn are computed together where they can be. That saves work and no
more; what makes it right is in `service.trials.ask`, also between replicas. The threads in which asks wait for a worker
are apart from those that serve tells and reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread

from service.errors import Busy
from service.http.together import Item, Late, Result, Together, Work

Done = TypeVar("Done")
MAX_RETRY_AFTER = 30


class Admission:
    """Admits up to `limit` jobs at once, none waiting for its turn longer than `patience` seconds."""

    def __init__(self, limit: int, patience: float) -> None:
        self._limit = limit
        self._patience = patience
        self._threads = CapacityLimiter(limit)
        self._turns: dict[object, Together[Any, Any]] = {}
        self._inside = 0

    async def run(self, job: Callable[[], Done]) -> Done:
        """Do a blocking job in a thread."""
        with self._admitted():
            return await to_thread.run_sync(job, limiter=self._threads)

    async def in_turn(self, turn: object, item: Item, work: Work[Item, Result]) -> Result:
        """Have the item worked on after those that came before with an equal turn, or together with them."""
        with self._admitted():
            waiting: Together[Item, Result] = self._turns.setdefault(turn, Together(work, self._threads))
            try:
                return await waiting.do(item, self._patience)
            except Late:
                raise self._busy() from None
            finally:
                if waiting.idle and self._turns.get(turn) is waiting:
                    del self._turns[turn]

    @contextmanager
    def _admitted(self) -> Iterator[None]:
        if self._inside >= self._limit:
            raise self._busy()
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    def _busy(self) -> Busy:
        return Busy("too many asks are waiting", retry_after=min(1 + self._inside // 4, MAX_RETRY_AFTER))
