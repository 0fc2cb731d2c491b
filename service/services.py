"""Everything the routes use, built once per application and closed with it."""

from __future__ import annotations

from dataclasses import dataclass

from service.answers import Answer
from service.compute.jobs import Compute
from service.decomposition.service import Decompositions
from service.http.admission import Admission
from service.http.together import Together, Work
from service.metrics import Metrics
from service.paging import Cursors
from service.prediction.service import Predictions
from service.settings import Settings
from service.storage.database import Database
from service.storage.probe import WriteProbe
from service.storage.secrets import SharedSecret
from service.studies.records import Problems
from service.studies.service import Studies
from service.trials.ask import Asks
from service.trials.reading import Trials
from service.trials.shares import Asking, may_share
from service.trials.tell import Telling, Tells

# So many requests are done in one go, and no more than make it take so many seconds: each waits for all of them.
ASKED_TOGETHER, ASK_SECONDS = 16, 5.0
TOLD_TOGETHER, TELL_SECONDS = 64, 1.0


@dataclass(frozen=True)
class Services:
    """The use cases, and what they stand on."""

    settings: Settings
    metrics: Metrics
    database: Database
    probe: WriteProbe
    compute: Compute
    admission: Admission
    studies: Studies
    trials: Trials
    asks: Asks
    asking: Work[Asking, Answer]
    tells: Tells
    telling: Together[Telling, Answer | None]
    predictions: Predictions
    decompositions: Decompositions

    @classmethod
    def build(cls, settings: Settings, metrics: Metrics, database: Database, compute: Compute) -> Services:
        problems = Problems()
        asks = Asks(database, compute, settings, problems, metrics)
        tells = Tells(database, settings, problems)
        cursors = Cursors(SharedSecret(database, "cursors"))
        return cls(
            settings,
            metrics,
            database,
            WriteProbe(database),
            compute,
            Admission(settings.queue_size + settings.workers, settings.ask_wait),
            Studies(database, settings, cursors),
            Trials(database, cursors),
            asks,
            Work(asks.ask, ASKED_TOGETHER, ASK_SECONDS, may_share),
            tells,
            Together(Work(tells.together, TOLD_TOGETHER, TELL_SECONDS)),
            Predictions(database, compute, settings, problems),
            Decompositions(database, problems, cursors),
        )
