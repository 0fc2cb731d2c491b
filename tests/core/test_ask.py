"""One entry point: right answers or clear errors for every input, the same answer every time."""

from __future__ import annotations

import copy
import doctest
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import core
from core import (
    Observation,
    Problem,
    SpaceExhausted,
    ask,
    propose,
)
from core.design import initial_trials
from core.space import key
from tests.core.support import QUICK, Clock, bowl, history, known_problem, observe, unit_problem, valid


def test_initial_design_comes_first_and_as_long_as_asked() -> None:
    """The first trials are of the design, counted over told and pending ones; then the model takes over."""
    problem = unit_problem(2, algorithm={**QUICK, "initial_trials": 4})
    told, origins = [], []
    for _ in range(6):
        proposal = propose(problem, told)
        origins += proposal.origins
        told.append(Observation(proposal.points[0], value=1.0))
    assert origins == ["initial"] * 4 + ["dumbo"] * 2
    assert propose(problem, told[:1], pending=[o.parameters for o in told[1:4]]).origins == ["dumbo"]
    assert initial_trials(problem) == 4


def test_initial_points_asked_at_once_are_those_asked_in_turn() -> None:
    """Points of the design depend on their number alone, so that batches and single asks agree."""
    problem = unit_problem(3)
    at_once = propose(problem, count=5).points
    in_turn: list[dict[str, Any]] = []
    for _ in range(5):
        in_turn += propose(problem, pending=in_turn).points
    assert at_once == in_turn


def test_initial_design_fills_the_space() -> None:
    """Sixteen points of a Sobol sequence put one into each sixteenth of every axis."""
    problem = unit_problem(3, algorithm={"initial_trials": 16})
    points = propose(problem, count=16).points
    for name in problem.names:
        cells = {int(16 * float(x[name])) for x in points}
        assert len(cells) >= 14


@pytest.mark.parametrize("mode", ["infer", "known", "random", "none"])
def test_every_mode_proposes_by_the_model(mode: str) -> None:
    """Each way of decomposing gives a model-based point with its diagnostics."""
    decomposition: dict[str, Any] = {"mode": mode}
    if mode == "known":
        members = {"a": ["x0", "x1"], "b": ["x1", "x2"]}
        decomposition["factors"] = [{"name": name, "parameters": list(p)} for name, p in members.items()]
    problem = unit_problem(3, decomposition=decomposition, algorithm=QUICK)
    proposal = propose(problem, history(3))
    valid(problem, proposal)
    assert proposal.origins == ["dumbo"]
    by_evidence = {"known", "tied", "whole", "single"}
    assert proposal.diagnostics["model"] in (by_evidence if mode == "known" else {"shared"})
    assert (proposal.diagnostics["acceptance_rate"] is not None) == (mode == "infer")


@pytest.mark.parametrize("kernel", ["matern52", "squared_exponential", "rational_quadratic"])
@pytest.mark.parametrize("beta", ["auto", "theory", "practical", 0.0])
def test_every_kernel_and_schedule_works(kernel: str, beta: str | float) -> None:
    """The knobs all lead to a model-based point, and the beta used is told."""
    problem = unit_problem(2, algorithm={**QUICK, "kernel": kernel, "beta": beta, "neighborhood": "sample"})
    proposal = propose(problem, history())
    valid(problem, proposal)
    assert proposal.origins == ["dumbo"]
    assert proposal.diagnostics["admm"]["beta"] >= 0


def test_diagnostics_say_how_the_point_was_made() -> None:
    """Evidence, acceptance, ADMM's course, phi before and after polish, seconds by phase, fallbacks: all JSON-able."""
    told = propose(unit_problem(3, algorithm=QUICK), history(3)).diagnostics
    assert set(told) >= {"model", "log_evidence", "weights", "n_factors", "acceptance_rate", "fit_evaluations",
                         "hopeful", "output_powers", "admm", "seconds", "fallbacks", "cut_short"}  # fmt: skip
    assert set(told["seconds"]) >= {"fit", "sample", "condition", "maximise"}
    assert all(seconds >= 0 for seconds in told["seconds"].values())
    assert set(told["admm"]) >= {"iterations", "primal_residuals", "dual_residuals", "stopped_by", "acquisition_admm",
                                 "acquisition_polished", "beta", "expected"}  # fmt: skip
    assert 0 <= told["acceptance_rate"] <= 1
    assert sum(told["weights"]) == pytest.approx(1.0)
    assert told["admm"]["acquisition_polished"] >= told["admm"]["acquisition_admm"] - 1e-9
    json.dumps(told, allow_nan=False)


def test_minimising_f_is_maximising_its_negative() -> None:
    """Direction turns the objective over and changes nothing else."""
    up, down = (unit_problem(2, algorithm=QUICK, direction=d) for d in ("maximize", "minimize"))
    X = np.random.default_rng(7).random((12, 2))
    high, low = propose(up, observe(X, bowl)), propose(down, observe(X, lambda x: -bowl(x)))
    assert high.points == low.points
    above, below = (proposal.diagnostics["admm"]["expected"] for proposal in (high, low))
    assert (above["mean"], above["sd"]) == (-below["mean"], below["sd"])


def test_what_is_expected_is_in_the_units_of_what_was_told() -> None:
    """Values a thousand times as large, and shifted, are expected a thousand times as large, and shifted."""
    problem, X = unit_problem(2, algorithm=QUICK), np.random.default_rng(7).random((12, 2))
    small, large = (propose(problem, observe(X, f)) for f in (bowl, lambda x: 1000.0 * bowl(x) - 5.0))
    mean, sd = (small.diagnostics["admm"]["expected"][name] for name in ("mean", "sd"))
    assert large.diagnostics["admm"]["expected"] == {
        "mean": pytest.approx(1000.0 * mean - 5.0, rel=1e-6), "sd": pytest.approx(1000.0 * sd, rel=1e-6)
    }  # fmt: skip


def test_the_bowl_is_climbed() -> None:
    """In two dimensions 14 evaluations bring the best value within 0.01 of the optimum."""
    problem = unit_problem(2, algorithm=QUICK)
    told: list[Observation] = []
    state = None
    for _ in range(14):
        proposal = propose(problem, told, state=state)
        state = proposal.state
        told += [Observation(x, value=bowl(np.array(list(x.values())))) for x in proposal.points]
    assert max(o.value or -1.0 for o in told) > -0.01


def test_factor_values_are_worth_having() -> None:
    """With decomposed output over overlapping factors, 15 evaluations come within 0.02 of the optimum."""
    problem = known_problem([[0, 1], [1, 2], [2, 3]])
    told: list[Observation] = []
    state = None
    for _ in range(15):
        proposal = propose(problem, told, state=state)
        state = proposal.state
        for x in proposal.points:
            v = [float(x[f"x{j}"]) for j in range(4)]
            parts = {f"f{i}": -((v[i] - 0.3) ** 2) - (v[i] - 0.3 - (v[i + 1] - 0.3)) ** 2 for i in range(3)}
            told.append(Observation(x, factor_values=parts))
    assert proposal.diagnostics["model"] == "separate"
    assert max(sum((o.factor_values or {}).values()) for o in told) > -0.02


MIXED: dict[str, Any] = {
    "direction": "minimize", "algorithm": QUICK,
    "parameters": [
        {"name": "lr", "type": "float", "bounds": [1e-5, 1.0], "scale": "log"},
        {"name": "width", "type": "int", "bounds": [16, 1024], "scale": "log"},
        {"name": "depth", "type": "int", "bounds": [-3, 3]},
        {"name": "batch", "type": "ordinal", "values": [16, 32, 64]},
        {"name": "opt", "type": "categorical", "values": ["adam", "sgd", True, 1]},
    ],
}  # fmt: skip


def test_mixed_types_are_always_valid_and_fixed_values_kept() -> None:
    """Over eight asks every value is of its parameter's kind; fixed ones are exactly as fixed."""
    problem = Problem.from_dict({**MIXED, "algorithm": {**QUICK, "initial_trials": 3}})
    told: list[Observation] = []
    state = None
    for i in range(8):
        fixed = {"opt": True, "depth": 2, "lr": 0.0123} if i % 3 == 2 else {}
        proposal = propose(problem, told, state=state, fixed=fixed)
        state = proposal.state
        valid(problem, proposal)
        x = proposal.points[0]
        assert all(type(x[name]) is type(value) and x[name] == value for name, value in fixed.items())
        told.append(Observation(x, value=abs(math.log(float(x["lr"]))) + float(x["depth"]) ** 2))


@pytest.mark.parametrize("count", [2, 7])
def test_a_batch_is_distinct_from_itself_and_from_pending_points(count: int) -> None:
    """count = n gives n points, none of them pending, told or abandoned."""
    problem = unit_problem(2, algorithm=QUICK)
    pending = propose(problem, history(), count=3).points
    told = [*history(), Observation({"x0": 0.3, "x1": 0.3}, state="abandoned")]
    proposal = propose(problem, told, pending=pending, count=count)
    valid(problem, proposal, count)
    assert proposal.origins == ["dumbo"] * count
    taken = {key(problem, x) for x in [*pending, *(o.parameters for o in told)]}
    assert not taken & {key(problem, x) for x in proposal.points}


@pytest.mark.parametrize("mode", ["infer", "known"])
def test_points_asked_at_once_are_those_asked_in_turn(mode: str) -> None:
    """By the model as by the design: a model of its own for each point, and all that it leaves to the next."""
    problem = known_problem([[0, 1], [1, 2]]) if mode == "known" else unit_problem(3, algorithm=QUICK)
    told = history(3, 16)
    state = propose(problem, told).state
    at_once = propose(problem, told, state=state, count=4)
    in_turn: list[dict[str, Any]] = []
    for _ in range(4):
        one = propose(problem, told, pending=in_turn, state=state)
        in_turn, state = [*in_turn, *one.points], one.state
    assert at_once.points == in_turn
    assert at_once.state == state


def test_a_batch_that_begins_in_the_design_ends_by_the_model() -> None:
    """Both kinds of point are those that would have come in turn."""
    problem = unit_problem(2, algorithm={**QUICK, "initial_trials": 6})
    told = history()[:4]
    at_once = propose(problem, told, count=4)
    assert at_once.origins == ["initial"] * 2 + ["dumbo"] * 2
    in_turn: list[dict[str, Any]] = []
    state = None
    for _ in range(4):
        one = propose(problem, told, pending=in_turn, state=state)
        in_turn, state = [*in_turn, *one.points], one.state
    assert at_once.points == in_turn


def test_every_point_of_a_batch_says_how_it_was_made() -> None:
    """Each has the facts of its own model beside those of its search; the batch has the last one's."""
    told = propose(unit_problem(3, algorithm=QUICK), history(3), count=3).diagnostics
    assert len(told["admm"]) == 3
    facts = set(told) - {"admm", "seconds", "fallbacks", "cut_short"}
    assert all(set(each) >= facts | {"acquisition_polished", "beta"} for each in told["admm"])
    assert {name: told[name] for name in facts} == {name: told["admm"][-1][name] for name in facts}


def test_batches_spread_out() -> None:
    """Each point of a batch keeps its distance from those before, because their variance is taken as known."""
    problem = unit_problem(2, decomposition={"mode": "none"}, algorithm={"beta": 4.0})
    points = np.array([list(x.values()) for x in propose(problem, history(t=10), count=4).points], dtype=float)
    distance = np.linalg.norm(points[:, None] - points[None], axis=-1) + np.eye(4)
    assert distance.min() > 0.05


def test_a_pending_point_moves_the_next_proposal() -> None:
    """The point just proposed, now pending, is not proposed again nor its near neighbour."""
    problem = unit_problem(2, decomposition={"mode": "none"}, algorithm={"beta": 4.0})
    (first,) = propose(problem, history()).points
    (second,) = propose(problem, history(), pending=[first]).points
    assert max(abs(float(first[n]) - float(second[n])) for n in problem.names) > 0.02


def test_asks_in_a_row_without_answers_are_distinct() -> None:
    """Four asks with everything before still pending give four points, as one ask with count 4 does."""
    problem = Problem.from_dict({**MIXED, "parameters": MIXED["parameters"][2:]})
    told = [Observation(x, value=float(i)) for i, x in enumerate(propose(problem, count=10).points)]
    pending: list[dict[str, Any]] = []
    for _ in range(4):
        pending += propose(problem, told, pending=pending).points
    assert len({key(problem, x) for x in pending}) == 4


def test_an_abandoned_optimum_is_never_proposed() -> None:
    """On five points of which the best is abandoned, every other is tried and that one is not."""
    problem = Problem.from_dict({"direction": "maximize", "algorithm": {**QUICK, "initial_trials": 1},
                                 "parameters": [{"name": "i", "type": "int", "bounds": [0, 4]}]})  # fmt: skip
    told = [Observation({"i": 4}, state="abandoned"), Observation({"i": 0}, value=0.0)]
    for _ in range(8):
        (x,) = propose(problem, told).points
        assert x != {"i": 4}
        told.append(Observation(x, value=float(x["i"])))
    assert {o.parameters["i"] for o in told[1:]} == {0, 1, 2, 3}


def test_failed_points_wait_until_nothing_else_is_left() -> None:
    """A failed point may come again, but only when every other point was told."""
    problem = Problem.from_dict({"direction": "maximize", "algorithm": {**QUICK, "initial_trials": 1},
                                 "parameters": [{"name": "i", "type": "int", "bounds": [0, 3]}]})  # fmt: skip
    told = [Observation({"i": 3}, state="failed"), Observation({"i": 0}, value=0.0)]
    for _ in range(2):
        (x,) = propose(problem, told).points
        assert x["i"] in (1, 2)
        told.append(Observation(x, value=float(x["i"])))
    valid(problem, propose(problem, told))


def test_an_exhausted_space_is_a_clear_error() -> None:
    """More points than are left, with the rest pending or abandoned: SpaceExhausted, in the design and by the model."""
    problem = Problem.from_dict({"direction": "maximize", "algorithm": {**QUICK, "initial_trials": 1},
                                 "parameters": [{"name": "i", "type": "int", "bounds": [0, 2]}]})  # fmt: skip
    with pytest.raises(SpaceExhausted):
        propose(problem, count=4)
    told = [Observation({"i": 0}, value=1.0), Observation({"i": 1}, state="abandoned")]
    with pytest.raises(SpaceExhausted):
        propose(problem, told, pending=[{"i": 2}, {"i": 0}])
    assert propose(problem, told, pending=[{"i": 0}]).points == [{"i": 2}]


def test_same_inputs_give_the_same_proposal_through_json() -> None:
    """A state that went through JSON, and a second call, change not a bit."""
    problem = unit_problem(3, algorithm=QUICK)
    told = history(3)
    state = propose(problem, told).state
    one = propose(problem, told, state=state, count=2)
    two = propose(problem, copy.deepcopy(told), state=json.loads(json.dumps(state)), count=2)
    assert (one.points, one.origins, one.state) == (two.points, two.origins, two.state)


def test_seed_changes_the_proposal() -> None:
    """Another seed draws another design."""
    one, two = (propose(unit_problem(3, algorithm={"seed": seed})).points for seed in (0, 1))
    assert one != two


def test_largest_seed_works() -> None:
    """A seed of 2^53 - 1 is legal and used."""
    problem = unit_problem(2, algorithm={**QUICK, "seed": 2**53 - 1})
    valid(problem, propose(problem))
    valid(problem, propose(problem, history()))


def test_the_clock_changes_nothing_without_a_bound() -> None:
    """Without seconds the time of day has no say."""
    problem = unit_problem(2, algorithm=QUICK)
    one, two = (propose(problem, history(), clock=Clock(step)) for step in (0.0, 1e6))
    assert one.points == two.points


def test_global_random_state_and_settings_stay_untouched() -> None:
    """Trap: no global generator is read or moved, no default dtype or thread count changed, no input written to."""
    problem = unit_problem(3, algorithm=QUICK)
    told = history(3)
    state = propose(problem, told).state
    kept_state, kept_told = copy.deepcopy(state), copy.deepcopy(told)
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = torch.get_rng_state(), repr(np.random.get_state()), torch.get_default_dtype(), torch.get_num_threads()  # noqa: NPY002
    one = propose(problem, told, state=state, count=2)
    propose(problem)
    after = torch.get_rng_state(), repr(np.random.get_state()), torch.get_default_dtype(), torch.get_num_threads()  # noqa: NPY002
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]
    assert (state, told) == (kept_state, kept_told)
    torch.manual_seed(2)
    assert propose(problem, told, state=state, count=2).points == one.points


def test_another_process_gives_the_same_proposal() -> None:
    """A restart, with another hash seed, proposes the same point to the bit."""
    script = (
        "import json, numpy as np, torch; torch.set_num_threads(1)\n"
        "from core import Observation, Problem, propose\n"
        "problem = Problem.from_dict({'direction': 'maximize', 'algorithm': {'proposals': 10}, 'parameters': ["
        "{'name': f'x{j}', 'type': 'float', 'bounds': [0, 1]} for j in range(3)]})\n"
        "X = np.random.default_rng(0).random((12, 3))\n"
        "told = [Observation({f'x{j}': float(v) for j, v in enumerate(x)}, value=float(-((x - 0.3) ** 2).sum()))"
        " for x in X]\n"
        "made = propose(problem, told); print(json.dumps([made.points, made.state]))\n"
    )
    root = Path(core.__file__).parents[1]
    env = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(root)}
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env, cwd=root)
    here = propose(unit_problem(3, algorithm=QUICK), history(3))
    assert json.loads(out.stdout) == json.loads(json.dumps([here.points, here.state]))


def test_a_gone_budget_still_answers_and_is_labelled() -> None:
    """With no time at all each phase stops at once, a valid model-based point comes, and the cuts are told."""
    problem = unit_problem(3, algorithm={"proposals": 1000})
    proposal = propose(problem, history(3, 20), seconds=1.0, clock=Clock(step=10.0))
    valid(problem, proposal)
    told = proposal.diagnostics
    assert {"fit", "sample"} <= set(told["cut_short"])
    assert told["admm"]["stopped_by"] == "deadline"
    assert told["admm"]["iterations"] == 1


def test_a_budget_bounds_the_work_by_the_clock() -> None:
    """A clock that moves with every look runs only a little past its budget: the core looks and stops."""
    problem = unit_problem(3, algorithm={"proposals": 100_000})
    clock = Clock(step=0.01)
    proposal = propose(problem, history(3, 20), seconds=2.0, clock=clock)
    valid(problem, proposal)
    assert clock.now < 2.5
    assert "sample" in proposal.diagnostics["cut_short"]


def test_ample_time_cuts_nothing_and_changes_nothing() -> None:
    """With time to spare the answer is the unbounded one and no phase is cut."""
    problem = unit_problem(2, algorithm=QUICK)
    bounded = propose(problem, history(), seconds=1e9, clock=Clock(step=0.001))
    assert bounded.diagnostics["cut_short"] == []
    assert bounded.points == propose(problem, history()).points


def test_a_batch_out_of_time_is_still_complete() -> None:
    """count points are given even when the budget is gone after the first."""
    problem = unit_problem(2, algorithm=QUICK)
    valid(problem, propose(problem, history(), count=4, seconds=1.0, clock=Clock(step=10.0)), 4)


def test_a_model_that_takes_long_serves_for_the_rest_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """With time for half a dozen models, four points have one each; with less, the first serves for all."""
    problem = unit_problem(2, algorithm=QUICK)
    made = []

    def slow(*args: Any) -> Any:
        made.append(clock.now)
        clock.now += 1.0
        return build(*args)

    build = ask.build
    monkeypatch.setattr(ask, "build", slow)
    for seconds, models in ((20.0, 4), (7.0, 1)):
        clock, made[:] = Clock(), []
        valid(problem, propose(problem, history(), count=4, seconds=seconds, clock=clock), 4)
        assert len(made) == models


def test_failed_linear_algebra_in_a_batch_leaves_the_points_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first point and the state are the model's; the others are random, and nothing is said of their search."""
    build, problem = ask.build, unit_problem(2, algorithm=QUICK)

    def once(*args: Any) -> Any:
        monkeypatch.setattr(ask, "build", broken)
        return build(*args)

    monkeypatch.setattr(ask, "build", once)
    proposal = propose(problem, history(), count=3)
    valid(problem, proposal, 3)
    assert proposal.origins == ["dumbo", "random", "random"]
    assert proposal.state is not None
    assert [found is None for found in proposal.diagnostics["admm"]] == [False, True, True]


def test_failed_linear_algebra_falls_back_to_a_labelled_random_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no Cholesky succeeds the answer is a random point that says so, and no state."""
    monkeypatch.setattr(ask, "build", broken)
    problem = unit_problem(2, algorithm=QUICK)
    proposal = propose(problem, history(), count=2)
    valid(problem, proposal, 2)
    assert proposal.origins == ["random"] * 2
    assert proposal.state is None
    assert "not positive definite" in proposal.diagnostics["fallbacks"][0]


def broken(*args: object) -> None:
    raise core.NumericalError("a Gram matrix is not positive definite")


@pytest.mark.parametrize("module", [core, ask])
def test_docstring_examples_run(module: Any) -> None:
    """What the docstrings show works as shown."""
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0
