"""Ax with its default generation strategy, on the problem's own bounds and scales.

That strategy evaluates the centre of the box first, then four points of a Sobol sequence.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.utils.common.logger import set_ax_logger_levels

from benchmarks.problems import Array, BenchmarkProblem
from benchmarks.problems.base import CATEGORICAL, INT, Parameter
from benchmarks.rivals.botorch_models import seeded


class AxRival:
    """Ax's own initial design, model and acquisition."""

    def __init__(self, problem: BenchmarkProblem, seed: int) -> None:
        self.problem = problem
        self.rng = np.random.default_rng([seed, 0xA8])
        set_ax_logger_levels(logging.WARNING)  # or a line for every trial goes between those of the progress
        self._client = Client(random_seed=seed)
        self._client.configure_experiment([_configured(parameter) for parameter in problem.parameters])
        self._client.configure_optimization(objective="y")
        self._client.configure_generation_strategy(initialization_random_seed=seed)
        self._asked: tuple[int, Mapping[str, Any]] | None = None

    def ask(self) -> Array:
        with seeded(int(self.rng.integers(2**31))), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ax reports on its own deprecated parts
            ((index, parameters),) = self._client.get_next_trials(max_trials=1).items()
        self._asked = index, parameters
        return self.problem.array(self._asked[1])

    def tell(self, x: Array, y: float, Y: Mapping[str, float] | None = None) -> None:
        """Told of a point that it did not ask for, it attaches it as a trial."""
        parameters = self.problem.point(x)
        if self._asked is not None and self._asked[1] == parameters:
            index = self._asked[0]
        else:
            index = self._client.attach_trial(parameters)
        self._client.complete_trial(index, raw_data={"y": y})
        self._asked = None


def _configured(parameter: Parameter) -> RangeParameterConfig | ChoiceParameterConfig:
    if parameter.kind == CATEGORICAL:
        return ChoiceParameterConfig(parameter.name, parameter.choices, "int", is_ordered=False)
    kind: Literal["int", "float"] = "int" if parameter.kind == INT else "float"
    return RangeParameterConfig(parameter.name, parameter.bounds, kind, scaling=parameter.scale)
