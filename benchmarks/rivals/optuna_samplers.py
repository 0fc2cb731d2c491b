"""Optuna's TPE, GP and CMA-ES samplers with their own defaults."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

import optuna

from benchmarks.problems import Array, BenchmarkProblem
from benchmarks.problems.base import CATEGORICAL, INT, Parameter

SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "gp": lambda seed: optuna.samplers.GPSampler(seed=seed),
    "cmaes": lambda seed: optuna.samplers.CmaEsSampler(seed=seed),
}


class OptunaRival:
    """A study asked and told one trial at a time, on the problem's own bounds and scales."""

    def __init__(self, problem: BenchmarkProblem, seed: int, sampler: str) -> None:
        self.problem = problem
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self._study = optuna.create_study(direction="maximize", sampler=SAMPLERS[sampler](seed))
        self._space: dict[str, optuna.distributions.BaseDistribution] = {
            parameter.name: _distribution(parameter) for parameter in problem.parameters
        }
        self._trial: optuna.trial.Trial | None = None

    def ask(self) -> Array:
        self._trial = self._study.ask(self._space)
        return self.problem.array(self._trial.params)

    def tell(self, x: Array, y: float, Y: Mapping[str, float] | None = None) -> None:
        """Told of a point that it did not ask for, it takes it in as a finished trial."""
        params = self.problem.point(x)
        if self._trial is not None and self._trial.params == params:
            self._study.tell(self._trial, y)
        else:
            trial = optuna.trial.create_trial(params=params, distributions=self._space, value=y)
            self._study.add_trial(trial)
        self._trial = None


def _distribution(parameter: Parameter) -> optuna.distributions.BaseDistribution:
    if parameter.kind == CATEGORICAL:
        return optuna.distributions.CategoricalDistribution(parameter.choices)
    (low, high), log = parameter.bounds, parameter.scale == "log"
    if parameter.kind == INT:
        return optuna.distributions.IntDistribution(int(low), int(high), log=log)
    return optuna.distributions.FloatDistribution(low, high, log=log)
