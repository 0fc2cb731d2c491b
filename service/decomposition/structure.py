"""Structure as plain data: what is stored with each ask, and what is shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.problem import Problem
from core.state import structure


def current(problem: Problem, state: Mapping[str, Any] | None) -> dict[str, Any]:
    """The structure that the stored state tells."""
    return structure(problem, state)


def samples_of(problem: Problem, state: Mapping[str, Any]) -> dict[str, Any]:
    """What is worth keeping of a state for later viewing: not the matrix, which the samples give again."""
    shown = current(problem, state)
    return {"samples": shown["samples"], "map": shown["map"]}


def past(problem: Problem, stored: Mapping[str, Any]) -> dict[str, Any]:
    """The structure of an earlier ask, from what was kept of it."""
    samples = stored["samples"]
    return {
        "mode": problem.decomposition.mode,
        "samples": samples,
        "co_occurrence": {"parameters": problem.names, "matrix": _co_occurrence(problem.names, samples)},
        "map": stored["map"],
    }


def _co_occurrence(names: list[str], samples: list[dict[str, Any]]) -> list[list[float]]:
    """The weight of the samples in which two parameters share a factor."""
    index = {name: j for j, name in enumerate(names)}
    weights = np.array([sample.get("weight", 1.0) for sample in samples])
    together = np.zeros((len(names), len(names)))
    for sample, weight in zip(samples, weights / weights.sum(), strict=True):
        M = np.zeros((len(sample["factors"]), len(names)))
        for i, factor in enumerate(sample["factors"]):
            M[i, [index[name] for name in factor]] = 1.0
        together += weight * (M.T @ M > 0)
    matrix: list[list[float]] = together.round(12).tolist()
    return matrix
