"""The classic functions, against BoTorch's own where it has them, and against their optima."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from botorch.test_functions import synthetic as botorch

from benchmarks import problems
from benchmarks.problems import CLASSICS

ORACLES = {
    "branin": botorch.Branin(negate=True),
    "shekel": botorch.Shekel(m=10, negate=True),
    "levy-20": botorch.Levy(dim=20, negate=True),
    "griewank-20": botorch.Griewank(dim=20, negate=True),
    "michalewicz-10": botorch.Michalewicz(dim=10, negate=True),
    "styblinski-20": botorch.StyblinskiTang(dim=20, negate=True),
    "dixon-15": botorch.DixonPrice(dim=15, negate=True),
}


@pytest.mark.parametrize("name", ORACLES)
def test_equals_botorchs(name: str) -> None:
    """At random points of the box, to rounding (Shekel's, there, in single precision); BoTorch has the same box."""
    problem, oracle = problems.make(name), ORACLES[name].double()
    np.testing.assert_allclose(np.array(problem.bounds).T, oracle.bounds.numpy(), atol=1e-6)
    X = problem.from_unit(np.random.default_rng(0).random((20, problem.n_dims)))
    expected = oracle(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose([problem.f(x) for x in X], expected, rtol=1e-6)


@pytest.mark.parametrize("name", CLASSICS)
def test_nothing_beats_the_optimum(name: str) -> None:
    """The optimizer has it; neither random points nor small steps away from it have more."""
    problem = problems.make(name, seed=3)
    assert problem.optimum is not None
    assert problem.optimizer is not None
    best = np.array(problem.optimizer)
    scale = 1e-6 * max(1.0, abs(problem.optimum))
    assert problem.f(best) == pytest.approx(problem.optimum, abs=scale)
    rng = np.random.default_rng(1)
    unit = problem.to_unit(best)
    near = np.clip(unit + rng.normal(scale=1e-3, size=(200, problem.n_dims)), 0, 1)
    for u in [*rng.random((500, problem.n_dims)), *near]:
        assert problem.f(problem.from_unit(u)) <= problem.optimum + scale


def test_michalewicz_says_which_size_it_knows() -> None:
    """Its optimum is known for ten variables."""
    with pytest.raises(ValueError, match="10 dimensions"):
        problems.make("michalewicz-5")
