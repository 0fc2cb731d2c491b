"""The two kinds of messages: what we receive is taken literally, what we send is documented."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

# Strict, so neither true nor "1" is a number. An int stays one: it may index a list of choices.
Number: TypeAlias = Annotated[int | float, WithJsonSchema({"type": "number"})]


class Received(BaseModel):
    """No conversions, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Sent(BaseModel):
    """Describes an answer in the OpenAPI document. Answers may gain fields."""

    model_config = ConfigDict(frozen=True)


class ErrorOut(Sent):
    """One thing wrong with the request."""

    loc: list[str | int]
    msg: str


class ProblemOut(Sent):
    """Problem details (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str = Field(description="Stable and machine-readable.")
    errors: list[ErrorOut] = Field(default_factory=list, description="For 422: what to change, and where.")
    request_id: str | None = None


Point: TypeAlias = Annotated[
    dict[str, Any],
    Field(description="A value for each parameter, by name.", examples=[{"lr": 0.1, "opt": "adam"}]),
]
