"""The record of finished runs, or of what else becomes of tasks: a line of JSON each, only ever appended to.

Of two records of one run the later holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from benchmarks.arena.asks import Course
from benchmarks.arena.run import Run, Task

Record = TypeVar("Record", Run, Course)


def load(path: Path, kind: type[Record]) -> list[Record]:
    """All runs on record. A last line cut short by a crash is no run."""
    runs: dict[tuple[str, str, int], Record] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            run = kind(**json.loads(line))
        except json.JSONDecodeError:
            continue
        runs[run.key] = run
    return list(runs.values())


def append(path: Path, run: Run | Course) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    torn = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
    with path.open("a") as file:
        file.write("\n" * torn + json.dumps(asdict(run)) + "\n")


def remaining(tasks: Iterable[Task], runs: Iterable[Run | Course]) -> list[Task]:
    """The tasks that no run on record answers; a longer run answers a shorter task."""
    budgets = {run.key: run.budget for run in runs}
    return [task for task in tasks if budgets.get(task.key, 0) < task.budget]
