"""What must hold of a database at any moment, whatever happened to whoever wrote to it. Read from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from core.errors import InvalidState
from core.state import State
from service.storage.database import Database, Transaction
from service.storage.tables import asks, idempotency_keys, model_states, studies, trials
from service.trials.records import Trial, TrialState, better

STATES: tuple[TrialState, ...] = ("running", "completed", "failed", "abandoned")


def broken(database_url: str) -> list[str]:
    """Everything that is wrong, as sentences; of one snapshot."""
    database = Database(database_url)
    try:
        with database.read() as tx:
            found = [fault for study in tx.execute(sa.select(studies)).all() for fault in _study_faults(tx, study)]
            found += _unfilled_keys(tx)
            if database.dialect == "sqlite":
                found += _file_faults(tx)
        return found
    finally:
        database.close()


def _study_faults(tx: Transaction, study: sa.Row[Any]) -> Iterator[str]:
    rows = [Trial(*row) for row in tx.execute(_of(study, trials).order_by(trials.c.number))]
    numbers = [trial.number for trial in rows]
    if numbers != list(range(len(rows))):
        yield f"{study.name}: trials are not numbered 0 to {len(rows) - 1}"
    counted = Counter(trial.state for trial in rows)
    if any(getattr(study, state) != counted[state] for state in STATES):
        yield f"{study.name}: its row counts trials that are not there, or misses some: {counted}"
    best = _best(rows, study.problem["direction"])
    if (study.best_number, study.best_value) != (best and best.number, best and best.value):
        yield f"{study.name}: its best trial is {study.best_number} instead of {best}"
    yield from _ask_faults(tx, study, rows)
    yield from _state_faults(tx, study)


def _of(study: sa.Row[Any], table: sa.Table) -> sa.Select[Any]:
    return sa.select(table).where(table.c.study_id == study.id)


def _best(rows: Sequence[Trial], direction: str) -> Trial | None:
    best: Trial | None = None
    for trial in rows:
        if trial.state == "completed" and (best is None or better(trial, best, direction)):
            best = trial
    return best


def _ask_faults(tx: Transaction, study: sa.Row[Any], rows: Sequence[Trial]) -> Iterator[str]:
    """Every trial that was asked for belongs to a stored ask, and every stored ask has all of its trials."""
    stored = {ask["number"]: ask["count"] for ask in tx.execute(_of(study, asks)).mappings()}
    made = Counter(trial.ask_number for trial in rows if trial.ask_number is not None)
    if stored != dict(made):
        yield f"{study.name}: asks and the trials they made differ"
    if any((trial.origin == "told") != (trial.ask_number is None) for trial in rows):
        yield f"{study.name}: a trial was asked for by nobody, or told and asked for"


def _state_faults(tx: Transaction, study: sa.Row[Any]) -> Iterator[str]:
    for row in tx.execute(_of(study, model_states)):
        try:
            State.from_dict(row.state, len(study.problem["parameters"]))
        except InvalidState as error:
            yield f"{study.name}: the chain cannot be loaded: {error}"


def _unfilled_keys(tx: Transaction) -> Iterator[str]:
    """An answer is stored in the transaction that claims its key: nobody may ever see the claim alone."""
    unfilled = tx.execute(sa.select(idempotency_keys.c.key).where(idempotency_keys.c.status == 0)).scalars()
    yield from (f"the Idempotency-Key {key!r} was claimed and has no answer" for key in unfilled)


def _file_faults(tx: Transaction) -> Iterator[str]:
    for check, fine in (("integrity_check", [("ok",)]), ("foreign_key_check", [])):
        if (found := [tuple(row) for row in tx.exec_driver_sql(f"PRAGMA {check}")]) != fine:
            yield f"{check}: {found[:3]}"
