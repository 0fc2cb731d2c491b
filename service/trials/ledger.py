"""What results change of a study: its trials, its counts and its best, before any of it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from core.errors import Fault, InvalidObservation, InvalidPoint
from core.problem import Problem
from service.errors import Invalid, TooManyTrials, TrialFinished, TrialNotFound
from service.studies.records import Study
from service.trials.records import Trial, better
from service.trials.schemas import Result

Loc = tuple[str | int, ...]


@dataclass
class Ledger:
    """A study whose row is held, and the results taken so far, one by one."""

    study: Study  # as it is after them
    problem: Problem
    now: datetime
    max_trials: int
    known: dict[int, Trial] = field(default_factory=dict)  # the best, and those that results are for
    changed: dict[int, Trial] = field(default_factory=dict)
    added: list[Trial] = field(default_factory=list)

    @property
    def best(self) -> Trial | None:
        return None if self.study.best_number is None else self.known[self.study.best_number]

    @property
    def differs(self) -> bool:
        return bool(self.changed or self.added)

    def take(self, results: Sequence[Result], locs: Sequence[Loc]) -> list[Trial]:
        """The trials as the results leave them. A request counts as one revision, however many results it has."""
        before = self.study
        numbers = [self._take(result, loc) for result, loc in zip(results, locs, strict=True)]
        if self.study is not before:
            self.study = replace(self.study, revision=before.revision + 1, updated_at=self.now)
        return [self.known[number] for number in numbers]

    def _take(self, result: Result, loc: Loc) -> int:
        before = self._subject(result, loc)
        told = self._outcome(before, result, loc)
        if result.trial is None:
            self._count(told)
            self.added.append(told)
        elif before.state == "running":
            self._count(told, finished=1)
            self.changed[told.number] = told
        elif before.result != told.result:
            raise _conflict(before)
        else:
            return before.number
        self.known[told.number] = told
        return told.number

    def _subject(self, result: Result, loc: Loc) -> Trial:
        """The trial that was asked, or a new one for a point that never was."""
        if (result.trial is None) == (result.parameters is None):
            raise Invalid.at(*loc, msg="expected either trial (a number) or parameters (a point never asked for)")
        if result.trial is not None:
            if result.trial not in self.known:
                raise TrialNotFound(f"the study has no trial {result.trial}")
            return self.known[result.trial]
        assert result.parameters is not None
        try:
            point = self.problem.check_point(result.parameters)
        except InvalidPoint as error:
            raise Invalid.of(error.faults, *loc, "parameters") from error
        if self.study.total >= self.max_trials:
            raise TooManyTrials(f"a study may have at most {self.max_trials} trials")
        return Trial(self.study.id, self.study.total, "running", point, origin="told")

    def _outcome(self, before: Trial, result: Result, loc: Loc) -> Trial:
        """The trial as it is after this result, whether or not it may become so."""
        try:
            value, factor_values, sem = _checked_values(self.problem, result)
        except InvalidObservation as error:
            raise Invalid.of(error.faults, *loc) from error
        return replace(
            before,
            state=result.state,
            value=value,
            factor_values=factor_values,
            sem=sem,
            reason=result.reason,
            lease_expires_at=None,
            told_at=self.now,
        )

    def _count(self, told: Trial, finished: int = 0) -> None:
        """Count a result, for as many running trials as it finishes, and make it the best if it is."""
        values: dict[str, Any] = {"running": self.study.running - finished}
        values[told.state] = getattr(self.study, told.state) + 1
        best = self.best
        if told.state == "completed" and (best is None or better(told, best, self.problem.direction)):
            values |= {"best_number": told.number, "best_value": told.value}
        self.study = replace(self.study, **values)


def _checked_values(problem: Problem, result: Result) -> tuple[float | None, dict[str, float] | None, float | None]:
    if result.state == "completed":
        try:
            return problem.check_values(result.value, result.factor_values, result.sem)
        except OverflowError:
            raise InvalidObservation([Fault(("factor_values",), "their sum overflows")]) from None
    given = [name for name in ("value", "factor_values", "sem") if getattr(result, name) is not None]
    if given:
        raise InvalidObservation([Fault((name,), f"a trial that {result.state} has none") for name in given])
    return None, None, None


def _conflict(trial: Trial) -> TrialFinished:
    what = f"value {trial.value}" if trial.state == "completed" else f"state {trial.state}"
    return TrialFinished(f"trial {trial.number} was told already, with {what}; nothing was changed")
