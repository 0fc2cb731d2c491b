"""The state machine in small, and that the model of the truth is one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.chaos.contract import run
from tests.chaos.truth import LEASE, MAX_TRIALS, Refused, Study, timed

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POINT = {"x": 1.0, "n": 1, "kind": "a"}


def test_the_service_agrees_with_the_model(database_url: str) -> None:
    """A few of the sequences that `make chaos` runs by the hundred, the same ones every time."""
    calls, _ = run(database_url, examples=3, steps=20, derandomize=True)
    assert calls > 50


def _study(**told: float) -> Study:
    spec = {"direction": "minimize", "decomposition": {"mode": "none"}}
    return Study("st_a", spec, NOW)


def _ask(study: Study, **request: object) -> list[dict[str, object]]:
    """What a service that keeps the contract answers at NOW."""
    lease = timedelta(seconds=float(str(request.get("lease_seconds", LEASE))))
    again = study.due(request, NOW)
    new = range(len(study.trials), len(study.trials) + int(str(request.get("count", 1))) - len(again))
    fresh = [_trial(number, NOW + lease, request.get("client_id")) for number in new]
    old = [trial | {"client_id": request.get("client_id"), "lease_expires_at": NOW + lease} for trial in again]
    answered = sorted([*old, *fresh], key=lambda trial: int(str(trial["number"])))
    study.hand_out(request, again, answered)
    return answered


def _trial(number: int, until: datetime, client: object) -> dict[str, object]:
    nothing = dict.fromkeys(("value", "factor_values", "sem", "reason", "told_at"))
    rest = {"state": "running", "origin": "initial", "client_id": client, "lease_expires_at": until, "asked_at": NOW}
    return {"number": number, "parameters": POINT | {"x": number / 10}, **nothing, **rest}


def test_the_model_gives_a_client_its_own_trials_then_expired_ones() -> None:
    """First its own, whatever their lease; then what nobody holds any more; then new ones."""
    study = _study()
    _ask(study, client_id="a")
    _ask(study, client_id="b", lease_seconds=10.0)
    study.turn_clock(11)
    assert [t["number"] for t in study.due({"client_id": "c", "count": 2}, NOW)] == [1]
    assert [t["number"] for t in study.due({"client_id": "a", "count": 2}, NOW)] == [0, 1]
    assert [t["number"] for t in study.due({"client_id": "b"}, NOW)] == [1]


def test_the_model_notices_a_wrong_answer() -> None:
    """A trial too many, a number that is taken, or a point that is running already."""
    study = _study()
    [first] = _ask(study)
    for wrong in ([], [first], [first | {"number": 1}], [first | {"number": 2, "parameters": POINT}]):
        with pytest.raises(AssertionError):
            study.hand_out({}, [], wrong)


def test_the_model_takes_a_result_once() -> None:
    """The same again changes nothing, another one is refused, and a fault in one result leaves the others untold."""
    study = _study()
    _ask(study, count=2)
    after, numbers = study.told([{"trial": 0, "value": 1.0}])
    assert study.take(after, numbers, [after[0] | {"told_at": NOW}])
    after, numbers = study.told([{"trial": 0, "value": 1.0}])
    assert not study.take(after, numbers, [after[0]])
    with pytest.raises(Refused, match="trial_finished"):
        study.told([{"trial": 1, "value": 1.0}, {"trial": 0, "value": 2.0}])
    assert study.counts == {"running": 1, "completed": 1, "failed": 0, "abandoned": 0}
    with pytest.raises(Refused, match="too_many_trials"):
        study.told([{"parameters": POINT, "value": 1.0}] * MAX_TRIALS)
    assert timed({"lease_expires_at": None, "asked_at": "2026-01-01T00:00:00Z", "told_at": None})["asked_at"] == NOW
