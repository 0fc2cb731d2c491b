"""A trial as clients see it."""

from __future__ import annotations

from typing import Any

from service.trials.records import Trial


def trial_view(trial: Trial) -> dict[str, Any]:
    return {
        "number": trial.number,
        "state": trial.state,
        "parameters": trial.parameters,
        "value": trial.value,
        "factor_values": trial.factor_values,
        "sem": trial.sem,
        "reason": trial.reason,
        "origin": trial.origin,
        "client_id": trial.client_id,
        "lease_expires_at": trial.lease_expires_at,
        "asked_at": trial.asked_at,
        "told_at": trial.told_at,
    }
