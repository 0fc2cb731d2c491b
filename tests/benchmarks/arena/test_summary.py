"""The arena's statistics: on runs whose winner is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.arena import tables
from benchmarks.arena.run import Run
from benchmarks.arena.summary import mean_ranks, p_worse, summarize


def runs_of(algorithm: str, regrets: list[float], problem: str = "camel") -> list[Run]:
    """Runs of three evaluations of which the second is the best."""
    return [
        Run(problem, algorithm, seed, [-90.0, 1.0 - regret, -50.0], 1.0, [0.1, 0.2, 0.3])
        for seed, regret in enumerate(regrets)
    ]


def test_regret_is_the_best_so_far() -> None:
    """A run's regret never grows, and counts only the evaluations asked for."""
    run = Run("camel", "random", 0, [0.0, 0.8, 0.5, 0.9], 1.0, [0.0] * 4)
    np.testing.assert_allclose(run.regrets(), [1.0, 0.2, 0.2, 0.1])
    assert run.regret(3) == pytest.approx(0.2)
    assert Run("rover", "random", 0, [-7.0, -3.0], None, [0, 0]).regret() == 3.0


def test_rows_are_ranked_by_mean_with_standard_error() -> None:
    """Mean, standard error and rank are the textbook ones."""
    rows = summarize(runs_of("random", [3, 4, 5, 6, 7]) + runs_of("optuna-gp", [1, 1, 2, 1, 0]))
    assert [(row.algorithm, row.rank) for row in rows] == [("optuna-gp", 1), ("random", 2)]
    assert rows[1].mean == pytest.approx(5.0)
    assert rows[1].standard_error == pytest.approx(np.sqrt(2.5 / 5))
    assert rows[0].seconds_per_ask == pytest.approx(0.2)


def test_a_clear_difference_is_significant_and_a_faint_one_is_not() -> None:
    """Complete separation of five and five seeds has p = 1/252; shuffled values have a large one."""
    assert p_worse([6, 7, 8, 9, 10], [1, 2, 3, 4, 5]) == pytest.approx(1 / 252)
    assert p_worse([1, 4, 5, 8, 9], [2, 3, 6, 7, 10]) > 0.3
    assert p_worse([1, 2, 3, 4], [1, 2, 3, 4]) == 1
    assert math.isnan(p_worse([3, 4], [1, 2]))


def test_blind_algorithms_are_compared_with_the_best_blind_one() -> None:
    """One that knows the factors may win outright and leave the best blind algorithm underlined."""
    rows = summarize(
        runs_of("add-dumbo-y", [0.1, 0.2, 0.1, 0.3, 0.2])
        + runs_of("dumbo", [1.0, 1.1, 1.2, 1.05, 1.3])
        + runs_of("random", [5, 6, 7, 8, 9])
    )
    by_name = {row.algorithm: row for row in rows}
    assert [row.algorithm for row in rows if row.among_the_best] == ["add-dumbo-y"]
    assert [row.algorithm for row in rows if row.among_the_best_blind] == ["dumbo"]
    assert by_name["random"].p_blind == pytest.approx(1 / 252)
    text = tables.overview(rows)
    assert "**0.180 ± 0.0374**" in text
    assert "<u>1.13 ± 0.0539</u>" in text
    assert "| *DuMBO in the paper* | 0.00600 |" in text


def test_fewer_seeds_than_others_are_said() -> None:
    """A cell says how many runs it stands for where other algorithms have more."""
    text = tables.overview(summarize(runs_of("random", [1, 2, 3]) + runs_of("sobol", [4]) + runs_of("dumbo", [0, 2])))
    assert "| 2.00 ± 0.577 |" in text
    assert "| 4.00 ± - (1 seed) |" in text
    assert "1.00 ± 1.00**</u> (2 seeds) |" in text


def test_short_runs_do_not_enter_a_late_checkpoint() -> None:
    """At an evaluation that a run never reached it says nothing."""
    assert summarize(runs_of("random", [1, 2]), at=4) == []
    assert len(summarize(runs_of("random", [1, 2]), at=1)) == 1


def test_mean_rank_is_over_problems() -> None:
    """An algorithm's rank is averaged over the problems it ran on."""
    rows = summarize(
        runs_of("random", [3])
        + runs_of("sobol", [1])
        + runs_of("random", [1], "rover")
        + runs_of("sobol", [2], "rover")
    )
    assert mean_ranks(rows) == {"random": 1.5, "sobol": 1.5}


def test_an_algorithm_of_one_run_is_no_mark_for_the_others() -> None:
    """The best of those run often enough is what others are tested against."""
    rows = {row.algorithm: row for row in summarize(runs_of("random", [1, 2, 3, 4]) + runs_of("sobol", [0.5]))}
    assert rows["sobol"].rank == 1
    assert rows["random"].among_the_best
    assert rows["random"].among_the_best_blind
    assert not rows["sobol"].among_the_best
