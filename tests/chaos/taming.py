"""Hooks for schemathesis: every other generated body is replaced by one that makes sense.

A schema cannot say that bounds must be in order or that a point needs a value for each parameter, so nearly every study
made from it is refused, and what lies behind a study would hardly be reached. Only requests that were meant to be valid
are changed; what is broken on purpose stays broken.
"""

from __future__ import annotations

import os
import random
import uuid
from typing import Any

import schemathesis
from schemathesis import Case, GenerationMode, HookContext

from tests.support.app import SPACE

PHASES = {"fuzzing", "stateful"}
_random = random.Random(os.environ.get("TAMING_SEED"))


def _point() -> dict[str, Any]:
    return {"x": _random.uniform(-5, 5), "n": _random.randint(1, 100), "kind": _random.choice("abc")}


def _study() -> dict[str, Any]:
    mode = _random.choice(["infer", "random", "none"])
    return {
        "name": uuid.uuid4().hex,
        "direction": _random.choice(["minimize", "maximize"]),
        "parameters": SPACE,
        "decomposition": {"mode": mode},
        "algorithm": {"seed": 1, "initial_trials": 3},
    }


def _ask() -> dict[str, Any]:
    return {"count": _random.randint(1, 3), "client_id": _random.choice(["a", "b"]), "lease_seconds": 0.01}


def _tell() -> dict[str, Any]:
    results = [{"parameters": _point(), "value": _random.gauss(0, 1)} for _ in range(_random.randint(1, 4))]
    return _random.choice([results[0], {"results": results}, {"trial": 0, "state": "failed", "reason": "x"}])


TAMED = {
    "create_study": _study,
    "ask": _ask,
    "tell": _tell,
    "predict": lambda: {"points": [_point()]},
}


@schemathesis.hook
def before_call(context: HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    """Replace the body, half of the time."""
    tamed = TAMED.get(case.operation.definition.raw.get("operationId", ""))
    meta = case.meta
    if tamed is None or meta is None or meta.phase.name not in PHASES:
        return
    if meta.generation.mode is GenerationMode.POSITIVE and _random.random() < 0.5:
        case.body = tamed()
