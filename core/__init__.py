"""The DuMBO core: Bayesian optimization on the additive structure of the objective.

    >>> from core import Observation, Problem, propose
    >>> problem = Problem.from_dict({"direction": "maximize", "parameters": [
    ...     {"name": "x", "type": "float", "bounds": [0, 1]}]})
    >>> told = [Observation({"x": x}, value=-(x - 0.3) ** 2) for x in (0.0, 0.5, 1.0)]
    >>> proposal = propose(problem, told)
    >>> proposal.points
    [{'x': ...}]

Glossary (paper: code)

    f, d, t              objective, n_dims, n_obs
    f^(i), n             factor i, n_factors
    V_i                  factor_vars[i]     variables of factor i
    F_j                  var_factors[j]     factors that use variable j
    N_i                  neighbors[i]       factors that share a variable with i, and i itself
    d-bar                max_factor_size
    x^(i), x-bar         x_local, consensus
    lambda^(i), eta      duals, penalty
    r, s                 primal_residual, dual_residual
    A_1 ... A_k          decompositions

Capital letters name matrices; everything is float64; random state is passed, never global.
Describing a problem needs no torch: `propose` and `predict` import it when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import (
    CoreError,
    Fault,
    InvalidObservation,
    InvalidPoint,
    InvalidProblem,
    InvalidState,
    NumericalError,
    SpaceExhausted,
)
from core.parameter import Parameter
from core.problem import Algorithm, Decomposition, Factor, Observation, Problem

if TYPE_CHECKING:
    from core.ask import Proposal, propose
    from core.prediction import Prediction, predict

__all__ = [
    "Algorithm",
    "CoreError",
    "Decomposition",
    "Factor",
    "Fault",
    "InvalidObservation",
    "InvalidPoint",
    "InvalidProblem",
    "InvalidState",
    "NumericalError",
    "Observation",
    "Parameter",
    "Prediction",
    "Problem",
    "Proposal",
    "SpaceExhausted",
    "predict",
    "propose",
]

_LAZY = {
    "propose": "core.ask",
    "Proposal": "core.ask",
    "predict": "core.prediction",
    "Prediction": "core.prediction",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'core' has no attribute {name!r}")
