"""From a history to a conditioned surrogate, against dense models in standardised units and planted structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from core import Observation, Problem
from core.budget import Budget
from core.graph import Factors
from core.history import read
from core.hyper import Hyperparameters
from core.model import Model, build
from core.space import Space
from core.state import State, structure
from tests.core.support import (
    Array,
    Clock,
    dense,
    known_problem,
    observe,
    point,
    random_factors,
    ranked_auc,
    unit_problem,
)
from tests.core.test_posterior import Joint, at


def surrogate(
    problem: Problem,
    told: Sequence[Observation],
    state: dict[str, Any] | None = None,
    seed: int = 0,
    by_factor: bool = False,
) -> Model:
    space = Space(problem)
    history = read(problem, space, told)
    stored, rng = State.from_dict(state, space.n_dims), np.random.default_rng(seed)
    return build(problem, space, history, stored, rng, Budget(Clock()), by_factor=by_factor)


def standard(y: Array) -> Array:
    """What the affine output transform amounts to."""
    return np.asarray((y - y.mean()) / y.std())


def group_of(model: Model, k: int) -> Hyperparameters:
    """The hyperparameters of sample k's group alone."""
    every, g = model.posterior.hyper, int(model.posterior.layout.model_index[k])
    d = len(every.log_lengthscale) // len(every.log_scale)
    one = slice(g, g + 1)
    return Hyperparameters(
        every.log_lengthscale[g * d : (g + 1) * d], every.log_scale[one], every.log_noise[one], every.mean[one]
    )


def wavy(x: Array) -> float:
    return float(np.sin(5 * x[0] * x[1]) + x[2] ** 2)


@pytest.mark.parametrize("mode", ["none", "infer", "random"])
def test_sum_models_equal_the_dense_ones(mode: str) -> None:
    """Every sampled decomposition is conditioned on the standardised outputs under the fitted hyperparameters."""
    problem = unit_problem(3, decomposition={"mode": mode, "samples": 3}, algorithm={"transform": "none"})
    X = np.random.default_rng(0).random((15, 3))
    told = observe(X, wavy)
    model = surrogate(problem, told)
    y, x = standard(np.array([o.value for o in told])), np.random.default_rng(1).random((4, 3))
    mean, var = at(model.posterior, x)
    row = 0
    for k, sample in enumerate(model.samples):
        hyper = group_of(model, k)
        noise = np.full(15, float(torch.exp(hyper.log_noise[0])))
        other = dense("shared", "matern52", sample.factors, hyper, X, y, noise)
        assert sample.log_evidence == pytest.approx(other.log_evidence(), abs=1e-6)
        for i in range(len(sample.factors)):
            np.testing.assert_allclose(mean[row], other.factor(i, x)[0], atol=1e-6)
            np.testing.assert_allclose(var[row], other.factor(i, x)[1], atol=1e-6)
            row += 1
    assert sum(s.weight for s in model.samples) == pytest.approx(1.0)
    np.testing.assert_allclose(model.gain.numpy(), [s.weight for s in model.samples for _ in s.factors])


def test_known_factors_told_in_sum_are_one_dense_model() -> None:
    """Known overlapping factors with y alone: Prop. 3.4 under the fitted hyperparameters."""
    factors = ((0, 1), (1, 2), (0,))
    problem = known_problem(factors, algorithm={"transform": "none"})
    X = np.random.default_rng(2).random((15, 3))
    told = observe(X, wavy)
    model = surrogate(problem, told, by_factor=True)
    assert model.kind == "known"
    assert model.samples[0].factors == factors
    hyper, y = model.posterior.hyper, standard(np.array([o.value for o in told]))
    other = dense("known", "matern52", factors, hyper, X, y, np.full(15, float(torch.exp(hyper.log_noise[0]))))
    x = np.random.default_rng(3).random((4, 3))
    mean, _ = at(model.posterior, x)
    np.testing.assert_allclose(mean, [other.factor(i, x)[0] for i in range(3)], atol=1e-6)


def test_every_other_ask_goes_back_to_one_factor_if_that_explains_more() -> None:
    """After a first ask, one about a product has one factor of all variables, and leaves a state that can be read."""
    problem = unit_problem(3)
    told = observe(np.random.default_rng(4).random((30, 3)), lambda x: float(np.sin(4 * x[0] * x[1] * x[2])))
    model = surrogate(problem, told, surrogate(problem, told).state.to_dict())
    assert [s.factors for s in model.samples] == [((0, 1, 2),)]
    assert State.from_dict(model.state.to_dict(), 3) == model.state
    assert model.state.asks == 2


def waves(x: Array) -> float:
    return float(np.sin(9 * x[0]) + np.cos(8 * x[1]) + np.sin(7 * x[2]))


@pytest.mark.parametrize(
    ("function", "factors", "kind"),
    [
        (lambda x: float(9 * np.sin(9 * x[0]) + np.cos(8 * x[1]) + x[2] / 9), ((0,), (1,), (2,)), "known"),
        (waves, ((0,), (1,), (2,)), "tied"),
        (waves, ((0, 1), (1, 2)), "single"),
        (lambda x: float(np.sin(4 * x[0] * x[1] * x[2])), ((0,), (1,), (2,)), "whole"),
    ],
)
def test_evidence_decides_how_known_factors_are_modelled(
    function: Callable[[Array], float], factors: Factors, kind: str
) -> None:
    """By themselves, of one size, by variable where they are sums themselves, as one; the study's are always kept."""
    told = observe(np.random.default_rng(4).random((40, 3)), function)
    model = surrogate(known_problem(factors), told)
    assert model.kind == kind
    used = {"whole": ((0, 1, 2),), "single": ((0,), (1,), (2,))}
    assert model.samples[0].factors == used.get(kind, factors)
    assert model.state.decompositions[0].factors == factors
    fitted = model.state.hyperparameters
    assert surrogate(known_problem(factors), told, model.state.to_dict()).state.hyperparameters.keys() == fitted.keys()


def test_factors_of_the_same_variables_are_one_in_a_sum() -> None:
    """Three factors of the same three variables, in any order, are one in the model; by factor they are three."""
    factors = ((0, 1, 2), (2, 1, 0), (0, 1, 2))
    told = observe(np.random.default_rng(4).random((20, 3)), lambda x: float(np.sin(4 * x[0] * x[1] * x[2])))
    model = surrogate(known_problem(factors), told)
    assert (model.kind, model.samples[0].factors) == ("known", ((0, 1, 2),))
    assert model.posterior.n_factors == 1
    assert model.state.decompositions[0].factors == factors
    assert surrogate(known_problem(factors), told, model.state.to_dict(), by_factor=True).posterior.n_factors == 3


def test_told_standard_errors_become_noise_in_model_units() -> None:
    """sem divided by the outputs' deviation, squared, is the noise of its row."""
    problem = unit_problem(2, decomposition={"mode": "none"}, algorithm={"transform": "none"})
    rng = np.random.default_rng(4)
    X, y, sem = rng.random((10, 2)), 100 + 30 * rng.standard_normal(10), 1 + 10 * rng.random(10)
    told = [Observation(point(x), value=v, sem=s) for x, v, s in zip(X, y.tolist(), sem.tolist(), strict=True)]
    model = surrogate(problem, told)
    other = dense("shared", "matern52", ((0, 1),), model.posterior.hyper, X, standard(y), (sem / y.std()) ** 2)
    assert model.samples[0].log_evidence == pytest.approx(other.log_evidence(), abs=1e-6)


def mixed_history(n_sums: int, width: float = 50.0) -> tuple[Problem, list[Observation], Array, Array, Array, Array]:
    """Overlapping factors told by factors in 12 rows and in sum in n_sums rows."""
    rng = np.random.default_rng(5)
    problem = known_problem([[0, 1], [1, 2]], algorithm={"transform": "none"})
    X, X_sum = rng.random((12, 3)), rng.random((n_sums, 3))

    def parts(x: Array) -> Array:
        return np.array([width * np.sin(4 * x[0] * x[1]), 3 + x[1] - x[2] ** 2])

    Y, y_sum = np.array([parts(x) for x in X]).T, np.array([parts(x).sum() for x in X_sum])
    told = [Observation(point(x), factor_values={"f0": a, "f1": b}) for x, (a, b) in zip(X, Y.T.tolist(), strict=True)]
    told += [Observation(point(x), value=float(v)) for x, v in zip(X_sum, y_sum, strict=True)]
    return problem, told, X, Y, X_sum, y_sum


def joint_of(model: Model, X: Array, Y: Array, X_sum: Array, y_sum: Array) -> tuple[Joint, Array]:
    """The dense joint Gaussian in units of the widest factor, and each factor's unit."""
    width = Y.std(1)
    gain = width / width.max()
    Z = (Y - Y.mean(1, keepdims=True)) / width[:, None]
    noise = float((gain**2 * np.exp(model.posterior.hyper.log_noise.numpy())).sum())
    z_sum = (y_sum - Y.mean(1).sum()) / width.max()
    factors = model.samples[0].factors
    return Joint(factors, model.posterior.hyper, X, Z, X_sum, z_sum, np.full(len(X_sum), noise), gain), width


def test_mixed_histories_use_each_row_for_what_it_says() -> None:
    """Rows with factor values and rows with sums give the posterior of their joint Gaussian, in factors' own units."""
    problem, told, X, Y, X_sum, y_sum = mixed_history(6)
    model = surrogate(problem, told)
    assert model.kind == "separate"
    joint, _ = joint_of(model, X, Y, X_sum, y_sum)
    x = np.random.default_rng(6).random((4, 3))
    mean, var = at(model.posterior, x)
    for i in range(2):
        np.testing.assert_allclose(mean[i], joint.factor(i, x)[0], atol=1e-6)
        np.testing.assert_allclose(var[i], joint.factor(i, x)[1], atol=1e-6)


def test_overlapping_factors_are_weighed_in_common_units() -> None:
    """With Y, each factor is modelled in units of its own; the acquisition adds them in the objective's."""
    problem, told, _, Y, _, _ = mixed_history(0)
    model = surrogate(problem, told)
    width = Y.std(1)
    np.testing.assert_allclose(model.gain.numpy(), width / width.max(), rtol=1e-9)


def test_few_factor_rows_are_used_as_sums() -> None:
    """Two rows told by factors among twenty sums are too few for models of their own."""
    problem, told, *_ = mixed_history(20)
    assert surrogate(problem, told[10:]).kind == "known"


def test_no_structure_is_one_factor() -> None:
    """Mode none is plain GP-UCB's single factor."""
    problem = unit_problem(4, decomposition={"mode": "none"})
    told = observe(np.random.default_rng(7).random((8, 4)), lambda x: float(x.sum()))
    assert [s.factors for s in surrogate(problem, told).samples] == [((0, 1, 2, 3),)]


@pytest.mark.parametrize("mode", ["infer", "random"])
def test_max_factor_size_bounds_every_sample(mode: str) -> None:
    """No sample has a factor above the limit, over several asks; every variable is covered."""
    problem = unit_problem(5, decomposition={"mode": mode, "max_factor_size": 2, "samples": 4})
    told = observe(np.random.default_rng(8).random((12, 5)), lambda x: float(np.prod(x)))
    state = None
    for seed in range(3):
        model = surrogate(problem, told, state, seed)
        state = model.state.to_dict()
        for sample in model.samples:
            assert max(map(len, sample.factors)) <= 2
            assert sorted(j for members in sample.factors for j in members) == list(range(5))


def test_random_decompositions_change_with_the_generator() -> None:
    """Mode random draws anew each ask, as many as `samples` says."""
    problem = unit_problem(6, decomposition={"mode": "random", "samples": 4})
    told = observe(np.random.default_rng(9).random((8, 6)), lambda x: float(x.sum()))
    one, two = ([s.factors for s in surrogate(problem, told, seed=seed).samples] for seed in (0, 1))
    assert len(one) == 4
    assert one != two


def test_unlimited_factor_size_starts_from_the_fully_dependent_decomposition() -> None:
    """By default one factor may hold every variable: strongly coupled data keep the full decomposition."""
    problem = unit_problem(3)
    told = observe(np.random.default_rng(10).random((40, 3)), lambda x: float(np.sin(8 * x.prod())))
    model = surrogate(problem, told)
    assert max(model.samples, key=lambda s: s.weight).factors == ((0, 1, 2),)


def test_heavy_tailed_outputs_are_bent_and_plain_ones_are_not() -> None:
    """A long lower tail is bent; well-behaved outputs are not, and with transform none nothing ever is."""
    X = np.random.default_rng(11).random((40, 2))
    heavy = observe(X, lambda x: float(-np.exp(9 * x[0] + 3 * x[1])))
    plain = observe(X, lambda x: float(np.sin(5 * x[0]) + x[1]))
    kept = unit_problem(2, decomposition={"mode": "none"}, algorithm={"transform": "none"})
    auto = unit_problem(2, decomposition={"mode": "none"})
    assert not surrogate(auto, heavy).transforms[0].is_affine
    assert surrogate(auto, plain).transforms[0].is_affine
    assert surrogate(kept, heavy).transforms[0].is_affine


def test_failed_points_lower_the_mean_there_and_nothing_falls_over() -> None:
    """A failed point counts as a doubtful poor value: the mean falls there, the variance too."""
    problem = unit_problem(1, decomposition={"mode": "none"}, algorithm={"transform": "none"})
    told = observe(np.array([[0.0], [0.1], [0.3], [0.5], [1.0]]), lambda x: float(x[0]))
    here = torch.tensor([[0.75]], dtype=torch.float64)
    before = surrogate(problem, told).posterior.total(here)
    after = surrogate(problem, [*told, Observation({"x0": 0.75}, state="failed")]).posterior.total(here)
    assert float(after[0]) < float(before[0])
    assert float(after[1]) < float(before[1])


PLANTED = ((0, 1), (2, 3), (4, 5, 6), (7, 8), (9,))


def planted(x: Array) -> float:
    return float(
        2 * np.sin(5 * x[0] * x[1]) + np.cos(6 * x[2] - 4 * x[3]) + 3 * (x[4] - 0.3) * (x[5] - 0.6) * (1 + x[6])
        + np.sin(4 * (x[7] + x[8])) + x[9] ** 2
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_planted_structure_ranks_its_pairs_first(seed: int) -> None:
    """At t = 150, d = 10, after six asks' worth of proposals, co-occurrence tells planted pairs from others."""
    problem = unit_problem(10, algorithm={"seed": seed})
    told = observe(np.random.default_rng(seed).random((150, 10)), planted)
    state: dict[str, Any] | None = None
    for ask in range(6):
        state = surrogate(problem, told, state, seed=10 * seed + ask).state.to_dict()
    together = np.array(structure(problem, state)["co_occurrence"]["matrix"])
    truth = np.array([[any({i, j} <= set(b) for b in PLANTED) for j in range(10)] for i in range(10)])
    upper = np.triu_indices(10, 1)
    assert ranked_auc(together[upper], truth[upper]) > 0.9


def test_structure_shows_every_chain_whichever_the_ask_trusted() -> None:
    """Every other ask is cautious and leaves out the independent chain; what is stored never does."""
    problem = unit_problem(10, algorithm={"seed": 0})
    told = observe(np.random.default_rng(0).random((60, 10)), planted)
    state: dict[str, Any] | None = None
    used, moved = [], []
    for ask in range(6):
        model = surrogate(problem, told, state, seed=ask)
        state = model.state.to_dict()
        used.append({s.chain for s in model.samples})
        assert {s["chain"] for s in state["decompositions"]} == {0, 1}
        assert model.acceptance is not None
        moved.append(model.acceptance)
    assert all(chains == {0, 1} for chains in used[::2])
    assert all(1 not in chains for chains in used[1::2])
    assert all(0.0 <= rate < 1.0 for rate in moved)  # a chain that stands on the truth may stay for one ask ...
    assert sum(rate > 0.0 for rate in moved) >= 4  # ... not for most


@pytest.mark.parametrize("seed", range(2))
def test_random_known_graphs_with_factor_values_are_separate_models(seed: int) -> None:
    """With every row told by factors, each factor's moments are those of its own GP, for any overlap."""
    rng = np.random.default_rng(30 + seed)
    factors = random_factors(rng, 4, 3)
    problem = known_problem(factors, algorithm={"transform": "none"})
    problem = problem if len(problem.parameters) == 4 else known_problem([*factors[:2], (0, 1, 2, 3)])
    X = rng.random((10, 4))
    Y = rng.standard_normal((3, 10))
    told = [
        Observation(point(x), factor_values={f"f{i}": float(v) for i, v in enumerate(row)})
        for x, row in zip(X, Y.T, strict=True)
    ]
    model = surrogate(problem, told)
    x = rng.random((3, 4))
    mean, var = at(model.posterior, x)
    Z = (Y - Y.mean(1, keepdims=True)) / Y.std(1)[:, None]
    far = Joint(model.samples[0].factors, model.posterior.hyper, X, Z, X[:0], np.zeros(0), np.zeros(0), np.ones(3))
    if all(t.is_affine for t in model.transforms):
        for i in range(3):
            np.testing.assert_allclose(mean[i], far.factor(i, x)[0], atol=1e-6)
            np.testing.assert_allclose(var[i], far.factor(i, x)[1], atol=1e-6)
