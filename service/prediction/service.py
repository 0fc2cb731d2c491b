"""Predicting: a snapshot, then the model in a worker process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.errors import Fault, InvalidPoint, InvalidState
from core.problem import Problem
from service.answers import Answer
from service.asks.repository import AskRepository
from service.compute.jobs import Compute, PredictJob
from service.errors import Invalid, NothingToPredict
from service.idempotency.repository import IdempotencyRepository, Keyed
from service.idempotency.service import once
from service.settings import Settings
from service.storage.database import Database
from service.studies.records import Problems
from service.studies.repository import StudyRepository
from service.trials.repository import TrialRepository


class Predictions:
    """Asks the model of a study what it expects."""

    def __init__(self, database: Database, compute: Compute, settings: Settings, problems: Problems) -> None:
        self._database = database
        self._compute = compute
        self._settings = settings
        self._problems = problems

    def predict(self, workspace: str, ref: str, points: list[dict[str, Any]], keyed: Keyed | None) -> Answer:
        if len(points) > self._settings.max_points:
            msg = f"at most {self._settings.max_points} in one request, got {len(points)}"
            raise Invalid.at("body", "points", msg=msg)
        with self._database.read() as tx:
            if keyed is not None and (stored := IdempotencyRepository(tx).find(keyed)) is not None:
                return stored
            study = StudyRepository(tx).get(workspace, ref)
            observations = TrialRepository(tx).observations(study.id)
            state = AskRepository(tx).state(study.id)
        checked = _checked(self._problems.of(study), points)
        if study.completed == 0:
            raise NothingToPredict("tell a result first: there is nothing to predict from")
        job = PredictJob(study.problem, observations, checked, state)
        answer = Answer.of({"predictions": self._ask_model(job)})
        return answer if keyed is None else once(self._database, keyed, lambda tx: answer)

    def _ask_model(self, job: PredictJob) -> list[dict[str, Any]]:
        try:
            return self._compute.predict(job)
        except InvalidState:  # stored by a version whose state this one cannot read
            return self._compute.predict(replace(job, state=None))


def _checked(problem: Problem, points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    faults: list[Fault] = []
    checked: list[dict[str, Any]] = []
    for i, point in enumerate(points):
        try:
            checked.append(problem.check_point(point))
        except InvalidPoint as error:
            faults += [Fault((i, *fault.loc), fault.msg) for fault in error.faults]
    if faults:
        raise Invalid.of(faults[:50], "body", "points")
    return checked
