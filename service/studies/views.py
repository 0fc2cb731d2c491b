"""A study as clients see it: its spec, flat, and how it stands."""

from __future__ import annotations

from typing import Any

from service.studies.records import Study
from service.trials.records import Trial
from service.trials.views import trial_view


def study_view(study: Study, best: Trial | None) -> dict[str, Any]:
    return {
        "id": study.id,
        "name": study.name,
        "direction": study.problem["direction"],
        "parameters": [_without_none(parameter) for parameter in study.problem["parameters"]],
        "decomposition": _decomposition(study.problem["decomposition"]),
        "algorithm": study.problem["algorithm"],
        "metadata": study.metadata,
        "state": study.state,
        "trial_counts": study.counts,
        "best": None if best is None else trial_view(best),
        "revision": study.revision,
        "created_at": study.created_at,
        "updated_at": study.updated_at,
    }


def etag(study: Study) -> str:
    """Changes with everything that can be seen of the study or its trials."""
    return f'"{study.id}.{study.revision}"'


def _decomposition(spec: dict[str, Any]) -> dict[str, Any]:
    shown = _without_none(spec)
    if spec["mode"] != "known":
        del shown["factors"]
    return shown


def _without_none(spec: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if value is not None}
