"""Trials in the database. Writers hold the study's row (`StudyRepository.lock`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, bindparam, insert, select, tuple_, update

from service.storage.database import Transaction
from service.storage.tables import trials as table
from service.trials.records import Trial, TrialState

_FINISH = (
    update(table)
    .where(table.c.study_id == bindparam("of"), table.c.number == bindparam("at"))
    .values(
        state=bindparam("new_state"),
        value=bindparam("value"),
        factor_values=bindparam("factor_values"),
        sem=bindparam("sem"),
        reason=bindparam("reason"),
        lease_expires_at=None,
        told_at=bindparam("told_at"),
    )
)


_SOME = select(table).where(
    table.c.study_id == bindparam("of"), table.c.number.in_(bindparam("numbers", expanding=True))
)
# The usual tell needs two trials, its own and the best; a list of fixed length is cheaper than one that expands.
_TWO = select(table).where(
    table.c.study_id == bindparam("of"), table.c.number.in_([bindparam("one"), bindparam("other")])
)
_AT = select(table).where(tuple_(table.c.study_id, table.c.number).in_(bindparam("places", expanding=True)))


class TrialRepository:
    """Trials of studies given by id."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def get(self, study_id: str, number: int | None) -> Trial | None:
        if number is None:
            return None
        at = (table.c.study_id == study_id) & (table.c.number == number)
        row = self._tx.execute(select(table).where(at)).one_or_none()
        return None if row is None else _trial(row)

    def some(self, study_id: str, numbers: Iterable[int]) -> dict[int, Trial]:
        """Those of these numbers that exist, by number."""
        wanted = sorted(set(numbers))
        if len(wanted) in (1, 2):
            rows = self._tx.execute(_TWO, {"of": study_id, "one": wanted[0], "other": wanted[-1]})
        else:
            rows = self._tx.execute(_SOME, {"of": study_id, "numbers": wanted})
        return {trial.number: trial for trial in map(_trial, rows)}

    def at(self, places: Sequence[tuple[str, int]]) -> list[Trial]:
        """Those of these trials that exist, each given by its study's id and its number."""
        ids = {study_id for study_id, _ in places}
        if len(ids) == 1:
            return list(self.some(ids.pop(), (number for _, number in places)).values())
        return [_trial(row) for row in self._tx.execute(_AT, {"places": places})] if places else []

    def running(self, study_id: str) -> list[Trial]:
        query = select(table).where(table.c.study_id == study_id, table.c.state == "running")
        return [_trial(row) for row in self._tx.execute(query.order_by(table.c.number))]

    def observations(self, study_id: str) -> list[dict[str, Any]]:
        """Finished trials as the core takes them, by number: the order in which they were told does not
        count.
        """
        columns = (table.c.parameters, table.c.value, table.c.factor_values, table.c.sem, table.c.state)
        query = select(*columns).where(table.c.study_id == study_id, table.c.state != "running")
        return [row._asdict() for row in self._tx.execute(query.order_by(table.c.number))]

    def series(self, study_id: str) -> list[tuple[int, TrialState, float | None, str]]:
        """Number, state, value and origin of every trial, by number: what a curve needs, without the points."""
        columns = (table.c.number, table.c.state, table.c.value, table.c.origin)
        query = select(*columns).where(table.c.study_id == study_id).order_by(table.c.number)
        return [tuple(row) for row in self._tx.execute(query)]

    def page(
        self,
        study_id: str,
        limit: int,
        *,
        after: int | None = None,
        state: TrialState | None = None,
        descending: bool = False,
    ) -> list[Trial]:
        query = select(table).where(table.c.study_id == study_id).limit(limit)
        if state is not None:
            query = query.where(table.c.state == state)
        return [_trial(row) for row in self._tx.execute(_from(query, after, descending))]

    def add(self, trials: Sequence[Trial]) -> None:
        if trials:
            self._tx.execute(insert(table), [vars(trial) for trial in trials])

    def finish(self, trials: Sequence[Trial]) -> None:
        """Store the results of trials that were running."""
        rows = [
            {
                "of": trial.study_id,
                "at": trial.number,
                "new_state": trial.state,
                "value": trial.value,
                "factor_values": trial.factor_values,
                "sem": trial.sem,
                "reason": trial.reason,
                "told_at": trial.told_at,
            }
            for trial in trials
        ]
        if rows:
            self._tx.execute(_FINISH, rows)

    def lease(self, study_id: str, numbers: Iterable[int], client_id: str | None, until: datetime) -> None:
        at = (table.c.study_id == study_id) & table.c.number.in_(list(numbers))
        self._tx.execute(update(table).where(at).values(client_id=client_id, lease_expires_at=until))


def _from(query: Select[Any], after: int | None, descending: bool) -> Select[Any]:
    number = table.c.number
    if after is not None:
        query = query.where(number < after if descending else number > after)
    return query.order_by(number.desc() if descending else number)


def _trial(row: Sequence[Any]) -> Trial:
    return Trial(*row)
