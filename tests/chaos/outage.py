"""A client that goes on through a fault, and keeps account: of what it was told, and of how.

Whatever happens behind it, the service may answer as it always does, or with a 503 that is a problem and says when to
come again. What it acknowledged must be there afterwards, and it must come back by itself.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.chaos.report import Finding

STUDY = {
    "name": "outage",
    "direction": "minimize",
    "parameters": [{"name": "x", "type": "float", "bounds": [0, 1]}],
    "algorithm": {"seed": 1, "initial_trials": 2},
}
PATIENCE = 600.0  # seconds in which it must be back; a loaded machine is slow, and this is about loss, not speed


class Witness:
    """Tells, reads and asks on one study, and remembers what was acknowledged and what was wrong."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=PATIENCE)
        self._values = itertools.count()
        self.told: dict[int, float] = {}
        self.faults: list[str] = []
        self.refused = 0
        self.call("POST", "/v1/studies", STUDY)

    def call(self, method: str, path: str, body: Any = None) -> httpx.Response | None:
        """The answer if it is a good one; None for a 503 that is as it should be. All others are faults."""
        try:
            answer = self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            self.faults.append(f"{method} {path}: {error!r}")
            return None
        if answer.is_success:
            return answer
        if _is_proper(answer):
            self.refused += 1
        else:
            self.faults.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        return None

    def tell(self) -> bool:
        """Tell a new point; whether that was acknowledged."""
        value = float(next(self._values))
        answer = self.call(
            "POST", "/v1/studies/outage/tell", {"parameters": {"x": value % 1000 / 1000}, "value": value}
        )
        if answer is not None:
            self.told[answer.json()["trials"][0]["number"]] = value
        return answer is not None

    def tell_much(self) -> bool:
        """Tell a thousand points at once."""
        first = next(self._values)
        values = [float(first)] * 1000
        results = [{"parameters": {"x": 0.5}, "value": value} for value in values]
        answer = self.call("POST", "/v1/studies/outage/tell", {"results": results})
        if answer is not None:
            self.told |= {trial["number"]: float(first) for trial in answer.json()["trials"]}
        return answer is not None

    def ask(self, study: str = "outage", **body: Any) -> dict[str, Any]:
        """The first trial of an ask, with its diagnostics; without an `origin` if there was none."""
        answer = self.call("POST", f"/v1/studies/{study}/ask", body)
        if answer is None:
            return {"origin": None, "diagnostics": {}}
        trial: dict[str, Any] = answer.json()["trials"][0]
        return trial | {"diagnostics": answer.json()["diagnostics"]}

    def ready(self) -> bool:
        return self.call("GET", "/readyz") is not None

    def expect(self, claim: str, holds: bool) -> None:
        if not holds:
            self.faults.append(claim)

    def until(self, claim: str, holds: Callable[[], bool]) -> None:
        """Wait for it; a fault if it takes too long."""
        give_up = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > give_up:
                self.faults.append(f"not within {PATIENCE:g} s: {claim}")
                return
            time.sleep(0.2)

    def recovers(self) -> None:
        """The service must be ready and take tells, without anybody's help."""
        self.until("ready again", self.ready)
        self.until("a tell acknowledged again", self.tell)

    def account(self) -> None:
        """Every acknowledged result must be there as told, and trial numbers must have no gap."""
        found: dict[int, float | None] = {}
        cursor: str | None = ""
        while cursor is not None:
            page = self._client.get("/v1/studies/outage/trials", params={"limit": 1000} | _given(cursor)).json()
            found |= {trial["number"]: trial["value"] for trial in page["trials"]}
            cursor = page["next_cursor"]
        lost = [number for number, value in self.told.items() if found.get(number) != value]
        self.expect(f"{len(lost)} acknowledged results are gone", not lost)
        self.expect("trial numbers have gaps", sorted(found) == list(range(len(found))))

    def close(self) -> None:
        self._client.close()


def _given(cursor: str) -> dict[str, str]:
    return {"cursor": cursor} if cursor else {}


def _is_proper(answer: httpx.Response) -> bool:
    return (
        answer.status_code == 503
        and answer.headers.get("content-type") == "application/problem+json"
        and "retry-after" in answer.headers
        and {"type", "title", "status", "detail", "code"} <= answer.json().keys()
    )


@contextmanager
def witness(url: str) -> Iterator[Witness]:
    """A client whose account is settled at the end."""
    client = Witness(url)
    try:
        yield client
        client.account()
    finally:
        client.close()


def finding(what: str, database: str, times: int, started: float, client: Witness) -> Finding:
    """What a witness has seen of a fault that happened so many times."""
    detail = f"{len(client.told):,} results acknowledged and kept, {client.refused:,} requests refused with 503"
    if client.faults:
        detail += f"; {'; '.join(client.faults[:5])}"
    seconds = time.monotonic() - started
    return Finding(what, database, "once" if times == 1 else f"{times} times", len(client.faults), seconds, detail)
