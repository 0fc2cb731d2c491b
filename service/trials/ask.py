"""Ask: a snapshot, the computation with no transaction open, then a short transaction that hands out trials.

What is handed out, in this order: running trials that the client holds already, running trials whose lease
has expired, and new points. New points are stored only if no other ask has added points since the snapshot;
otherwise everything goes again from a new one, with those points pending. Results told meanwhile invalidate
nothing. If others keep being faster, points are drawn at random inside the transaction, and labelled so.

Asks of one study that want one trial each may share all of that: one snapshot, one computation of as many points, one
transaction, in which each gets its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from core.errors import InvalidPoint, InvalidState, SpaceExhausted
from service.answers import Answer
from service.asks.repository import Ask, AskRepository
from service.compute.fallback import fallback
from service.compute.jobs import AskJob, AskResult, Compute
from service.decomposition.structure import samples_of
from service.errors import Invalid, SpaceIsExhausted, StudyStopped, TooManyTrials
from service.idempotency.repository import IdempotencyRepository, Keyed
from service.metrics import Metrics
from service.settings import Settings
from service.storage.database import Database, Transaction
from service.studies.records import Problems, Study
from service.studies.repository import Locked, StudyRepository
from service.trials.records import Trial
from service.trials.repository import TrialRepository
from service.trials.schemas import AskRequest
from service.trials.shares import Asking, Share, Wanted, new_trials, redeliverable, share_answer

ATTEMPTS = 5


@dataclass(frozen=True)
class Snapshot:
    """What an ask is computed from, all of one moment."""

    study: Study
    now: datetime
    running: list[Trial]
    observations: list[dict[str, Any]]
    state: dict[str, Any] | None

    def job(self, shares: Sequence[Share]) -> AskJob:
        pending = [trial.parameters for trial in self.running]
        count, fixed = sum(share.missing for share in shares), shares[0].wanted.fixed
        return AskJob(self.study.problem, self.observations, pending, self.state, count, fixed)


class _Overtaken(Exception):
    """Another ask was faster; the snapshot no longer holds."""


class Asks:
    """Hands out trials. Safe from any number of threads, processes and machines."""

    def __init__(
        self, database: Database, compute: Compute, settings: Settings, problems: Problems, metrics: Metrics
    ) -> None:
        self._database = database
        self._compute = compute
        self._settings = settings
        self._problems = problems
        self._metrics = metrics

    def ask(self, askings: Sequence[Asking]) -> list[Answer]:
        """Answer asks of one study: one, or several that may share."""
        workspace, ref, keyed = askings[0].workspace, askings[0].ref, askings[0].keyed
        for _ in range(ATTEMPTS):
            with self._timed("snapshot"), self._database.read() as tx:
                if keyed is not None and (stored := IdempotencyRepository(tx).find(keyed)) is not None:
                    return [stored]
                snapshot = _snapshot(tx, workspace, ref)
            shares = self._shares(snapshot, askings)
            computed = self._computed(snapshot, shares)
            try:
                with self._timed("store"):
                    return self._handed_out(snapshot, shares, computed, keyed)
            except _Overtaken:
                continue
        return self._drawn_at_random(workspace, ref, askings, keyed)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._metrics.ask_phase(phase, time.perf_counter() - started)

    def _shares(self, snapshot: Snapshot, askings: Sequence[Asking]) -> list[Share]:
        shares: list[Share] = []
        running = snapshot.running
        for asking in askings:
            wanted = self._checked(asking.request, snapshot.study)
            again = redeliverable(running, wanted, snapshot.now)
            if again:
                running = [trial for trial in running if trial not in again]
            shares.append(Share(wanted, again))
        return shares

    def _checked(self, request: AskRequest, study: Study) -> Wanted:
        settings = self._settings
        if request.count > settings.max_count:
            raise Invalid.at("body", "count", msg=f"at most {settings.max_count} are allowed")
        seconds = request.lease_seconds or settings.lease_seconds
        if seconds > settings.max_lease_seconds:
            msg = f"at most {settings.max_lease_seconds:g} seconds are allowed"
            raise Invalid.at("body", "lease_seconds", msg=msg)
        try:
            fixed = self._problems.of(study).check_point(request.fixed, partial=True)
        except InvalidPoint as error:
            raise Invalid.of(error.faults, "body", "fixed") from error
        if study.state == "stopped":
            raise StudyStopped("set its state to active before asking again; tells are still taken")
        return Wanted(request.count, request.client_id, timedelta(seconds=seconds), fixed)

    def _computed(self, snapshot: Snapshot, shares: Sequence[Share]) -> AskResult | None:
        """New points for what cannot be redelivered; None where nothing is missing or nothing is left."""
        job = snapshot.job(shares)
        if job.count == 0:
            return None
        self._check_room(snapshot.study, job.count)
        try:
            with self._timed("compute"):
                return self._ask_model(job)
        except SpaceExhausted as error:
            if all(share.again for share in shares):
                return None
            raise SpaceIsExhausted(str(error)) from error

    def _ask_model(self, job: AskJob) -> AskResult:
        try:
            return self._compute.ask(job)
        except InvalidState:  # stored by a version whose state this one cannot read: the chain starts anew
            return self._compute.ask(replace(job, state=None))

    def _check_room(self, study: Study, count: int) -> None:
        limit = self._settings.max_trials
        if study.total + count > limit:
            raise TooManyTrials(f"a study may have at most {limit} trials; this one has {study.total}")

    def _handed_out(
        self, snapshot: Snapshot, shares: Sequence[Share], computed: AskResult | None, keyed: Keyed | None
    ) -> list[Answer]:
        """Store what was found, if the snapshot still holds."""
        with self._database.write() as tx:
            idempotency = IdempotencyRepository(tx)
            if keyed is not None and (stored := idempotency.claim(keyed)) is not None:
                return [stored]
            answers = self._store(tx, snapshot, shares, computed)
            if keyed is not None:
                idempotency.fill(keyed, answers[0])
        if computed is not None:
            self._metrics.asked(computed.origins)
        return answers

    def _store(
        self, tx: Transaction, snapshot: Snapshot, shares: Sequence[Share], computed: AskResult | None
    ) -> list[Answer]:
        studies = StudyRepository(tx)
        locked = studies.lock(snapshot.study.workspace, snapshot.study.id)
        study = locked.study
        if study.state == "stopped":
            raise StudyStopped("it was stopped while the points were computed")
        handed = _lease_again(tx, locked, shares)
        values: dict[str, Any] = {}
        if computed is not None:
            if study.ask_revision != snapshot.study.ask_revision:
                raise _Overtaken
            self._check_room(study, len(computed.points))
            new = new_trials(locked, shares, computed)
            TrialRepository(tx).add([trial for trials in new for trial in trials])
            self._remember(tx, study, computed, locked.now)
            handed = [again + trials for again, trials in zip(handed, new, strict=True)]
            values = {"ask_revision": study.ask_revision + 1, "running": study.running + len(computed.points)}
        studies.change(locked, **values)
        return [share_answer(share, trials, computed) for share, trials in zip(shares, handed, strict=True)]

    def _remember(self, tx: Transaction, study: Study, computed: AskResult, now: datetime) -> None:
        """Keep the chain for the next ask, and how this one was made for whoever looks later."""
        samples = None
        if computed.state is not None and "dumbo" in computed.origins:
            samples = samples_of(self._problems.of(study), computed.state)
        asks = AskRepository(tx)
        asks.add(Ask(study.id, study.total, len(computed.points), computed.diagnostics, samples, now))
        if computed.state is not None:
            asks.save_state(study.id, computed.state, now)

    def _drawn_at_random(
        self, workspace: str, ref: str, askings: Sequence[Asking], keyed: Keyed | None
    ) -> list[Answer]:
        """The way out when others were faster every time: all in one transaction, nobody in between."""
        with self._database.write() as tx:
            idempotency = IdempotencyRepository(tx)
            if keyed is not None and (stored := idempotency.claim(keyed)) is not None:
                return [stored]
            StudyRepository(tx).lock(workspace, ref)
            snapshot = _snapshot(tx, workspace, ref)
            shares = self._shares(snapshot, askings)
            computed = _random(snapshot.job(shares))
            answers = self._store(tx, snapshot, shares, computed)
            if keyed is not None:
                idempotency.fill(keyed, answers[0])
        if computed is not None:
            self._metrics.asked(computed.origins)
        return answers


def _random(job: AskJob) -> AskResult | None:
    if job.count == 0:
        return None
    try:
        return fallback(job, "overtaken", "Other asks were faster every time.")
    except SpaceExhausted as error:
        raise SpaceIsExhausted(str(error)) from error


def _snapshot(tx: Transaction, workspace: str, ref: str) -> Snapshot:
    found = StudyRepository(tx).get_with_clock(workspace, ref)
    trials = TrialRepository(tx)
    study_id = found.study.id
    return Snapshot(
        found.study,
        found.now,
        trials.running(study_id),
        trials.observations(study_id),
        AskRepository(tx).state(study_id),
    )


def _lease_again(tx: Transaction, locked: Locked, shares: Sequence[Share]) -> list[list[Trial]]:
    """The trials that each ask is given again, with their new lease, if they are still what they were."""
    trials = TrialRepository(tx)
    before = {trial.number: trial for share in shares for trial in share.again}
    if before and trials.some(locked.study.id, before) != before:
        raise _Overtaken
    handed = []
    for share in shares:
        client, until = share.wanted.client_id, locked.now + share.wanted.lease
        if share.again:
            trials.lease(locked.study.id, [trial.number for trial in share.again], client, until)
        handed.append([replace(trial, client_id=client, lease_expires_at=until) for trial in share.again])
    return handed
