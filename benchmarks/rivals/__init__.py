"""The algorithms of the arena by name. Each is imported when it is first made: Optuna need not load torch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal

from benchmarks.problems import BenchmarkProblem
from benchmarks.rivals.base import Optimizer
from benchmarks.rivals.changes import Change, parsed

__all__ = ["ALGORITHMS", "Algorithm", "Optimizer", "base_of", "find", "make"]

Knowledge = Literal["none", "factors", "factor values"]


@dataclass(frozen=True)
class Algorithm:
    """Where an algorithm is defined, how it is made, and what it is told of the problem's structure."""

    label: str
    module: str
    cls: str
    knowledge: Knowledge = "none"
    options: tuple[tuple[str, Any], ...] = ()
    changes: tuple[Change, ...] = ()  # of the core's constants, while it runs
    mixed: bool = False  # knows whole numbers and choices for what they are

    def make(self, problem: BenchmarkProblem, seed: int, **more: Any) -> Optimizer:
        cls: Callable[..., Optimizer] = getattr(import_module(f"benchmarks.rivals.{self.module}"), self.cls)
        return cls(problem, seed, **dict(self.options), **more)


def _ours(label: str, knowledge: Knowledge = "none", **options: Any) -> Algorithm:
    return Algorithm(label, "dumbo", "Dumbo", knowledge, tuple(options.items()), mixed=True)


def _optuna(label: str, sampler: str, *, mixed: bool = True) -> Algorithm:
    return Algorithm(label, "optuna_samplers", "OptunaRival", options=(("sampler", sampler),), mixed=mixed)


def _over_http(algorithm: Algorithm) -> Algorithm:
    return replace(algorithm, label=f"{algorithm.label}, HTTP", cls="DumboOverHTTP")


_OURS = {
    "dumbo": _ours("DuMBO"),
    "dumbo-none": _ours("DuMBO, one factor", mode="none"),
    "dumbo-random": _ours("DuMBO, random factors", mode="random"),
    "add-dumbo": _ours("ADD-DuMBO", "factors", mode="known"),
    "add-dumbo-y": _ours("ADD-DuMBO, factor values", "factor values", mode="known", decomposed=True),
}

ALGORITHMS: dict[str, Algorithm] = {
    **_OURS,
    **{f"{name}-http": _over_http(algorithm) for name, algorithm in _OURS.items()},
    "random": Algorithm("random", "uninformed", "RandomSearch", mixed=True),
    "sobol": Algorithm("Sobol", "uninformed", "SobolSearch", mixed=True),
    "optuna-tpe": _optuna("Optuna TPE", "tpe"),
    "optuna-gp": _optuna("Optuna GP", "gp"),
    "optuna-cmaes": _optuna("Optuna CMA-ES", "cmaes", mixed=False),  # it would draw choices at random
    "botorch-logei": Algorithm("BoTorch LogEI", "botorch_logei", "BotorchLogEI"),
    "ax": Algorithm("Ax", "ax_rival", "AxRival", mixed=True),
    "turbo": Algorithm("TuRBO", "turbo", "Turbo"),
    "saasbo": Algorithm("SAASBO", "saasbo", "Saasbo"),
    "linebo": Algorithm("LineBO", "linebo", "LineBO"),
    "ms-ucb": Algorithm("MS-UCB", "ms_ucb", "MSUCB"),
    "add-gpucb": Algorithm("ADD-GPUCB", "add_gpucb", "AddGPUCB"),
    "dec-hbo": Algorithm("DEC-HBO", "dec_hbo", "DecHBO"),
}


_NAME = re.compile(r"(?P<base>[^@]*?)(-by-(?P<batch>[1-9]\d*))?(?P<changes>(@[^@]*)*)")


def base_of(name: str) -> str:
    """The name in `ALGORITHMS` that a name begins with."""
    return _parts(name)["base"]


def _parts(name: str) -> dict[str, str]:
    found = _NAME.fullmatch(name)
    assert found is not None  # it takes any text
    return found.groupdict("")


def find(name: str) -> Algorithm:
    """The algorithm of this name; ValueError says which there are.

    Ours may also be asked for several points at a time (`dumbo-by-5`), and have changes (`dumbo@hope.CLEAR=0`).
    """
    parts = _parts(name)
    base, batch, changes = parts["base"], parts["batch"], parts["changes"].split("@")[1:]
    if base not in ALGORITHMS or ((batch or changes) and base not in _OURS):
        known = ", ".join(ALGORITHMS)
        raise ValueError(f"unknown algorithm {name!r}; there are {known}, dumbo-by-5 and dumbo@hope.CLEAR=0")
    found = ALGORITHMS[base]
    if batch:
        options = (*found.options, ("batch", int(batch)))
        found = replace(found, label=f"{found.label}, {batch} at a time", options=options)
    if changes:
        label = f"{found.label}, {', '.join(changes)}"
        found = replace(found, label=label, changes=tuple(map(parsed, changes)))
    return found


def make(name: str, problem: BenchmarkProblem, seed: int, **options: Any) -> Optimizer:
    """The algorithm of this name on a problem."""
    return find(name).make(problem, seed, **options)
