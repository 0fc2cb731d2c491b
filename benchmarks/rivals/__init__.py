"""The algorithms of the arena by name. Each is imported when it is first made: Optuna need not load torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal

from benchmarks.problems import BenchmarkProblem
from benchmarks.rivals.base import Optimizer
from benchmarks.rivals.changes import Change, parsed

__all__ = ["ALGORITHMS", "Algorithm", "Optimizer", "find", "make"]

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

    def make(self, problem: BenchmarkProblem, seed: int, **more: Any) -> Optimizer:
        cls: Callable[..., Optimizer] = getattr(import_module(f"benchmarks.rivals.{self.module}"), self.cls)
        return cls(problem, seed, **dict(self.options), **more)


def _ours(label: str, knowledge: Knowledge = "none", **options: Any) -> Algorithm:
    return Algorithm(label, "dumbo", "Dumbo", knowledge, tuple(options.items()))


def _over_http(algorithm: Algorithm) -> Algorithm:
    label = f"{algorithm.label}, HTTP"
    return Algorithm(label, "dumbo", "DumboOverHTTP", algorithm.knowledge, algorithm.options)


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
    "random": Algorithm("random", "uninformed", "RandomSearch"),
    "sobol": Algorithm("Sobol", "uninformed", "SobolSearch"),
    "optuna-tpe": Algorithm("Optuna TPE", "optuna_samplers", "OptunaRival", options=(("sampler", "tpe"),)),
    "optuna-gp": Algorithm("Optuna GP", "optuna_samplers", "OptunaRival", options=(("sampler", "gp"),)),
    "optuna-cmaes": Algorithm("Optuna CMA-ES", "optuna_samplers", "OptunaRival", options=(("sampler", "cmaes"),)),
    "botorch-logei": Algorithm("BoTorch LogEI", "botorch_logei", "BotorchLogEI"),
    "ax": Algorithm("Ax", "ax_rival", "AxRival"),
    "turbo": Algorithm("TuRBO", "turbo", "Turbo"),
    "saasbo": Algorithm("SAASBO", "saasbo", "Saasbo"),
    "linebo": Algorithm("LineBO", "linebo", "LineBO"),
    "ms-ucb": Algorithm("MS-UCB", "ms_ucb", "MSUCB"),
    "add-gpucb": Algorithm("ADD-GPUCB", "add_gpucb", "AddGPUCB"),
    "dec-hbo": Algorithm("DEC-HBO", "dec_hbo", "DecHBO"),
}


def find(name: str) -> Algorithm:
    """The algorithm of this name, ours also with changes (`dumbo@hope.CLEAR=0`); ValueError says which there are."""
    base, *changes = name.split("@")
    if base not in ALGORITHMS or (changes and base not in _OURS):
        raise ValueError(f"unknown algorithm {name!r}; there are {', '.join(ALGORITHMS)}, and dumbo@hope.CLEAR=0")
    found = ALGORITHMS[base]
    if not changes:
        return found
    return replace(found, label=f"{found.label}, {', '.join(changes)}", changes=tuple(map(parsed, changes)))


def make(name: str, problem: BenchmarkProblem, seed: int, **options: Any) -> Optimizer:
    """The algorithm of this name on a problem."""
    return find(name).make(problem, seed, **options)
