"""The timing of asks: histories, marks, the reference's process, and the command in miniature."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import ask_speed, problems
from benchmarks.speed.histories import PROBLEMS, points
from benchmarks.speed.measure import Measurement, measure
from benchmarks.speed.memory import peak_bytes
from benchmarks.speed.reaches import GIB, reaches
from benchmarks.speed.reference import measure_reference


def timed(history: str, n_obs: int, algorithm: str, seconds: float) -> Measurement:
    return Measurement(history, 24, n_obs, algorithm, seconds, seconds, {})


def test_history_is_half_spread_and_half_around_the_best() -> None:
    """The same seed gives the same points inside the box, and the second half lies near the best of the first."""
    problem = PROBLEMS["powell-24"]()
    X = points(problem, 51)
    np.testing.assert_array_equal(X, points(problem, 51))
    U = problem.to_unit(X)
    assert X.shape == (51, 24)
    best = U[np.argmax([problem.f(x) for x in X[:26]])]
    assert np.abs(U[26:] - best).mean() < 0.1 < np.abs(U[:26] - best).mean()


def test_chain_of_500_has_overlapping_factors_and_is_quick_to_make() -> None:
    """It covers every variable with factors of three and has no searched optimum."""
    problem = PROBLEMS["chain-500"]()
    assert problem.n_dims == 500
    assert problem.optimum is None
    assert problem.factors is not None
    assert len(problem.factors) == 250


def test_asks_are_timed_by_phase() -> None:
    """Our ask tells its phases, and they are part of its whole."""
    problem = problems.make("camel")
    done = measure("dumbo", "camel", problem, points(problem, 12), repeats=2, initial_trials=1)
    assert (done.n_obs, done.n_dims, done.algorithm) == (12, 2, "dumbo")
    assert set(done.phases) >= {"fit", "maximise"}
    assert 0 < sum(done.phases.values()) <= 1.5 * done.wall_seconds


def test_marks_are_passed_missed_or_not_measured() -> None:
    """Ratios are of the measurements named, and nothing passes that was not measured."""
    base = [
        timed("powell-24", 100, "dumbo", 1.0),
        timed("powell-24", 100, "add-dumbo", 0.6),
        timed("powell-24", 100, "optuna-gp", 2.0),
        timed("powell-24", 100, "botorch-logei", 10.0),
        timed("powell-24", 800, "dumbo", 29.0),
        timed("powell-24", 10, "dumbo", 0.5),
        timed("powell-24", 10, "reference", 40.0),
    ]
    marks = reaches(base, memory=3 * GIB)
    assert [mark.measured for mark in marks] == pytest.approx([0.5, 0.1, 0.0125, 0.6, 29.0, None, 3.0])
    assert [mark.passed for mark in marks] == [True, True, False, False, True, None, False]
    assert marks[3].line() == "MISS  known / inferred (Powell-24, t = 100): 0.6 x (at most 0.5 x)"
    assert [mark.passed for mark in reaches([], None)] == [None] * 7


def test_peak_memory_is_that_of_the_ask_alone() -> None:
    """What the process that measures holds itself is not counted."""
    held = np.ones(2**30, dtype=np.uint8)
    assert 2**27 < peak_bytes("camel", 6) < len(held)


FAKE_REFERENCE = """
import time
class DuMBOOptimizer:
    def __init__(self, intervals, X, y, n_samples_per_iteration, n_cores):
        assert intervals.shape == (2, 2) and X.shape == (5, 2) and y.shape == (5,) and n_cores == 1
    def next_query(self):
        time.sleep({seconds})
"""


@pytest.mark.parametrize(("seconds", "at_least"), [(0.0, False), (600, True)])
def test_reference_is_timed_through_its_public_interface_and_cut_off(
    tmp_path: Path, seconds: float, at_least: bool
) -> None:
    """A checkout is imported in a process of its own; one that takes too long counts as that long at least."""
    (tmp_path / "dumbo").mkdir()
    (tmp_path / "dumbo" / "optimize.py").write_text(FAKE_REFERENCE.format(seconds=seconds))
    problem = problems.make("camel")
    limit = 3.0 if at_least else 60.0
    done = measure_reference(tmp_path, "camel", problem, points(problem, 5), limit)
    assert done.at_least is at_least
    assert done.seconds == limit if at_least else done.seconds < 1


def test_command_prints_json_and_saves_a_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One history of one size: JSON on the output and in the folder, and the plot in both formats."""
    arguments = ["--histories", "hartmann-6", "--sizes", "12", "--algorithms", "add-dumbo,optuna-gp", "--repeats", "1"]
    assert ask_speed.main([*arguments, "--no-memory", "--json", "--out", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "ask_speed.json").read_text())
    assert [m["algorithm"] for m in printed["measurements"]] == ["add-dumbo", "optuna-gp"]
    assert len(printed["reaches"]) == 7
    assert (tmp_path / "ask_speed.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "ask_speed.svg").read_text()
    with pytest.raises(SystemExit):
        ask_speed.main(["--histories", "nonsense"])
