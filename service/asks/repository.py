"""Asks and the model's state in the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select

from service.storage.database import Transaction, insert
from service.storage.tables import asks, model_states


@dataclass(frozen=True)
class Ask:
    """An ask that computed points: `number` is its first trial's; `decomposition` the samples it used."""

    study_id: str
    number: int
    count: int
    diagnostics: dict[str, Any]
    decomposition: dict[str, Any] | None
    created_at: datetime


class AskRepository:
    """Asks are added and never changed; the state is replaced by each."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def add(self, ask: Ask) -> None:
        self._tx.execute(insert(self._tx, asks), vars(ask))

    def get(self, study_id: str, number: int) -> Ask | None:
        row = self._tx.execute(select(asks).where(asks.c.study_id == study_id, asks.c.number == number)).one_or_none()
        return None if row is None else Ask(**row._asdict())

    def with_samples(self, study_id: str, limit: int, *, until: int | None = None) -> list[Ask]:
        """Asks that drew decompositions, the newest first, none with a number beyond `until`."""
        query = select(asks).where(asks.c.study_id == study_id, asks.c.decomposition.is_not(None))
        if until is not None:
            query = query.where(asks.c.number <= until)
        query = query.order_by(asks.c.number.desc()).limit(limit)
        return [Ask(**row._asdict()) for row in self._tx.execute(query)]

    def state(self, study_id: str) -> dict[str, Any] | None:
        query = select(model_states.c.state).where(model_states.c.study_id == study_id)
        return self._tx.execute(query).scalar_one_or_none()

    def save_state(self, study_id: str, state: dict[str, Any], now: datetime) -> None:
        values = {"state": state, "updated_at": now}
        statement = insert(self._tx, model_states).values(study_id=study_id, **values)
        self._tx.execute(statement.on_conflict_do_update(index_elements=[model_states.c.study_id], set_=values))
