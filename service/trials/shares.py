"""Who gets what: asks, whether several may share a computation, and the share of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from service.answers import Answer
from service.compute.jobs import AskResult
from service.idempotency.repository import Keyed
from service.studies.repository import Locked
from service.trials.records import Trial
from service.trials.schemas import AskRequest
from service.trials.views import trial_view


@dataclass(frozen=True)
class Asking:
    """One request."""

    workspace: str
    ref: str
    request: AskRequest
    keyed: Keyed | None = None


def may_share(askings: Sequence[Asking], another: Asking) -> bool:
    """Whether another ask of their study can be computed with these.

    Each wants one trial, with the same values fixed; none has a key of its own to claim; and no client asks twice,
    since its second ask gets the trial of the first.
    """
    together = [*askings, another]
    clients = [asking.request.client_id for asking in together if asking.request.client_id is not None]
    return (
        all(asking.keyed is None and asking.request.count == 1 for asking in together)
        and len({repr(asking.request.fixed) for asking in together}) == 1  # as text: true is not 1
        and len(set(clients)) == len(clients)
    )


@dataclass(frozen=True)
class Wanted:
    """An ask that was checked."""

    count: int
    client_id: str | None
    lease: timedelta
    fixed: dict[str, Any]


@dataclass(frozen=True)
class Share:
    """What one ask gets: the trials it is given again, and as many new points as are missing."""

    wanted: Wanted
    again: list[Trial]

    @property
    def missing(self) -> int:
        return self.wanted.count - len(self.again)


def redeliverable(running: Sequence[Trial], wanted: Wanted, now: datetime) -> list[Trial]:
    """Of the running trials, those this ask gets again: its client's own first, then any with an expired
    lease.
    """
    matching = [trial for trial in running if _agrees(trial.parameters, wanted.fixed)]
    own = [t for t in matching if wanted.client_id is not None and t.client_id == wanted.client_id]
    expired = [t for t in matching if t not in own and t.lease_expires_at and t.lease_expires_at <= now]
    return (own + expired)[: wanted.count]


def _agrees(point: dict[str, Any], fixed: dict[str, Any]) -> bool:
    """Whether the point has the fixed values; true is not 1."""
    return all((type(point[name]) is bool, point[name]) == (type(v) is bool, v) for name, v in fixed.items())


def new_trials(locked: Locked, shares: Sequence[Share], computed: AskResult) -> list[list[Trial]]:
    """The computed points as trials, as many for each ask as it misses."""
    first = locked.study.total
    points = enumerate(zip(computed.points, computed.origins, strict=True))
    return [
        [
            Trial(
                locked.study.id,
                first + i,
                "running",
                point,
                origin=origin,
                ask_number=first,
                client_id=share.wanted.client_id,
                lease_expires_at=locked.now + share.wanted.lease,
                asked_at=locked.now,
            )
            for i, (point, origin) in islice(points, share.missing)
        ]
        for share in shares
    ]


def share_answer(share: Share, trials: Sequence[Trial], computed: AskResult | None) -> Answer:
    views = [trial_view(trial) for trial in sorted(trials, key=lambda trial: trial.number)]
    diagnostics = {} if computed is None else computed.diagnostics
    return Answer.of({"trials": views, "diagnostics": diagnostics | {"redelivered": len(share.again)}})
