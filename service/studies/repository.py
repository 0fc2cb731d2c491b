"""Studies in the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, bindparam, delete, func, select, tuple_, update

from service.errors import NameTaken, StudyNotFound
from service.storage.database import Transaction, insert
from service.storage.tables import studies as table
from service.storage.types import utcnow
from service.studies.records import ID_SHAPE, Study


def _by(column: Column[str]) -> Select[Any]:
    here = (table.c.workspace == bindparam("workspace")) & (column == bindparam("ref"))
    return select(table, utcnow().label("now")).where(here)


def _free(column: Column[str]) -> Select[Any]:
    places = tuple_(table.c.workspace, column).in_(bindparam("places", expanding=True))
    return select(table, utcnow().label("now")).where(places).with_for_update(skip_locked=True)


# Built once: making a statement costs more than running it.
_BY_ID, _BY_NAME = _by(table.c.id), _by(table.c.name)
_LOCK_ID, _LOCK_NAME = _BY_ID.with_for_update(), _BY_NAME.with_for_update()
_TRY_IDS, _TRY_NAMES = _free(table.c.id), _free(table.c.name)
_COUNTED = ("running", "completed", "failed", "abandoned", "best_number", "best_value", "revision", "updated_at")
_SAVE = update(table).where(table.c.id == bindparam("of")).values({name: bindparam(f"new_{name}") for name in _COUNTED})


@dataclass(frozen=True)
class Locked:
    """A study whose row this transaction holds, and the time by the database's clock."""

    study: Study
    now: datetime


class StudyRepository:
    """Studies of any workspace; `ref` is an id or a name, and names never look like ids."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def add(self, study_id: str, workspace: str, name: str, problem: dict[str, Any], metadata: dict[str, Any]) -> Study:
        row = self._tx.execute(
            insert(self._tx, table)
            .values(
                id=study_id,
                workspace=workspace,
                name=name,
                state="active",
                problem=problem,
                metadata=metadata,
                created_at=utcnow(),
                updated_at=utcnow(),
                revision=0,
                ask_revision=0,
                running=0,
                completed=0,
                failed=0,
                abandoned=0,
            )
            .on_conflict_do_nothing(index_elements=[table.c.workspace, table.c.name])
            .returning(table)
        ).one_or_none()
        if row is None:
            raise NameTaken(f"there is a study named {name!r} already; choose another name")
        return _study(row)

    def get(self, workspace: str, ref: str) -> Study:
        return self.get_with_clock(workspace, ref).study

    def get_with_clock(self, workspace: str, ref: str) -> Locked:
        """Like `lock`, but the row is not held."""
        return self._one(_BY_ID if ID_SHAPE.fullmatch(ref) else _BY_NAME, workspace, ref)

    def lock(self, workspace: str, ref: str) -> Locked:
        """The study, held until the transaction ends: other writers of this study wait."""
        return self._one(_LOCK_ID if ID_SHAPE.fullmatch(ref) else _LOCK_NAME, workspace, ref)

    def try_lock(self, places: Collection[tuple[str, str]]) -> dict[tuple[str, str], Locked]:
        """Those of these studies (workspace and ref) that no other transaction holds; now this one does."""
        ids = [place for place in places if ID_SHAPE.fullmatch(place[1])]
        names = [place for place in places if not ID_SHAPE.fullmatch(place[1])]
        by_id = {(locked.study.workspace, locked.study.id): locked for locked in self._free(_TRY_IDS, ids)}
        by_name = {(locked.study.workspace, locked.study.name): locked for locked in self._free(_TRY_NAMES, names)}
        return by_id | by_name

    def _free(self, query: Select[Any], places: Sequence[tuple[str, str]]) -> list[Locked]:
        return [_locked(row) for row in self._tx.execute(query, {"places": places})] if places else []

    def save(self, studies: Sequence[Study]) -> None:
        """Store counts, best and revision of studies that this transaction holds."""
        if studies:
            rows = [{"of": s.id} | {f"new_{name}": getattr(s, name) for name in _COUNTED} for s in studies]
            self._tx.execute(_SAVE, rows)

    def _one(self, query: Select[Any], workspace: str, ref: str) -> Locked:
        row = self._tx.execute(query, {"workspace": workspace, "ref": ref}).one_or_none()
        if row is None:
            raise _not_found(ref)
        return _locked(row)

    def page(self, workspace: str, limit: int, before: tuple[datetime, str] | None) -> list[Study]:
        """The newest first, older than `before`."""
        place = tuple_(table.c.created_at, table.c.id)
        query = select(table).where(table.c.workspace == workspace)
        if before is not None:
            query = query.where(place < tuple_(*before))
        query = query.order_by(table.c.created_at.desc(), table.c.id.desc()).limit(limit)
        return [_study(row) for row in self._tx.execute(query)]

    def change(self, locked: Locked, **values: Any) -> Study:
        """The study with these columns changed and the next revision."""
        study = locked.study
        values |= {"revision": study.revision + 1, "updated_at": locked.now}
        self._tx.execute(update(table).where(table.c.id == study.id).values(values))
        return Study(**(vars(study) | values))

    def delete(self, workspace: str, ref: str) -> None:
        """With its trials and everything else that belongs to it."""
        if self._tx.execute(delete(table).where(_is(workspace, ref))).rowcount == 0:
            raise _not_found(ref)

    def trials_by_state(self) -> dict[str, int]:
        """Trials of all studies together."""
        states = ("running", "completed", "failed", "abandoned")
        query = select(*(func.coalesce(func.sum(table.c[state]), 0).label(state) for state in states))
        return dict(self._tx.execute(query).one()._asdict())


def _is(workspace: str, ref: str) -> ColumnElement[bool]:
    column = table.c.id if ID_SHAPE.fullmatch(ref) else table.c.name
    return (table.c.workspace == workspace) & (column == ref)


def _not_found(ref: str) -> StudyNotFound:
    return StudyNotFound(f"there is no study {ref!r} here")


def _study(row: Sequence[Any]) -> Study:
    return Study(*row)


def _locked(row: Sequence[Any]) -> Locked:
    *columns, now = row
    return Locked(Study(*columns), now)
