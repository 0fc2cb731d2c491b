"""What structure looks like on the wire."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from core.problem import Mode
from service.schemas import Sent


class SampleOut(Sent):
    """One decomposition."""

    factors: list[list[str]] = Field(description="Parameter names, factor by factor.")
    log_evidence: float | None = Field(description="None before the model has seen data.")
    weight: float | None = Field(None, description="Its share in the mixture.")


class CoOccurrenceOut(Sent):
    """How probable it is that two parameters share a factor."""

    parameters: list[str]
    matrix: list[list[float]]


class StructureOut(Sent):
    """The additive structure of a study."""

    mode: Mode
    samples: list[SampleOut]
    co_occurrence: CoOccurrenceOut
    map: list[list[str]] = Field(description="The most probable decomposition.")


class PastSamples(Sent):
    """What one ask drew; `trial` is the first it made."""

    trial: int
    created_at: datetime
    samples: list[SampleOut]
    map: list[list[str]]


class StructureHistory(Sent):
    history: list[PastSamples]
    next_cursor: str | None
