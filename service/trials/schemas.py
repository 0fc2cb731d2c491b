"""What asks, tells and trials look like on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, JsonValue, Tag

from service.schemas import Point, Received, Sent
from service.trials.records import TrialState


class AskRequest(Received):
    """All of it is optional; so is the body."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{}, {"count": 4, "client_id": "worker-1", "lease_seconds": 600}, {"fixed": {"opt": "sgd"}}]
        }
    )

    count: int = Field(1, ge=1, description="How many trials.")
    client_id: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="Who asks. A client that holds running trials gets those back first.",
    )
    lease_seconds: float | None = Field(None, gt=0, description="How long nobody else gets the trials.")
    fixed: dict[str, Any] = Field(default_factory=dict, description="Values that some parameters must have.")


RESULTS: list[JsonValue] = [
    {"trial": 3, "value": 0.91},
    {"trial": 3, "factor_values": {"quality": 0.7, "cost": 0.21}},
    {"trial": 3, "value": 0.91, "sem": 0.02},
    {"trial": 3, "state": "failed", "reason": "diverged"},
    {"parameters": {"lr": 0.1, "width": 64, "drop": 0, "batch": 32, "opt": "sgd"}, "value": 0.4},
]


class Result(Received):
    """What became of a trial, or of a point that was never asked for (`parameters`)."""

    model_config = ConfigDict(json_schema_extra={"examples": RESULTS})

    trial: int | None = Field(None, ge=0, le=2**31 - 1, description="The trial's number.")
    parameters: Point | None = None
    value: float | None = None
    factor_values: dict[str, float] | None = Field(None, description="One per known factor; y is their sum.")
    sem: float | None = Field(None, ge=0, description="Standard error of the value.")
    state: Literal["completed", "failed", "abandoned"] = "completed"
    reason: str | None = Field(None, max_length=1000, description="Why it failed or was abandoned.")


class Results(Received):
    """Several results, all stored or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"results": [{"trial": 0, "value": 0.5}, {"trial": 1, "state": "failed"}]}]}
    )

    results: list[Result] = Field(min_length=1)


def _shape(body: Any) -> str:
    return "many results" if isinstance(body, dict) and "results" in body else "one result"


TellRequest = Annotated[
    Annotated[Result, Tag("one result")] | Annotated[Results, Tag("many results")], Discriminator(_shape)
]


class TrialOut(Sent):
    """A trial."""

    number: int = Field(description="0, 1, 2, ... without gaps.")
    state: TrialState
    parameters: dict[str, Any]
    value: float | None
    factor_values: dict[str, float] | None
    sem: float | None
    reason: str | None
    origin: str = Field(description="`initial`, `dumbo`, `told`, or a fallback such as `random`.")
    client_id: str | None
    lease_expires_at: datetime | None
    asked_at: datetime | None
    told_at: datetime | None


class AskOut(Sent):
    trials: list[TrialOut]
    diagnostics: dict[str, Any] = Field(description="How the new points were found.")


class TellOut(Sent):
    trials: list[TrialOut]
    best: TrialOut | None


class TrialPage(Sent):
    trials: list[TrialOut]
    next_cursor: str | None


class SeriesOut(Sent):
    """Trials in columns, by number, without their points."""

    numbers: list[int]
    states: list[TrialState]
    values: list[float | None]
    origins: list[str]


class AskDiagnosticsOut(Sent):
    """How the ask went that made a trial."""

    first_trial: int
    count: int
    created_at: datetime
    diagnostics: dict[str, Any]
    decomposition: dict[str, Any] | None = Field(
        description="The samples drawn at that ask. A cautious ask used others: those counted in the diagnostics."
    )
