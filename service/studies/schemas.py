"""What a study spec and a study look like on the wire. Shapes only: `core.problem` judges the sense."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from core import problem as core
from core.parameter import ParameterType, Scale
from service.schemas import Number, Received, Sent
from service.trials.schemas import TrialOut

EXAMPLE: dict[str, Any] = {
    "name": "press-line",
    "direction": "minimize",
    "parameters": [
        {"name": "lr", "type": "float", "bounds": [1e-5, 1.0], "scale": "log"},
        {"name": "width", "type": "int", "bounds": [16, 1024], "scale": "log"},
        {"name": "drop", "type": "float", "bounds": [0, 0.5]},
        {"name": "batch", "type": "ordinal", "values": [16, 32, 64]},
        {"name": "opt", "type": "categorical", "values": ["adam", "sgd"]},
    ],
    "decomposition": {
        "mode": "known",
        "factors": [
            {"name": "quality", "parameters": ["lr", "opt", "drop"]},
            {"name": "cost", "parameters": ["width", "batch"]},
        ],
    },
    "algorithm": {"seed": 7},
    "metadata": {"team": "vision"},
}


class ParameterSpec(Received):
    """A variable: a range with `bounds`, or a list of `values`."""

    name: str = Field(description="Unique within the study.")
    type: ParameterType
    bounds: list[Number] | None = Field(
        None, min_length=2, max_length=2, description="[low, high], both inclusive; for float and int."
    )
    scale: Scale = Field("linear", description="How distances count along a range.")
    values: list[str | bool | Number] | None = Field(
        None, description="The choices of an ordinal (in order) or a categorical."
    )


class FactorSpec(Received):
    """One summand of the objective."""

    name: str
    parameters: list[str] = Field(description="Names of the parameters it depends on.")


class DecompositionSpec(Received):
    """How the objective splits into a sum."""

    mode: core.Mode = Field("infer", description="`known` needs `factors`, which may overlap.")
    factors: list[FactorSpec] | None = None
    max_factor_size: int | None = Field(None, description="For `infer` and `random`.")
    samples: int | None = Field(None, description="Decompositions averaged over.")


class AlgorithmSpec(Received):
    """Knobs, all optional. Left out, `seed` is drawn at random and stored with the study."""

    seed: int | None = None
    initial_trials: int | None = Field(None, description="Trials before the model takes over.")
    beta: core.BetaSchedule | Number | None = Field(None, description="Exploration: a schedule or a number.")
    kernel: core.Kernel | None = None
    neighborhood: core.Neighborhood | None = None
    transform: core.Transform | None = None
    proposals: int | None = None


class StudySpec(Received):
    """A new study."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: str = Field(description="Unique within the workspace; usable in place of the id.")
    direction: core.Direction
    parameters: list[ParameterSpec]
    decomposition: DecompositionSpec = Field(default_factory=DecompositionSpec)
    algorithm: AlgorithmSpec = Field(default_factory=AlgorithmSpec)
    metadata: dict[str, Any] = Field(default_factory=dict, description="Yours; stored and given back.")


class StudyPatch(Received):
    """What may be changed of a study."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "stopped"}]})

    state: Literal["active", "stopped"] | None = None
    metadata: dict[str, Any] | None = Field(None, description="Replaces all of it.")


class TrialCounts(Sent):
    running: int
    completed: int
    failed: int
    abandoned: int


class ParameterOut(Sent):
    name: str
    type: ParameterType
    bounds: list[float] | None = None
    scale: Scale
    values: list[str | bool | float] | None = None


class FactorOut(Sent):
    name: str
    parameters: list[str]


class DecompositionSpecOut(Sent):
    mode: core.Mode
    factors: list[FactorOut] | None = None
    max_factor_size: int | None = None
    samples: int


class StudyOut(Sent):
    """A study: its spec with every default filled in, and how it stands."""

    id: str
    name: str
    direction: core.Direction
    parameters: list[ParameterOut]
    decomposition: DecompositionSpecOut
    algorithm: dict[str, Any]
    metadata: dict[str, Any]
    state: Literal["active", "stopped"]
    trial_counts: TrialCounts
    best: TrialOut | None
    revision: int = Field(description="Grows with every change of the study or its trials.")
    created_at: datetime
    updated_at: datetime


class StudyPage(Sent):
    studies: list[StudyOut]
    next_cursor: str | None
