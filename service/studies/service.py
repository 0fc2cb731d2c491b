"""What can be done with studies."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import orjson

from core.errors import Fault, InvalidProblem
from core.parameter import MAX_INT
from core.problem import Problem
from service.answers import Answer
from service.errors import Invalid
from service.idempotency.repository import Keyed
from service.idempotency.service import once
from service.names import check_name, name_fault
from service.paging import Cursors, Page
from service.settings import Settings
from service.storage.database import Database, Transaction
from service.studies.records import ID_SHAPE, Study, new_id
from service.studies.repository import StudyRepository
from service.studies.schemas import StudyPatch, StudySpec
from service.studies.views import study_view
from service.trials.repository import TrialRepository


class Studies:
    """Create, list, read, change and delete, within one workspace at a time."""

    def __init__(self, database: Database, settings: Settings, cursors: Cursors) -> None:
        self._database = database
        self._settings = settings
        self._cursors = cursors

    def create(self, workspace: str, spec: StudySpec, keyed: Keyed | None) -> Answer:
        name = self._checked_name(spec.name)
        self._check_size(spec)
        metadata = self._checked_metadata(spec.metadata)
        problem = _problem(spec).to_dict()

        def work(tx: Transaction) -> Answer:
            study = StudyRepository(tx).add(new_id(), workspace, name, problem, metadata)
            return Answer.of(study_view(study, None), 201, f"/v1/studies/{study.id}")

        return once(self._database, keyed, work)

    def list(self, workspace: str, limit: int, cursor: str | None) -> dict[str, Any]:
        scope = ["studies", workspace]
        place = self._cursors.read(scope, cursor)
        before = None if place is None else (datetime.fromisoformat(place[0]), str(place[1]))
        with self._database.read() as tx:
            page = Page.of(StudyRepository(tx).page(workspace, limit + 1, before), limit)
            bests = TrialRepository(tx).at(
                [(study.id, study.best_number) for study in page.items if study.best_number is not None]
            )
        following = page.last and self._cursors.make(scope, [page.last.created_at.isoformat(), page.last.id])
        by_study = {best.study_id: best for best in bests}
        views = [study_view(study, by_study.get(study.id)) for study in page.items]
        return {"studies": views, "next_cursor": following}

    def get(self, workspace: str, ref: str) -> Study:
        with self._database.read() as tx:
            return StudyRepository(tx).get(workspace, ref)

    def view(self, study: Study) -> dict[str, Any]:
        with self._database.read() as tx:
            return study_view(study, TrialRepository(tx).get(study.id, study.best_number))

    def change(self, workspace: str, ref: str, patch: StudyPatch) -> dict[str, Any]:
        values: dict[str, Any] = patch.model_dump(exclude_none=True)
        if patch.metadata is not None:
            values["metadata"] = self._checked_metadata(patch.metadata)
        with self._database.write() as tx:
            studies = StudyRepository(tx)
            locked = studies.lock(workspace, ref)
            differs = any(getattr(locked.study, name) != value for name, value in values.items())
            study = studies.change(locked, **values) if differs else locked.study
            return study_view(study, TrialRepository(tx).get(study.id, study.best_number))

    def delete(self, workspace: str, ref: str) -> None:
        with self._database.write() as tx:
            StudyRepository(tx).delete(workspace, ref)

    def trials_by_state(self) -> dict[str, int]:
        """Trials of all studies of all workspaces."""
        with self._database.read() as tx:
            return StudyRepository(tx).trials_by_state()

    def _checked_name(self, given: str) -> str:
        name = check_name(given, "body", "name", max_length=self._settings.max_name_length)
        if "/" in name:
            raise Invalid.at("body", "name", msg="must not hold '/': the name is used in URLs")
        if ID_SHAPE.fullmatch(name):
            raise Invalid.at("body", "name", msg="must not look like a study id (st_ and 16 characters)")
        return name

    def _check_size(self, spec: StudySpec) -> None:
        limit = self._settings.max_parameters
        if len(spec.parameters) > limit:
            msg = f"at most {limit} are allowed, got {len(spec.parameters)}"
            raise Invalid.at("body", "parameters", msg=msg)
        if faults := [*self._name_faults(spec), *self._value_faults(spec)]:
            raise Invalid.of(faults, "body")

    def _name_faults(self, spec: StudySpec) -> Iterator[Fault]:
        named: list[tuple[tuple[str | int, ...], str]] = [
            (("parameters", i, "name"), p.name) for i, p in enumerate(spec.parameters)
        ]
        factors = spec.decomposition.factors or []
        named += [(("decomposition", "factors", i, "name"), f.name) for i, f in enumerate(factors)]
        for loc, name in named:
            if (msg := name_fault(name, self._settings.max_name_length)) is not None:
                yield Fault(loc, msg)

    def _value_faults(self, spec: StudySpec) -> Iterator[Fault]:
        limit = self._settings.max_values
        for i, parameter in enumerate(spec.parameters):
            if parameter.values is not None and len(parameter.values) > limit:
                yield Fault(("parameters", i, "values"), f"at most {limit} are allowed, got {len(parameter.values)}")

    def _checked_metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        size, limit = len(orjson.dumps(metadata)), self._settings.max_metadata_bytes
        if size > limit:
            raise Invalid.at("body", "metadata", msg=f"at most {limit} bytes of JSON are allowed, got {size}")
        return metadata


def _problem(spec: StudySpec) -> Problem:
    """The checked problem; without a seed of its own it gets a random one, for good."""
    data = spec.model_dump(include={"direction", "parameters", "decomposition", "algorithm"}, exclude_none=True)
    data["algorithm"].setdefault("seed", secrets.randbelow(MAX_INT))
    try:
        return Problem.from_dict(data)
    except InvalidProblem as error:
        raise Invalid.of(error.faults, "body") from error
