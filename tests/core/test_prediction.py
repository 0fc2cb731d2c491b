"""Predictions in the objective's units, against dense models and simulation."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from core import CoreError, InvalidPoint, Observation, Problem, predict, propose
from core.prediction import expected, objective_moments
from core.transform import BENDS, OutputTransform
from tests.core.support import dense, known_problem, observe, point, unit_problem
from tests.core.test_model import joint_of, mixed_history, standard, surrogate, wavy

SPOTS = np.random.default_rng(99).random((5, 3))
POINTS = [point(x) for x in SPOTS]


def still(problem: Problem) -> Problem:
    return replace(problem, algorithm=replace(problem.algorithm, proposals=0))


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_known_factors_predict_the_dense_posterior_in_the_objectives_units(direction: str) -> None:
    """Mean and sd of f and of each factor are the dense model's, scaled back; factor means sum to the mean."""
    factors = ((0, 1), (1, 2))
    problem = known_problem(factors, algorithm={"transform": "none"}, direction=direction)
    X = np.random.default_rng(0).random((20, 3))
    told = observe(X, lambda x: 1000 + 40 * wavy(x))
    sign = problem.sign
    y = sign * np.array([o.value for o in told])
    hyper = surrogate(problem, told).posterior.hyper
    other = dense(
        "known", "matern52", factors, hyper, X, standard(y), np.full(20, float(torch.exp(hyper.log_noise[0])))
    )
    mean, var = other.total(SPOTS)
    for s, got in enumerate(predict(problem, told, POINTS)):
        assert got.scale == "objective"
        assert got.mean == pytest.approx(sign * (y.mean() + y.std() * mean[s]), rel=1e-6)
        assert got.sd == pytest.approx(y.std() * math.sqrt(var[s]), rel=1e-4)
        assert list(got.factors) == ["f0", "f1"]
        assert sum(m for m, _ in got.factors.values()) == pytest.approx(got.mean, rel=1e-9)
        assert got.model_mean == pytest.approx(got.mean)
        for i in range(2):
            assert got.factors[f"f{i}"][1] == pytest.approx(y.std() * math.sqrt(other.factor(i, SPOTS)[1][s]), rel=1e-4)


def test_factor_values_predict_each_factor_in_its_units() -> None:
    """With Y, factor means are near the factors' true values and sum to the mean; variances add up."""
    problem, told, X, Y, X_sum, y_sum = mixed_history(0)
    model = surrogate(problem, told)
    joint, width = joint_of(model, X, Y, X_sum, y_sum)
    for s, got in enumerate(predict(problem, told, POINTS)):
        assert got.scale == "objective"
        for i in range(2):
            mean, var = (part[s] for part in joint.factor(i, SPOTS))
            constant = float(model.posterior.hyper.mean[i])
            assert got.factors[f"f{i}"][0] == pytest.approx(Y[i].mean() + width[i] * (mean + constant), rel=1e-6)
            assert got.factors[f"f{i}"][1] == pytest.approx(width[i] * math.sqrt(var), rel=1e-4)
        assert got.mean == pytest.approx(sum(m for m, _ in got.factors.values()), rel=1e-9)
        assert got.sd == pytest.approx(math.sqrt(sum(sd**2 for _, sd in got.factors.values())), rel=1e-6)


def test_mixed_history_predicts_the_sums_own_uncertainty() -> None:
    """Told in sum, factors trade off: the sd of f is that of the joint Gaussian, not of independent parts."""
    problem, told, X, Y, X_sum, y_sum = mixed_history(8, width=1.0)
    model = surrogate(problem, told)
    joint, width = joint_of(model, X, Y, X_sum, y_sum)
    row = sum(joint.gain[i] * joint.cross(i, X_sum[:3]) for i in range(2))
    prior = sum(joint.gain[i] ** 2 * joint.k(i, X_sum[:3], X_sum[:3]) for i in range(2))
    var = np.diag(prior - row @ np.linalg.solve(joint.C, row.T))
    got = predict(problem, told, [point(x) for x in X_sum[:3]])
    np.testing.assert_allclose([p.sd for p in got], width.max() * np.sqrt(var), rtol=1e-3)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_measurement_is_expected_as_draws_of_the_samples_give_it(direction: str) -> None:
    """Draw a decomposition by weight, f and its noise, and turn that back: such values have this mean and sd."""
    problem = unit_problem(
        3, decomposition={"mode": "random", "samples": 3}, algorithm={"transform": "none"}, direction=direction
    )
    told = observe(np.random.default_rng(0).random((15, 3)), lambda x: 7 - 40 * wavy(x))
    model = surrogate(problem, told)
    assert len(model.samples) == 3
    mean, var = (part[:, 0].numpy() for part in model.posterior.total(torch.from_numpy(SPOTS[:1])))
    rng = np.random.default_rng(1)
    k = rng.choice(3, size=400_000, p=[sample.weight for sample in model.samples])
    draws = rng.normal(mean[k], np.sqrt(var + model.posterior.noise().numpy())[k])
    values = problem.sign * model.transforms[0].inverse(torch.from_numpy(draws)).numpy()
    got_mean, got_sd = expected(problem, model, torch.from_numpy(SPOTS[0]))
    assert got_mean == pytest.approx(values.mean(), abs=5 * values.std() / math.sqrt(len(values)))
    assert got_sd == pytest.approx(values.std(), rel=0.02)


@pytest.mark.parametrize("n_sums", [0, 8])
def test_a_measurement_of_factors_is_expected_with_the_noise_of_each(n_sums: int) -> None:
    """To what is predicted of f the noise of every factor is added, in the factor's own units."""
    problem, told, _, Y, *_ = mixed_history(n_sums)
    model = surrogate(problem, told)
    noise = float((Y.var(1) * model.posterior.noise().numpy()).sum())
    for spot, predicted in zip(SPOTS, predict(problem, told, POINTS), strict=True):
        mean, sd = expected(problem, model, torch.from_numpy(spot))
        assert mean == pytest.approx(predicted.mean, rel=1e-9)
        assert sd == pytest.approx(math.sqrt(predicted.sd**2 + noise), rel=1e-9)


def test_bent_predictions_keep_to_the_size_of_the_data() -> None:
    """Bent back, a Gaussian belief has a mean and an sd of the size of what was told, not of the bend's asymptote."""
    problem = known_problem([[0], [1, 2]])
    told = observe(np.random.default_rng(5).random((20, 3)), lambda x: -float(np.exp(6 * x[0] + 2 * x[1]) / 10))
    reach = -min(o.value or 0.0 for o in told)
    assert not surrogate(still(problem), told).transforms[0].is_affine
    for got in predict(problem, told, POINTS):
        assert abs(got.mean) < 10 * reach
        assert got.sd < 10 * reach


def test_bent_outputs_tell_factors_in_model_units() -> None:
    """While a nonlinear transform is in force factor means sum to the model's mean, and the mean is the objective's."""
    problem = known_problem([[0, 1], [2]])
    X = np.random.default_rng(1).random((40, 3))
    told = observe(X, lambda x: float(-np.exp(9 * x[0] * x[1] + 4 * x[2])))
    assert not surrogate(still(problem), told).transforms[0].is_affine
    for got, x in zip(predict(problem, told, POINTS), SPOTS, strict=True):
        assert got.scale == "model"
        assert sum(m for m, _ in got.factors.values()) == pytest.approx(got.model_mean, abs=1e-9)
        truth = float(-np.exp(9 * x[0] * x[1] + 4 * x[2]))
        assert abs(got.mean - truth) < max(6 * got.sd, 0.2 * abs(truth))


@pytest.mark.parametrize("power", BENDS)
def test_moments_in_the_objectives_units_equal_simulation(power: float) -> None:
    """Quadrature through the inverse transform gives the mean and sd of 200,000 simulated values."""
    transform = OutputTransform.fit(np.linspace(-2.0, 2.0, 9), power)
    mean, sd = torch.tensor([0.3, -0.5], dtype=torch.float64), torch.tensor([0.2, 0.1], dtype=torch.float64)
    got_mean, got_sd = objective_moments(transform, mean, sd)
    noise = torch.randn(200_000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = transform.inverse(mean + sd * noise)
    torch.testing.assert_close(got_mean, y.mean(0), rtol=5e-3, atol=5e-3)
    torch.testing.assert_close(got_sd, y.std(0), rtol=1e-2, atol=5e-3)


def test_predictions_fit_the_data() -> None:
    """At told points the mean is near the value and the sd small; far from them the sd grows."""
    problem = unit_problem(1, decomposition={"mode": "none"})
    told = observe(np.linspace(0, 0.5, 8)[:, None], lambda x: float(np.sin(6 * x[0])))
    near, far = predict(problem, told, [{"x0": float(told[3].parameters["x0"])}, {"x0": 1.0}])
    assert near.mean == pytest.approx(told[3].value, abs=0.05)
    assert near.sd < 0.05 < far.sd


def test_inferred_factors_are_numbered() -> None:
    """Without known factors they are those of the heaviest sample of the last ask, by number."""
    problem = unit_problem(3, decomposition={"mode": "none"})
    told = observe(np.random.default_rng(2).random((12, 3)), wavy)
    (got,) = predict(problem, told, POINTS[:1])
    assert list(got.factors) == ["factor_0"]


def test_prediction_uses_the_decomposition_of_the_last_ask() -> None:
    """A prediction does not wander with a chain of its own: its factors are those of the heaviest stored sample."""
    problem = unit_problem(5, algorithm={"proposals": 40})
    told = observe(np.random.default_rng(3).random((20, 5)), lambda x: float(np.sin(4 * x[0] * x[1]) + x[2:].sum()))
    state = propose(problem, told).state
    assert state is not None
    for weights in ([1.0, 0.0], [0.0, 1.0]):
        stored: dict[str, Any] = {**state, "decompositions": [
            {"factors": [[0, 1], [2, 3, 4]], "log_evidence": -5.0, "weight": weights[0], "chain": 0},
            {"factors": [[0], [1], [2], [3], [4]], "log_evidence": -5.0, "weight": weights[1], "chain": 1},
        ]}  # fmt: skip
        (got,) = predict(problem, told, [point(np.full(5, 0.5))], state=stored)
        assert len(got.factors) == (2 if weights[0] else 5)


def test_prediction_is_repeatable_and_plain() -> None:
    """The same question has the same answer, which JSON can hold."""
    problem = unit_problem(3, algorithm={"proposals": 20})
    told = observe(np.random.default_rng(4).random((15, 3)), wavy)
    state = propose(problem, told).state
    one, two = (predict(problem, told, POINTS, state=state) for _ in range(2))
    assert one == two
    json.dumps([vars(p) for p in one], allow_nan=False)


@pytest.mark.parametrize("size", [1e300, 1e-300])
@pytest.mark.parametrize("told_by", ["sum", "factors", "bent"])
def test_extreme_outputs_predict_finite_positive_sds(size: float, told_by: str) -> None:
    """At 1e300 no square overflows, at 1e-300 none vanishes, whichever way the outputs were told."""
    problem = known_problem([[0], [1, 2]])
    X = np.random.default_rng(5).random((20, 3))
    if told_by == "factors":
        told = [Observation(point(x), factor_values={"f0": size * x[0], "f1": size * wavy(x)}) for x in X]
    else:
        told = observe(X, lambda x: size * (wavy(x) if told_by == "sum" else -float(np.exp(6 * x[0] + 2 * x[1]) / 10)))
    for got in predict(problem, told, POINTS):
        assert math.isfinite(got.mean)
        assert 0 < got.sd < math.inf
        assert 1e-3 * size < got.sd + abs(got.mean) < 1e3 * size


def test_nothing_told_is_a_clear_error() -> None:
    """There is nothing to predict from before the first completed observation."""
    problem = unit_problem(3)
    with pytest.raises(CoreError, match="no completed observation"):
        predict(problem, [Observation(POINTS[0], state="failed")], POINTS)


def test_points_outside_are_refused() -> None:
    """A point that is not of the space is InvalidPoint."""
    problem = unit_problem(3)
    told = observe(SPOTS, wavy)
    with pytest.raises(InvalidPoint):
        predict(problem, told, [{"x0": 2.0, "x1": 0.0, "x2": 0.0}])


def test_no_points_give_no_predictions() -> None:
    """An empty question has an empty answer."""
    assert predict(unit_problem(3), observe(SPOTS, wavy), []) == []


def test_a_constant_factor_does_not_drown_the_others() -> None:
    """Where one factor was told 1000 every time, the sd of f stays of the size of what varies."""
    problem = known_problem([[0], [1, 2]], algorithm={"transform": "none"})
    X = np.random.default_rng(6).random((25, 3))
    told = [Observation(point(x), factor_values={"f0": 1000.0, "f1": 1e-2 * wavy(x)}) for x in X]
    for got in predict(problem, told, POINTS):
        assert got.sd < 0.1


def test_one_observation_predicts() -> None:
    """A single value is enough for a finite answer near it."""
    (got,) = predict(unit_problem(3), observe(SPOTS[:1], lambda x: 7.0), POINTS[:1])
    assert got.mean == pytest.approx(7.0, abs=7.0)
    assert math.isfinite(got.sd)
