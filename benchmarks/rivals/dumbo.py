"""Ours: DuMBO in this process, and DuMBO asked over HTTP, on the same interface as every rival."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Mapping
from typing import Any

import httpx

from benchmarks.problems import Array, BenchmarkProblem
from benchmarks.problems.base import Mode
from core import Observation, Problem, propose
from core.space import Point

DEFAULT_URL = "http://127.0.0.1:8000"


class Dumbo:
    """Calls the core directly and keeps, as the service would, the observations and the state.

    `decomposed` hands on the factor values; without it the core sees only their sum. With a `batch` above 1 the model
    is asked for so many points at a time, each of which is given out before any other ask, as to so many workers.
    """

    def __init__(
        self,
        problem: BenchmarkProblem,
        seed: int,
        mode: Mode = "infer",
        *,
        decomposed: bool = False,
        batch: int = 1,
        **knobs: Any,
    ) -> None:
        self.problem = problem
        self.decomposed = decomposed
        self.core_problem = Problem.from_dict(problem.to_spec(mode, seed=seed, **knobs))
        self.batch = batch
        self.waiting: list[Point] = []  # asked for, not given out yet
        self.observations: list[Observation] = []
        self.state: dict[str, Any] | None = None
        self.diagnostics: dict[str, Any] = {}
        self.phases: dict[str, float] = {}  # seconds of the last ask by phase

    def ask(self) -> Array:
        if not self.waiting:
            proposal = propose(self.core_problem, self.observations, state=self.state, count=self.batch)
            self.state = proposal.state if proposal.state is not None else self.state
            self.diagnostics = proposal.diagnostics
            self.phases = dict(proposal.diagnostics.get("seconds", {}))
            self.waiting = list(proposal.points)
        return self.problem.array(self.waiting.pop(0))

    def tell(self, x: Array, y: float, Y: Mapping[str, float] | None = None) -> None:
        point = self.problem.point(x)
        values: dict[str, Any] = {"factor_values": Y} if self.decomposed and Y is not None else {"value": y}
        self.observations.append(Observation(point, **values))


class DumboOverHTTP:
    """The same study kept by a running service."""

    def __init__(
        self,
        problem: BenchmarkProblem,
        seed: int,
        mode: Mode = "infer",
        *,
        decomposed: bool = False,
        url: str = DEFAULT_URL,
    ) -> None:
        self.problem = problem
        self.decomposed = decomposed
        self._client = httpx.Client(base_url=url, timeout=600)
        weakref.finalize(self, self._client.close)  # a run just drops its optimizer
        spec = {
            "name": f"{problem.name}-{mode}-{seed}-{secrets.token_hex(4)}",
            **problem.to_spec(mode, seed=seed),
        }
        self._study = f"/v1/studies/{self._post('/v1/studies', spec)['id']}"
        self._trial: dict[str, Any] | None = None

    def ask(self) -> Array:
        self._trial = self._post(f"{self._study}/ask", {"count": 1})["trials"][0]
        return self.problem.array(self._trial["parameters"])

    def tell(self, x: Array, y: float, Y: Mapping[str, float] | None = None) -> None:
        result: dict[str, Any] = {"factor_values": dict(Y)} if self.decomposed and Y is not None else {"value": y}
        if self._trial is not None and self._trial["parameters"] == self.problem.point(x):
            result["trial"] = self._trial["number"]
        else:
            result["parameters"] = self.problem.point(x)
        self._post(f"{self._study}/tell", result)
        self._trial = None

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        response = self._client.post(path, json=body)
        if response.is_error:
            raise RuntimeError(f"POST {path} answered {response.status_code}: {response.text}")
        answer: dict[str, Any] = response.json()
        return answer
