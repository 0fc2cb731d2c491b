"""Tell: results in, one transaction, no model work.

A transaction takes the rows of its studies, reads the trials in question, checks the results against them in order,
and writes what they change. Requests of one result that come at the same time share a transaction, whatever their
studies: a commit costs the same for all of them, and each is still taken or refused by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from service.answers import Answer
from service.errors import Invalid, ServiceError
from service.idempotency.repository import Keyed
from service.idempotency.service import once
from service.settings import Settings
from service.storage.database import Database, Transaction
from service.studies.records import Problems
from service.studies.repository import Locked, StudyRepository
from service.trials.ledger import Ledger, Loc
from service.trials.repository import TrialRepository
from service.trials.schemas import Result
from service.trials.views import trial_view


@dataclass(frozen=True)
class Telling:
    """One request: results for a study. `single` says where in the body they lay."""

    workspace: str
    ref: str
    results: Sequence[Result]
    keyed: Keyed | None
    single: bool

    @property
    def place(self) -> tuple[str, str]:
        return self.workspace, self.ref

    @property
    def locs(self) -> list[Loc]:
        return [("body",)] if self.single else [("body", "results", i) for i in range(len(self.results))]


class Tells:
    """Takes in results."""

    def __init__(self, database: Database, settings: Settings, problems: Problems) -> None:
        self._database = database
        self._settings = settings
        self._problems = problems

    def tell(self, telling: Telling) -> Answer:
        """Store the results, all or none."""
        limit = self._settings.max_results
        if len(telling.results) > limit:
            raise Invalid.at("body", "results", msg=f"at most {limit} in one tell, got {len(telling.results)}")
        return once(self._database, telling.keyed, lambda tx: self._alone(tx, telling))

    def together(self, tellings: Sequence[Telling]) -> list[Answer | ServiceError | None]:
        """Take requests of one result each in one transaction: what came of each, in their order.

        None for one that must be told by itself: somebody else holds its study right now, or there is none.
        """
        with self._database.write() as tx:
            found = StudyRepository(tx).try_lock({telling.place for telling in tellings})
            ledgers = {locked.study.id: self._ledger(locked) for locked in found.values()}
            by_place = {place: ledgers[locked.study.id] for place, locked in found.items()}
            _read(tx, [(by_place[t.place], t) for t in tellings if t.place in by_place])
            outcomes = [_outcome(by_place.get(telling.place), telling) for telling in tellings]
            _store(tx, ledgers.values())
        return outcomes

    def _alone(self, tx: Transaction, telling: Telling) -> Answer:
        locked = StudyRepository(tx).lock(*telling.place)
        ledger = self._ledger(locked)
        _read(tx, [(ledger, telling)])
        answer = _answer(ledger, telling)
        _store(tx, [ledger])
        return answer

    def _ledger(self, locked: Locked) -> Ledger:
        return Ledger(locked.study, self._problems.of(locked.study), locked.now, self._settings.max_trials)


def _read(tx: Transaction, tellings: Sequence[tuple[Ledger, Telling]]) -> None:
    """Let the ledgers know the trials that these results are about, and the best."""
    ledgers = {ledger.study.id: ledger for ledger, _ in tellings}
    places = {(ledger.study.id, result.trial) for ledger, telling in tellings for result in telling.results}
    places |= {(ledger.study.id, ledger.study.best_number) for ledger in ledgers.values()}
    for trial in TrialRepository(tx).at([(study_id, n) for study_id, n in places if n is not None]):
        ledgers[trial.study_id].known[trial.number] = trial


def _outcome(ledger: Ledger | None, telling: Telling) -> Answer | ServiceError | None:
    if ledger is None:
        return None
    try:
        return _answer(ledger, telling)
    except ServiceError as error:  # raised before anything changed: there is one result
        return error


def _answer(ledger: Ledger, telling: Telling) -> Answer:
    told = ledger.take(telling.results, telling.locs)
    best = ledger.best
    return Answer.of({"trials": [trial_view(t) for t in told], "best": None if best is None else trial_view(best)})


def _store(tx: Transaction, ledgers: Iterable[Ledger]) -> None:
    changed = [ledger for ledger in ledgers if ledger.differs]
    trials = TrialRepository(tx)
    StudyRepository(tx).save([ledger.study for ledger in changed])
    trials.finish([trial for ledger in changed for trial in ledger.changed.values()])
    trials.add([trial for ledger in changed for trial in ledger.added])
