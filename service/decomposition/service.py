"""Reading the structure: as it is now, as it was at a trial, and how it changed."""

from __future__ import annotations

from typing import Any

from core.errors import InvalidState
from service.asks.repository import Ask, AskRepository
from service.decomposition import structure
from service.paging import Cursors, Page
from service.storage.database import Database
from service.studies.records import Problems, Study


class Decompositions:
    """Structure of studies."""

    def __init__(self, database: Database, problems: Problems, cursors: Cursors) -> None:
        self._database = database
        self._problems = problems
        self._cursors = cursors

    def view(self, study: Study, at: int | None) -> dict[str, Any]:
        """The structure now, or as the last ask before or at trial `at` saw it."""
        problem = self._problems.of(study)
        with self._database.read() as tx:
            asks = AskRepository(tx)
            if at is None:
                return self._current(study, asks)
            found = asks.with_samples(study.id, 1, until=at)
        stored = found[0].decomposition if found else None
        return structure.current(problem, None) if stored is None else structure.past(problem, stored)

    def _current(self, study: Study, asks: AskRepository) -> dict[str, Any]:
        problem = self._problems.of(study)
        try:
            return structure.current(problem, asks.state(study.id))
        except InvalidState:  # left by another version; the next ask starts anew
            return structure.current(problem, None)

    def history(self, study: Study, limit: int, cursor: str | None) -> dict[str, Any]:
        """Samples of each ask that drew any, the newest first."""
        scope = ["decomposition", study.id]
        place = self._cursors.read(scope, cursor)
        until = None if place is None else int(place[0]) - 1
        with self._database.read() as tx:
            page = Page.of(AskRepository(tx).with_samples(study.id, limit + 1, until=until), limit)
        following = page.last and self._cursors.make(scope, [page.last.number])
        return {"history": [_entry(ask) for ask in page.items], "next_cursor": following}


def _entry(ask: Ask) -> dict[str, Any]:
    assert ask.decomposition is not None
    return {"trial": ask.number, "created_at": ask.created_at, **ask.decomposition}
