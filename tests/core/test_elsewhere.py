"""Leaving an optimum that has come to its end: when, which observations are set aside, and that it finds others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core import NumericalError, Observation, Problem, propose
from core import layout as layouts
from core.budget import Budget
from core.choose import is_bold
from core.elsewhere import LEAST, LEAST_GAIN, MOST, PATIENCE, alike, impatience, outside, standstill
from core.evidence import Data
from core.graph import Factors
from core.history import History, read
from core.hope import EVERY, is_hopeful
from core.hyper import Hyperparameters
from core.model import Model, build
from core.posterior import condition
from core.space import Space
from core.state import Sample, State
from core.transform import OutputTransform
from tests.core.support import Array, known_problem, observe, point, unit_problem, unit_space
from tests.core.test_release import history


def model_of(X: Array, y: Array, *decompositions: Factors, weights: Sequence[float] = (1.0,)) -> Model:
    """Decompositions of the sum, by weight, given these observations; all lengthscales 0.3."""
    layout = layouts.shared(unit_space(X.shape[1]), decompositions)
    data = Data(torch.from_numpy(X), torch.from_numpy(y)[None], torch.full((len(y),), 1e-4, dtype=torch.float64))
    posterior = condition(layout, Hyperparameters.default(layout), "matern52", data)
    samples = tuple(Sample(d, 0.0, w) for d, w in zip(decompositions, weights, strict=True))
    gain = torch.tensor(weights, dtype=torch.float64)[layout.owner]
    return Model("shared", posterior, samples, gain, layout.blocks, (OutputTransform(),), State(), None, 0)


def matern(squares: Array) -> float:
    """Matern-5/2 of the mean of these squared, scaled differences."""
    r = math.sqrt(5 * squares.mean())
    return (1 + r + r * r / 3) * math.exp(-r)


def correlation(x: Array, peak: Array, members: tuple[int, ...]) -> float:
    """Between the values of a factor of these variables at lengthscale 0.3."""
    return matern(((x - peak)[list(members)] / 0.3) ** 2)


@given(seed=st.integers(0, 999), n=st.integers(1, 60), levels=st.integers(1, 8))
def test_standstill_is_how_long_the_best_has_hardly_grown(seed: int, n: int, levels: int) -> None:
    """The longest run of latest outputs before which the best was as good, but for a share of what it had gained."""
    y = np.random.default_rng(seed).integers(0, levels, n).astype(float) - 3.0
    least = LEAST_GAIN * (y.max() - np.median(y[: (n + 1) // 2]))
    runs = [w for w in range(n) if y.max() - y[: n - w].max() <= least]
    assert standstill(y) == max(runs)


def test_growth_is_by_what_has_been_gained() -> None:
    """Of a thousand gained before, a hundredth is no growth, and a hundred is; so of the largest numbers there are."""
    way = np.linspace(-1000.0, 0.0, 2 * PATIENCE)
    assert standstill(np.concatenate([way, np.linspace(0.0, 0.01, 2 * PATIENCE)])) == 2 * PATIENCE
    assert standstill(np.concatenate([way, np.linspace(0.0, 100.0, 2 * PATIENCE)])) == 0
    huge = np.where(np.arange(4 * PATIENCE) == 5, 1.7e308, -1.7e308)
    assert standstill(huge) == 4 * PATIENCE - 6


def test_patience_ends_by_asks_of_the_model_that_gained_nothing() -> None:
    """A design, or what was told from elsewhere, says nothing of it; a basin set aside doubles the patience."""
    flat = np.zeros(4 * PATIENCE)
    assert impatience(flat, asks=4 * PATIENCE) == 2.0  # the first half of all does not count
    assert impatience(flat, asks=PATIENCE) == 1.0
    assert impatience(flat, asks=PATIENCE - 1) < 1.0
    assert impatience(flat, asks=4 * PATIENCE, basins=1) == 1.0
    assert impatience(np.arange(4.0 * PATIENCE), asks=4 * PATIENCE) == 0.0


@given(seed=st.integers(0, 999))
def test_alike_is_the_prior_correlation_of_two_values(seed: int) -> None:
    """Written out pair by pair: of two decompositions, each the mean over its factors by variance, by their weights."""
    rng = np.random.default_rng(seed)
    X, peak = rng.random((40, 3)), rng.random(3)
    decompositions = ((0, 1, 2),), ((0,), (1, 2))
    expected = [
        sum(
            w * sum(len(members) / 3 * correlation(x, peak, members) for members in d)
            for w, d in zip((0.25, 0.75), decompositions, strict=True)
        )
        for x in X
    ]
    model = model_of(X, X.sum(1), *decompositions, weights=(0.25, 0.75))
    np.testing.assert_allclose(alike(model, torch.from_numpy(X), torch.from_numpy(peak)), expected, atol=1e-12)


@given(seed=st.integers(0, 999))
def test_alike_counts_factors_told_one_by_one_in_common_units(seed: int) -> None:
    """By their variances in the objective's units: a factor of ten times the spread counts a hundred times."""
    rng = np.random.default_rng(seed)
    X = rng.random((12, 2))
    Y = np.stack([rng.standard_normal(12), 10 * rng.standard_normal(12)], 1)
    problem = known_problem([(0,), (0, 1)])
    told = [
        Observation(point(x), factor_values={"f0": float(row[0]), "f1": float(row[1])})
        for x, row in zip(X, Y, strict=True)
    ]
    space = Space(problem)
    model = build(problem, space, read(problem, space, told), State(), rng, Budget(lambda: 0.0))
    posterior = model.posterior
    assert model.kind == "separate"
    lengthscales = torch.exp(posterior.hyper.log_lengthscale).numpy()
    slopes = [t.scale * t.spread * t.unit for t in model.transforms]
    variances = [s * s * v for s, v in zip(slopes, posterior.scale.tolist(), strict=True)]
    own = [matern(((x[:1] - X[0, :1]) / lengthscales[:1]) ** 2) for x in X]
    both = [matern(((x - X[0]) / lengthscales[1:]) ** 2) for x in X]
    expected = (variances[0] * np.array(own) + variances[1] * np.array(both)) / sum(variances)
    np.testing.assert_allclose(alike(model, torch.from_numpy(X), torch.from_numpy(X[0])), expected, atol=1e-12)


def test_points_on_the_peak_are_set_aside_as_failed() -> None:
    """The others keep their order and their values."""
    rng = np.random.default_rng(0)
    away, peak = rng.uniform(0.6, 1.0, (12, 2)), rng.uniform(0.0, 0.05, (8, 2))
    X, y = np.concatenate([away, peak]), np.concatenate([rng.uniform(-1, 0, 12), rng.uniform(1, 2, 8)])
    told = history(X, y)
    rest = outside(told, model_of(X, y, ((0, 1),)))
    assert rest is not None
    np.testing.assert_array_equal(rest.X, away)
    np.testing.assert_array_equal(rest.y, y[:12])
    np.testing.assert_array_equal(rest.failed, peak)


def test_where_all_is_alike_only_what_is_most_alike_is_set_aside() -> None:
    """A smooth model takes everything for one basin; then its nearer part is, as long as enough is left."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(0.18, 0.22, (12, 2)), rng.uniform(0.0, 0.05, (8, 2))])
    y = -X.sum(1)
    model = model_of(X, y, ((0, 1),))
    similar = alike(model, torch.from_numpy(X), torch.from_numpy(X[int(y.argmax())]))
    assert similar.min() > 0.5
    assert outside(history(X, y), model) is None  # as yet it is taken for one
    rest = outside(history(X, y), model, impatience=4.0)
    assert rest is not None
    np.testing.assert_array_equal(rest.X, X[similar <= 0.8])
    np.testing.assert_array_equal(rest.failed, X[similar > 0.8])


def test_goes_nowhere_without_anything_to_go_by() -> None:
    """Where all but a few points are on the peak, nothing is set aside."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(0.9, 1.0, (LEAST - 1, 2)), rng.uniform(0.0, 0.05, (20, 2))])
    y = -X.sum(1)
    assert outside(history(X, y), model_of(X, y, ((0, 1),))) is None


def test_a_long_history_is_cut_to_what_a_fresh_fit_can_bear() -> None:
    """The best of the rest stays."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(0.7, 1.0, (400, 2)), rng.uniform(0.0, 0.05, (20, 2))])
    y = -X.sum(1)
    rest = outside(history(X, y), model_of(X, y, ((0, 1),)))
    assert rest is not None
    assert rest.n_obs == MOST
    assert rest.y.max() == y[:400].max()


@pytest.mark.parametrize(
    ("restless", "share"), [(0.0, 1 / 4), (1.9, 1 / 4), (2.0, 3 / 8), (4.0, 7 / 16), (9.0, 15 / 32)]
)
def test_the_longer_nothing_grows_the_more_asks_are_bold(restless: float, share: float) -> None:
    """A quarter of them to begin with, always two in a row, and none that may hope."""
    bold = np.array([is_bold(n, restless) for n in range(64)])
    assert not any(is_hopeful(State(asks=10 * EVERY + n), np.zeros(1)) for n in np.flatnonzero(bold))
    assert bold.mean() == share
    assert (bold[::2] == bold[1::2]).all()


def two_peaks(x: Array) -> float:
    """A broad peak of 1 at 0.2, and a narrow one of 2 at 0.8, in both variables."""
    broad = math.exp(-float(((x - 0.2) ** 2).sum()) / 0.02)
    return broad + 2 * math.exp(-float(((x - 0.8) ** 2).sum()) / 0.02)


@pytest.mark.parametrize("mode", ["infer", "none"])
def test_finds_the_higher_peak_after_the_other_is_known(mode: str) -> None:
    """A study that has evaluated one peak to its end is asked elsewhere, says so, and ends on the other."""
    problem = unit_problem(2, decomposition={"mode": mode})
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.uniform(0.0, 0.6, (10, 2)), 0.2 + 1e-3 * rng.standard_normal((20, 2))])
    told, state, basins = observe(X, two_peaks), None, []
    for _ in range(40):
        ask = propose(problem, told, state=state)
        state = ask.state
        basins.append(ask.diagnostics["admm"].get("elsewhere", 0))
        [x] = ask.points
        told.append(Observation(x, value=two_peaks(np.array([x["x0"], x["x1"]]))))
    assert any(basins)
    assert max(o.value or 0.0 for o in told) > 1.9


@pytest.mark.parametrize(("factors", "leaves"), [([(0, 1), (1,)], True), ([(0,), (1,)], False)])
def test_factor_values_are_left_alone_where_parts_are_searched_by_themselves(
    factors: list[tuple[int, ...]], leaves: bool
) -> None:
    """Factors that hang together go elsewhere as sums do; of others one may be at its end, and not the rest."""
    problem = known_problem(factors)
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.uniform(0.0, 1.0, (12, 2)), 0.2 + 1e-3 * rng.standard_normal((18, 2))])
    told = []
    for x in X:
        peaks = [math.exp(-float(((x[list(members)] - 0.2) ** 2).sum()) / 0.02) for members in factors]
        told.append(Observation(point(x), factor_values={f"f{i}": value for i, value in enumerate(peaks)}))
    state = propose(problem, told[:12]).state or {}
    turns = ({**state, "asks": 2 * PATIENCE + turn} for turn in range(8))
    asks = [propose(problem, told, state=turn).diagnostics["admm"] for turn in turns]
    assert any("elsewhere" in ask for ask in asks) is leaves


def test_a_study_that_improves_stays_where_it_is() -> None:
    """On a slope that goes on, no ask goes elsewhere."""
    problem = unit_problem(3, decomposition={"mode": "none"})
    X = np.linspace(0.1, 0.7, 24)[:, None] * np.ones(3)
    told, state = observe(X, lambda x: float(x.sum())), None
    for _ in range(4):
        ask = propose(problem, told, state=state)
        state = ask.state
        assert "elsewhere" not in ask.diagnostics["admm"]
        told.append(Observation(ask.points[0], value=sum(map(float, ask.points[0].values()))))


def test_a_failed_fit_of_the_rest_leaves_the_point_found_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ask is answered by the model of all observations then, not at random."""
    problem = unit_problem(2, decomposition={"mode": "none"})
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.uniform(0.4, 1.0, (10, 2)), 0.2 + 1e-4 * rng.standard_normal((20, 2))])
    told = observe(X, two_peaks)

    def failing_for_a_part(problem: Problem, space: Space, history: History, *more: Any) -> Model:
        if len(history.failed):
            raise NumericalError("not positive definite")
        return build(problem, space, history, *more)

    state = propose(problem, told).state or {}
    turns = [{**state, "asks": PATIENCE + turn} for turn in range(8)]  # a whole round
    assert any("elsewhere" in propose(problem, told, state=turn).diagnostics["admm"] for turn in turns)
    monkeypatch.setattr("core.choose.build", failing_for_a_part)
    for turn in turns:
        ask = propose(problem, told, state=turn)
        assert ask.origins == ["dumbo"]
        assert "elsewhere" not in ask.diagnostics["admm"]
