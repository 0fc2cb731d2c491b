"""What predictions look like on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from service.schemas import Point, Received, Sent


class PredictRequest(Received):
    """Points to predict at."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"points": [{"lr": 0.1, "width": 64, "drop": 0, "batch": 32, "opt": "sgd"}]}]}
    )

    points: list[Point] = Field(min_length=1)


class Normal(Sent):
    mean: float
    sd: float


class PredictionOut(Sent):
    """The model's belief at one point."""

    mean: float = Field(description="In the objective's units.")
    sd: float
    scale: Literal["objective", "model"] = Field(
        description="What the factors add up to: `mean` (objective) or `model_mean` (model)."
    )
    model_mean: float
    factors: dict[str, Normal]


class PredictOut(Sent):
    predictions: list[PredictionOut]
