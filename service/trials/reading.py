"""Reading trials: one, a page, the best, how one was made, and all as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import Any, TypeAlias

from service.asks.repository import AskRepository
from service.errors import NoCompletedTrial, NoDiagnostics, TrialNotFound
from service.paging import Cursors, Page
from service.storage.database import Database
from service.studies.records import Study
from service.trials.records import Trial, TrialState
from service.trials.repository import TrialRepository
from service.trials.views import trial_view

SeriesRow: TypeAlias = tuple[int, TrialState, float | None, str]  # number, state, value, origin
CSV_CHUNK = 500
PLAIN = ("number", "state", "value", "sem", "origin", "reason", "client_id", "asked_at", "told_at")
# A spreadsheet takes a cell that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class Trials:
    """Trials of studies that were looked up already."""

    def __init__(self, database: Database, cursors: Cursors) -> None:
        self._database = database
        self._cursors = cursors

    def get(self, study: Study, number: int) -> dict[str, Any]:
        with self._database.read() as tx:
            return trial_view(_found(TrialRepository(tx).get(study.id, number), number))

    def best(self, study: Study) -> dict[str, Any]:
        with self._database.read() as tx:
            trial = TrialRepository(tx).get(study.id, study.best_number)
        if trial is None:
            raise NoCompletedTrial("tell a result first")
        return trial_view(trial)

    def page(
        self, study: Study, limit: int, cursor: str | None, state: TrialState | None, *, descending: bool
    ) -> dict[str, Any]:
        scope = ["trials", study.id, state, descending]
        place = self._cursors.read(scope, cursor)
        after = None if place is None else int(place[0])
        with self._database.read() as tx:
            found = TrialRepository(tx).page(study.id, limit + 1, after=after, state=state, descending=descending)
        page = Page.of(found, limit)
        following = page.last and self._cursors.make(scope, [page.last.number])
        return {"trials": [trial_view(trial) for trial in page.items], "next_cursor": following}

    def series(self, study: Study, *, improvements: bool) -> dict[str, Any]:
        """All trials in columns, or only those that were better than every one before."""
        with self._database.read() as tx:
            rows = TrialRepository(tx).series(study.id)
        if improvements:
            rows = list(_improvements(rows, -1.0 if study.problem["direction"] == "minimize" else 1.0))
        numbers, states, values, origins = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
        return {"numbers": numbers, "states": states, "values": values, "origins": origins}

    def diagnostics(self, study: Study, number: int) -> dict[str, Any]:
        """How the ask went that made the trial."""
        with self._database.read() as tx:
            trial = _found(TrialRepository(tx).get(study.id, number), number)
            ask = None if trial.ask_number is None else AskRepository(tx).get(study.id, trial.ask_number)
        if ask is None:
            raise NoDiagnostics(f"trial {number} was told without having been asked for")
        return {
            "first_trial": ask.number,
            "count": ask.count,
            "created_at": ask.created_at,
            "diagnostics": ask.diagnostics,
            "decomposition": ask.decomposition,
        }

    def csv(self, study: Study) -> Iterator[bytes]:
        """All trials there are now, in pieces; no transaction stays open between them."""
        parameters = [p["name"] for p in study.problem["parameters"]]
        factors = [f["name"] for f in study.problem["decomposition"]["factors"]]
        header = [*PLAIN, *(f"parameters.{n}" for n in parameters), *(f"factor_values.{n}" for n in factors)]
        yield _csv([header])
        after = -1
        while after < study.total - 1:
            with self._database.read() as tx:
                trials = TrialRepository(tx).page(study.id, CSV_CHUNK, after=after)
            trials = [trial for trial in trials if trial.number < study.total]
            if not trials:  # deleted meanwhile
                return
            after = trials[-1].number
            yield _csv([_cells(trial, parameters, factors) for trial in trials])


def _improvements(rows: list[SeriesRow], sign: float) -> Iterator[SeriesRow]:
    best = -math.inf
    for row in rows:
        if row[2] is not None and sign * row[2] > best:
            best = sign * row[2]
            yield row


def _found(trial: Trial | None, number: int) -> Trial:
    if trial is None:
        raise TrialNotFound(f"the study has no trial {number}")
    return trial


def _cells(trial: Trial, parameters: list[str], factors: list[str]) -> list[object]:
    view = trial_view(trial)
    told = trial.factor_values or {}
    return [
        *(_cell(view[name]) for name in PLAIN),
        *(_cell(trial.parameters[name]) for name in parameters),
        *(_cell(told.get(name)) for name in factors),
    ]


def _cell(value: Any) -> object:
    if hasattr(value, "isoformat"):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return "" if value is None else value


def _csv(rows: list[list[Any]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode()
