"""What an ask leaves behind for the next one: plain, versioned, JSON-able data.

    version           of this format
    decompositions    the samples of the last ask: factors (parameter indices), log_evidence, weight, chain
    chains            where each Metropolis-Hastings chain stands
    hyperparameters   by kind of model, to warm-start the next fit
    powers            output powers chosen last, by kind of model
    asks              how many asks of the model there were: what is not done every time is done by this clock
    structured        nats by which decompositions explain the sums better than one factor of all variables, of late
    behind            nats by which a model of the sums explained them less than the best, at its last fit: those of
                      known factors' sums, and one factor of all variables with a feature

It is never needed for an answer to exist, only for it to be as good and as cheap as the last one left it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.errors import CoreError, InvalidState
from core.graph import FactorGraph, Factors
from core.problem import Problem

VERSION = 1


@dataclass(frozen=True)
class Sample:
    """One decomposition of the acquisition's mixture."""

    factors: Factors
    log_evidence: float
    weight: float
    chain: int = 0  # whose hyperparameters it goes with


@dataclass(frozen=True)
class State:
    decompositions: tuple[Sample, ...] = ()
    chains: tuple[Factors, ...] = ()
    hyperparameters: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    powers: dict[str, list[float]] = field(default_factory=dict)
    asks: int = 0
    structured: float = 0.0
    behind: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "decompositions": [
                {"factors": _lists(s.factors), "log_evidence": s.log_evidence, "weight": s.weight, "chain": s.chain}
                for s in self.decompositions
            ],
            "chains": [_lists(chain) for chain in self.chains],
            "hyperparameters": self.hyperparameters,
            "powers": self.powers,
            "asks": self.asks,
            "structured": self.structured,
            "behind": self.behind,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None, n_dims: int) -> State:
        """The state as stored, for a problem of this many parameters; None is a fresh start."""
        if data is None:
            return cls()
        if data.get("version") != VERSION:
            raise InvalidState(f"state of version {data.get('version')!r}; this release reads version {VERSION}")
        try:
            state = cls(
                tuple(
                    Sample(_tuples(s["factors"]), float(s["log_evidence"]), float(s["weight"]), int(s["chain"]))
                    for s in data["decompositions"]
                ),
                tuple(_tuples(chain) for chain in data["chains"]),
                {
                    kind: {name: _floats(vector) for name, vector in h.items()}
                    for kind, h in data["hyperparameters"].items()
                },
                {kind: _floats(powers) for kind, powers in data["powers"].items()},
                int(data.get("asks", 0)),
                _floats([data.get("structured", 0.0)])[0],
                {name: _floats([gap])[0] for name, gap in data.get("behind", {}).items()},
            )
            for factors in (*state.chains, *(s.factors for s in state.decompositions)):
                FactorGraph(n_dims, factors)
            n_groups = max(len(state.chains) + 1, len(state.decompositions))  # chains, and one factor that stays
            if not all(0 <= s.chain < n_groups for s in state.decompositions):
                raise ValueError("a sample of a chain that is not there")
        except (KeyError, TypeError, ValueError, AttributeError, CoreError) as error:
            raise InvalidState(f"malformed state: {error!r}") from error
        return state


def _floats(values: Iterable[Any]) -> list[float]:
    """Finite numbers, at least one."""
    floats = [float(v) for v in values]
    if not floats or not all(map(math.isfinite, floats)):
        raise ValueError("expected finite numbers")
    return floats


def _lists(factors: Factors) -> list[list[int]]:
    return [list(members) for members in factors]


def _tuples(factors: list[list[int]]) -> Factors:
    return tuple(tuple(int(j) for j in members) for members in factors)


def structure(problem: Problem, state: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is known of the decomposition: samples, how often two parameters share a factor, and the best sample.

    Before the first sample, `infer` and `random` answer with the fully dependent decomposition, where they start.
    """
    names = problem.names
    samples = State.from_dict(state, len(names)).decompositions
    if problem.decomposition.mode == "known":
        index = {name: j for j, name in enumerate(names)}
        factors = tuple(tuple(index[p] for p in f.parameters) for f in problem.decomposition.factors)
        evidence = samples[0].log_evidence if samples else None
        shown = [(factors, evidence, 1.0)]
    elif samples:
        shown = [(s.factors, s.log_evidence, s.weight) for s in samples]
    else:
        shown = [((tuple(range(len(names))),), None, 1.0)]
    total = sum(weight for _, _, weight in shown)
    together = np.zeros((len(names), len(names)))
    for factors, _, weight in shown:
        together += weight / total * _co_membership(factors, len(names))
    best = max(shown, key=lambda s: s[2])
    return {
        "mode": problem.decomposition.mode,
        "samples": [{"factors": _names(f, names), "log_evidence": e, "weight": w / total} for f, e, w in shown],
        "co_occurrence": {"parameters": names, "matrix": together.round(12).tolist()},
        "map": _names(best[0], names),
    }


def _co_membership(factors: Factors, n_dims: int) -> np.ndarray:
    """n_dims x n_dims: 1 where two variables share a factor."""
    M = np.zeros((len(factors), n_dims))
    for i, members in enumerate(factors):
        M[i, list(members)] = 1.0
    return ((M.T @ M) > 0).astype(float)


def _names(factors: Factors, names: list[str]) -> list[list[str]]:
    return [[names[j] for j in members] for members in factors]
