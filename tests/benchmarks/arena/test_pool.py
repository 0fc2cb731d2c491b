"""Progress, its estimate of the time left, and the record that makes runs resumable."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.arena import records
from benchmarks.arena.pool import Progress
from benchmarks.arena.run import Run, Task, execute


def test_time_left_follows_each_algorithms_own_pace() -> None:
    """A slow algorithm's remaining runs are counted at its pace, a fast one's at its own."""
    now = [0.0]
    slow = [Task("camel", "optuna-gp", seed, 11) for seed in (0, 1)]
    fast = [Task("camel", "random", seed, 11) for seed in (0, 1)]
    progress = Progress([*slow, *fast], n_jobs=1, clock=lambda: now[0])
    assert progress.seconds_left() is None
    for n_done in range(1, 12):
        progress.update(slow[0].key, n_done)
        now[0] += 2.0 if n_done < 11 else 0.0
    for n_done in range(1, 12):
        progress.update(fast[0].key, n_done)
        now[0] += 0.1 if n_done < 11 else 0.0
    assert progress.seconds_left() == pytest.approx(11 * 2.0 + 11 * 0.1)
    assert "22/44 evaluations, 2/4 runs, 0:21 so far, about 0:23 left" in progress.line()


def test_a_run_is_reproducible_and_reports_its_progress() -> None:
    """The same task gives the same values, one message per evaluation."""
    task = Task("hartmann-6-noisy", "random", 3, 5)
    seen: list[int] = []
    first, second = execute(task, seen.append), execute(task)
    assert first.values == second.values
    assert seen == [1, 2, 3, 4, 5]
    assert first.optimum == pytest.approx(3.32237, abs=1e-5)


def test_records_survive_a_torn_line_and_the_later_record_holds(tmp_path: Path) -> None:
    """What a crash left half-written is no run and spoils none, and a run done again replaces the first."""
    path = tmp_path / "deep" / "runs.jsonl"
    assert records.load(path, Run) == []
    old, new = (Run("camel", "random", 0, [value], 1.0, [0.0]) for value in (0.1, 0.2))
    records.append(path, old)
    with path.open("a") as file:
        file.write('{"problem": "camel", "algo')
    records.append(path, new)
    assert records.load(path, Run) == [new]


def test_only_tasks_without_a_long_enough_record_remain(tmp_path: Path) -> None:
    """A longer run answers a shorter task; a shorter one does not answer a longer task."""
    run = Run("camel", "random", 0, [0.0] * 10, 1.0, [0.0] * 10)
    tasks = [Task("camel", "random", 0, budget) for budget in (5, 10, 11)] + [Task("camel", "random", 1, 5)]
    assert records.remaining(tasks, [run]) == tasks[2:]


def test_workers_end_with_an_arena_that_was_killed(tmp_path: Path) -> None:
    """Nothing runs on, or waits for ever, after a kill that the parent could not answer."""
    command = [sys.executable, "-m", "benchmarks.regret", "--problems", "camel", "--algorithms", "random"]
    options = ["--seeds", "200", "--budget", "2000", "--jobs", "1", "--out", str(tmp_path)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as arena:
        while not records.load(tmp_path / "runs.jsonl", Run) and arena.poll() is None:
            time.sleep(0.1)
        assert arena.poll() is None
        arena.kill()
        arena.communicate(timeout=60)  # a worker that lived on would hold the pipe open
