"""The contract of studies and trials as a plain Python program: lists and dictionaries, and no database.

It knows everything but what the optimizer proposes and what the clock says: those it learns from an answer, checks
what it can of them, and from then on expects to see them again. Trials are as the API shows them, with times parsed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

JSON = dict[str, Any]
TIMES = ("lease_expires_at", "asked_at", "told_at")
STATES = ("running", "completed", "failed", "abandoned")
MAX_TRIALS, MAX_COUNT, MAX_RESULTS, MAX_LEASE = 20, 6, 5, 100_000
LEASE = 3500.0  # unless the ask says otherwise
SPACE: list[JSON] = [
    {"name": "x", "type": "float", "bounds": [-5.0, 5.0]},
    {"name": "n", "type": "int", "bounds": [1, 1000]},
    {"name": "kind", "type": "categorical", "values": ["a", "b"]},
]
FACTORS = [{"name": "left", "parameters": ["x", "kind"]}, {"name": "right", "parameters": ["n", "kind"]}]


class Refused(Exception):
    """The service must refuse this, so and with this code, and change nothing."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{status} {code}")
        self.status, self.code = status, code


def timed(trial: JSON) -> JSON:
    """A trial as the API shows it, with times as times."""
    return trial | {name: trial[name] and datetime.fromisoformat(trial[name]) for name in TIMES}


@dataclass
class Study:
    """A study and its trials."""

    id: str
    spec: JSON
    created_at: datetime
    state: str = "active"
    metadata: JSON = field(default_factory=dict)
    trials: list[JSON] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        return {state: sum(trial["state"] == state for trial in self.trials) for state in STATES}

    @property
    def best(self) -> JSON | None:
        completed = [trial for trial in self.trials if trial["state"] == "completed"]
        sign = 1 if self.spec["direction"] == "minimize" else -1
        return min(completed, key=lambda trial: (sign * trial["value"], trial["number"]), default=None)

    @property
    def known(self) -> bool:
        """Whether factor values may be told."""
        return self.spec["decomposition"]["mode"] == "known"

    def trial(self, number: int) -> JSON:
        if number >= len(self.trials):
            raise Refused(404, "trial_not_found")
        return self.trials[number]

    def change(self, patch: JSON) -> None:
        self.state = patch.get("state", self.state)
        self.metadata = patch.get("metadata", self.metadata)

    def due(self, request: JSON, now: datetime) -> list[JSON]:
        """The trials that this ask gets again: its client's own, then those whose lease is over."""
        if request.get("count", 1) > MAX_COUNT or request.get("lease_seconds", LEASE) > MAX_LEASE:
            raise Refused(422, "invalid")
        if self.state == "stopped":
            raise Refused(409, "study_stopped")
        count, fixed = request.get("count", 1), request.get("fixed", {}).items()
        running = [t for t in self.trials if t["state"] == "running" and fixed <= t["parameters"].items()]
        client = request.get("client_id")
        own = [t for t in running if client is not None and t["client_id"] == client]
        free = [t for t in running if t not in own and t["lease_expires_at"] <= now]
        again = (own + free)[:count]
        if len(again) < count and len(self.trials) + count - len(again) > MAX_TRIALS:
            raise Refused(409, "too_many_trials")
        return again

    def hand_out(self, request: JSON, again: list[JSON], answered: list[JSON]) -> None:
        """Take over what the answer says of new points, leases and times; everything else of it is known."""
        count, first = request.get("count", 1), len(self.trials)
        numbers = [trial["number"] for trial in again] + list(range(first, first + count - len(again)))
        assert [trial["number"] for trial in answered] == sorted(numbers)
        for trial in answered:
            until = trial["lease_expires_at"]
            learned = {"client_id": request.get("client_id"), "lease_expires_at": until}
            if trial["number"] < first:
                self.trials[trial["number"]] |= learned
                continue
            self._check_proposal(trial, request)
            assert until - trial["asked_at"] == timedelta(seconds=request.get("lease_seconds", LEASE))
            proposed = {name: trial[name] for name in ("parameters", "origin", "asked_at")}
            self.trials.append(_empty(trial["number"]) | proposed | learned)
        assert answered == [self.trials[number] for number in sorted(numbers)]

    def _check_proposal(self, trial: JSON, request: JSON) -> None:
        point = trial["parameters"]
        assert trial["origin"] in ("initial", "dumbo"), trial["origin"]
        assert list(point) == ["x", "n", "kind"]
        assert -5 <= point["x"] <= 5
        assert 1 <= point["n"] <= 1000
        assert point["kind"] in ("a", "b")
        assert request.get("fixed", {}).items() <= point.items()
        assert point not in [t["parameters"] for t in self.trials if t["state"] in ("running", "abandoned")]

    def told(self, results: list[JSON]) -> tuple[list[JSON], list[int]]:
        """All trials as they are after these results, and the number of each result's trial. Changes nothing."""
        after, numbers = [dict(trial) for trial in self.trials], []
        for result in results:
            if "trial" in result and result["trial"] >= len(after):  # one told before it in the request is there
                raise Refused(404, "trial_not_found")
            outcome = self._outcome(result)
            if "trial" not in result:
                after.append(_empty(len(after)) | {"parameters": result["parameters"], "origin": "told"} | outcome)
                numbers.append(len(after) - 1)
                continue
            trial = after[result["trial"]]
            if trial["state"] == "running":
                trial |= outcome
            elif any(trial[name] != outcome[name] for name in outcome if name != "reason"):
                raise Refused(409, "trial_finished")
            numbers.append(trial["number"])
        if len(after) > max(MAX_TRIALS, len(self.trials)):
            raise Refused(409, "too_many_trials")
        return after, numbers

    def _outcome(self, result: JSON) -> JSON:
        state, factors = result.get("state", "completed"), result.get("factor_values")
        given = {"value", "factor_values", "sem"} & result.keys()
        if (state == "completed") != bool(given & {"value", "factor_values"}) or (state != "completed" and given):
            raise Refused(422, "invalid")
        if factors is not None and (not self.known or set(factors) != {"left", "right"}):
            raise Refused(422, "invalid")
        return {
            "state": state,
            "value": sum(factors.values()) if factors else result.get("value"),
            "factor_values": factors,
            "sem": result.get("sem"),
            "reason": result.get("reason"),
            "lease_expires_at": None,
        }

    def take(self, after: list[JSON], numbers: list[int], answered: list[JSON]) -> bool:
        """Take the results over, with the time from the answer; whether anything changed."""
        before = {trial["number"]: trial["state"] for trial in self.trials}
        self.trials = after
        assert [trial["number"] for trial in answered] == numbers
        new = {number for number in numbers if before.get(number, "running") == "running"}
        times = {trial["told_at"] for trial in answered if trial["number"] in new}
        assert len(times) == (1 if new else 0)
        for number in new:
            self.trials[number]["told_at"] = max(times)
        assert answered == [self.trials[number] for number in numbers]
        return bool(new)

    def turn_clock(self, seconds: float) -> None:
        """As much later it is: everything known happened so much longer ago."""
        back = timedelta(seconds=seconds)
        self.created_at -= back
        for trial in self.trials:
            trial |= {name: trial[name] and trial[name] - back for name in TIMES}


def _empty(number: int) -> JSON:
    names = ("value", "factor_values", "sem", "reason", "client_id", *TIMES)
    return {"number": number, "state": "running", **dict.fromkeys(names)}
