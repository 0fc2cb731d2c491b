"""Ours behind the arena's interface: directly, and over HTTP on a real service."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks import problems, rivals
from benchmarks.arena.run import Task, execute
from benchmarks.rivals.dumbo import Dumbo, DumboOverHTTP
from tests.support.app import Api, running_app


@pytest.fixture(scope="module")
def service(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A service on a database of its own."""
    copy = shutil.copy(sqlite_template, tmp_path_factory.mktemp("arena") / "arena.db")
    with running_app(f"sqlite:///{copy}") as api:
        yield api


def test_only_the_decomposed_variant_hands_on_factor_values() -> None:
    """With known factors the core sees their values if and only if the variant says so."""
    problem = problems.make("camel-shifted", 1)
    x = problem.from_unit(np.array([0.2, 0.7]))
    y, Y = problem.observe(x, np.random.default_rng(0))
    for name, decomposed in (("add-dumbo", False), ("add-dumbo-y", True)):
        optimizer = rivals.make(name, problem, 0)
        assert isinstance(optimizer, Dumbo)
        optimizer.tell(x, y, Y)
        (told,) = optimizer.observations
        assert (told.factor_values is not None) is decomposed
        assert (told.value is None) is decomposed
        assert optimizer.core_problem.decomposition.mode == "known"


@pytest.mark.parametrize(("name", "mode"), [("dumbo", "infer"), ("dumbo-none", "none"), ("dumbo-random", "random")])
def test_blind_variants_are_told_nothing_of_the_factors(name: str, mode: str) -> None:
    """Each runs in its mode, without factors, and a model's ask leaves its phases behind."""
    problem = problems.make("camel-shifted", 1)
    optimizer = rivals.make(name, problem, 0, initial_trials=2)
    assert isinstance(optimizer, Dumbo)
    assert optimizer.core_problem.decomposition.mode == mode
    assert optimizer.core_problem.decomposition.factors == ()
    for _ in range(4):
        x = optimizer.ask()
        optimizer.tell(x, problem.f(x), problem.factor_values(x))
    assert all(told.factor_values is None for told in optimizer.observations)
    assert optimizer.phases["fit"] > 0


def test_several_points_at_a_time_are_asked_for_once() -> None:
    """One ask of the model gives as many different points, given out one by one; results may come in between."""
    problem = problems.make("hartmann-6-shifted", 1)
    optimizer = rivals.make("dumbo-none-by-3", problem, 0, initial_trials=3)
    assert isinstance(optimizer, Dumbo)
    told = []
    for _ in range(9):
        x = optimizer.ask()
        optimizer.tell(x, problem.f(x))
        told.append((optimizer.state or {}).get("asks"))
        assert len({tuple(o.parameters.values()) for o in optimizer.observations}) == len(told)
    assert told == [None, None, None, 3, 3, 3, 6, 6, 6]  # asks of the core count for each point
    assert optimizer.core_problem.decomposition.mode == "none"


def test_the_service_proposes_what_the_core_proposes(service: Api) -> None:
    """The same seed and history give the same points over HTTP, initial ones and the model's."""
    problem = problems.make("camel-shifted", 2)
    direct = Dumbo(problem, 5, "known", decomposed=True)
    remote = DumboOverHTTP(problem, 5, "known", decomposed=True, url=str(service.base_url))
    for _ in range(12):
        x = direct.ask()
        np.testing.assert_allclose(remote.ask(), x, rtol=1e-9)
        for optimizer in (direct, remote):
            optimizer.tell(x, problem.f(x), problem.factor_values(x))
    trials = service.get(f"{remote._study}/trials").json()["trials"]
    assert {trial["state"] for trial in trials} == {"completed"}
    assert trials[0]["factor_values"].keys() == {"f0", "f1", "f2"}
    assert any(trial["origin"] == "dumbo" for trial in trials)


def test_points_from_elsewhere_are_told_by_their_parameters(service: Api) -> None:
    """A point that was not asked for becomes a told trial."""
    problem = problems.make("camel")
    remote = DumboOverHTTP(problem, 0, url=str(service.base_url))
    remote.tell(np.array([0.5, 0.5]), 0.25)
    (trial,) = service.get(f"{remote._study}/trials").json()["trials"]
    assert (trial["origin"], trial["value"], trial["parameters"]) == ("told", 0.25, {"x0": 0.5, "x1": 0.5})


def test_an_error_of_the_service_is_told_in_its_own_words(service: Api) -> None:
    """What the service refuses ends the run with the reason it gave."""
    remote = DumboOverHTTP(problems.make("camel"), 0, url=str(service.base_url))
    with pytest.raises(RuntimeError, match=r"tell answered 422: .*x0"):
        remote.tell(np.array([99.0, 0.0]), 0.0)


def test_arena_runs_over_http(service: Api) -> None:
    """A task whose algorithm ends in -http runs against the address given."""
    run = execute(Task("camel-shifted", "dumbo-http", 0, 3, url=str(service.base_url)))
    assert len(run.values) == 3
