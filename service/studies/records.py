"""A study as the database holds it."""

from __future__ import annotations

import base64
import re
import secrets
import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from core.problem import Problem

StudyState = Literal["active", "stopped"]
ID_SHAPE = re.compile(r"st_[a-z2-7]{16}")


def new_id() -> str:
    return "st_" + base64.b32encode(secrets.token_bytes(10)).decode().lower()


@dataclass(frozen=True)
class Study:
    """One row. The problem never changes; `total` is also the number of the next trial."""

    id: str
    workspace: str
    name: str
    state: StudyState
    problem: dict[str, Any]
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    revision: int
    ask_revision: int
    running: int
    completed: int
    failed: int
    abandoned: int
    best_number: int | None
    best_value: float | None

    @property
    def total(self) -> int:
        return self.running + self.completed + self.failed + self.abandoned

    @property
    def counts(self) -> dict[str, int]:
        return {
            "running": self.running,
            "completed": self.completed,
            "failed": self.failed,
            "abandoned": self.abandoned,
        }


class Problems:
    """Problems of studies used lately, so that a tell need not check the same search space again."""

    def __init__(self, size: int = 256) -> None:
        self._size = size
        self._problems: dict[str, Problem] = {}
        self._lock = threading.Lock()

    def of(self, study: Study) -> Problem:
        problem = self._problems.get(study.id)
        if problem is None:
            problem = Problem.from_dict(study.problem)
            with self._lock:
                if len(self._problems) >= self._size:
                    self._problems.clear()
                self._problems[study.id] = problem
        return problem
