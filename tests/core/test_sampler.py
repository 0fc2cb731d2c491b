"""Decomposition sampling, against the enumerated posterior over all partitions and dense evidence."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import chisquare

from core import blocks
from core import layout as layouts
from core.blocks import Evidence, Target
from core.evidence import log_evidence
from core.graph import Factors
from core.partition import full, log_prior, random_partition, singletons
from core.problem import Problem
from core.sampler import Visited, resample, run_chain
from core.space import Space
from tests.core.support import dense, partitions, random_hyper, unit_space
from tests.core.test_evidence import told

ALL = sorted(partitions(range(4)))
TABLE: dict[Factors, float] = dict(zip(ALL, np.random.default_rng(4).normal(size=15).tolist(), strict=True))


def table_target(new: Factors, current: Factors | None) -> tuple[float, float]:
    return TABLE[new], TABLE[new]


def visits_match(allowed: list[Factors], visited: list[Visited], thin: int) -> float:
    """p-value of thinned visit counts against the exact posterior."""
    log_p = np.array([TABLE[a] for a in allowed])
    counts = Counter(v.partition for v in visited[::thin])
    assert set(counts) <= set(allowed)
    observed = [counts[a] for a in allowed]
    return float(chisquare(observed, sum(observed) * np.exp(log_p - logsumexp(log_p))).pvalue)


@pytest.mark.parametrize("start", [full(4), singletons(4)])
def test_visits_match_the_enumerated_posterior(start: Factors) -> None:
    """Detailed balance: over all 15 partitions of 4 variables visit frequencies fit the exact ones (chi-square)."""
    chain = run_chain(table_target, start, 16_000, np.random.default_rng(11))
    assert visits_match(ALL, chain.visited[200:], thin=8) > 1e-3
    assert 0 < chain.accepted < 16_000


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_a_screen_changes_how_a_chain_walks_and_not_what_it_samples(spread: float) -> None:
    """Delayed acceptance by an approximation that says nothing, or is wrong: visits fit the same posterior."""
    wrong = dict(zip(ALL, spread * np.random.default_rng(8).normal(size=15), strict=True))
    judged: list[Factors] = []

    def target(new: Factors, current: Factors | None) -> tuple[float, float]:
        judged.append(new)
        return TABLE[new], TABLE[new]

    chain = run_chain(
        target, full(4), 24_000, np.random.default_rng(13), screen=lambda new, _: (wrong[new], wrong[new])
    )
    assert visits_match(ALL, chain.visited[200:], thin=12) > 1e-3
    assert len(judged) < 24_000


def test_max_factor_size_confines_the_chain_and_stays_ergodic() -> None:
    """With a limit of 2 the chain visits exactly the ten partitions inside it, as often as their posterior says."""
    inside = [a for a in ALL if max(map(len, a)) <= 2]
    assert len(inside) == 10
    chain = run_chain(table_target, singletons(4), 40_000, np.random.default_rng(12), max_factor_size=2)
    assert {v.partition for v in chain.visited} == set(inside)
    assert visits_match(inside, chain.visited[200:], thin=40) > 1e-3  # many proposals are too large: it moves slowly


def test_partitions_without_mass_are_never_visited() -> None:
    """A log posterior of -inf is never accepted."""
    barred = ((0, 1), (2, 3))

    def target(new: Factors, current: Factors | None) -> tuple[float, float]:
        value = -math.inf if new == barred else 0.0
        return value, value

    chain = run_chain(target, full(4), 3000, np.random.default_rng(0))
    assert barred not in {v.partition for v in chain.visited}


def test_chain_is_a_function_of_its_generator() -> None:
    """The same seed walks the same way; another walks another."""
    one, two, other = (run_chain(table_target, full(4), 50, np.random.default_rng(s)).visited for s in (1, 1, 2))
    assert one == two
    assert one != other


def test_chain_starts_at_the_fully_dependent_decomposition_and_goes_on_from_its_end() -> None:
    """A chain continued from its last state with the same generator equals one long chain."""
    rng = np.random.default_rng(3)
    first = run_chain(table_target, full(4), 20, rng)
    second = run_chain(table_target, first.last.partition, 20, rng)
    whole = run_chain(table_target, full(4), 40, np.random.default_rng(3))
    assert first.visited + second.visited == whole.visited
    assert first.accepted + second.accepted == whole.accepted


def test_one_variable_stays_put() -> None:
    """d = 1: the chain has one state and no step to take."""
    chain = run_chain(lambda new, current: (0.0, 0.0), full(1), 10, np.random.default_rng(0))
    assert chain.last.partition == ((0,),)
    assert chain.visited == [chain.last]


def test_deadline_stops_the_chain_where_it_stands() -> None:
    """An expired budget leaves the start as the only visited state."""
    chain = run_chain(table_target, full(4), 100, np.random.default_rng(0), expired=lambda: True)
    assert [v.partition for v in chain.visited] == [full(4)]


def setup(n_dims: int = 4, t: int = 12) -> tuple[Space, Evidence, dict[Factors, float]]:
    """Evidence under random hyperparameters, and the dense evidence of each partition."""
    rng = np.random.default_rng(21)
    space = unit_space(n_dims)
    hyper = random_hyper(layouts.shared(space, [full(n_dims)]), rng)
    X, y = rng.random((t, n_dims)), rng.standard_normal(t)
    noise = np.where(np.arange(t) == 2, 0.4, np.nan)
    filled = np.where(np.isnan(noise), float(torch.exp(hyper.log_noise[0])), noise)
    exact = {a: dense("shared", "matern52", a, hyper, X, y, filled).log_evidence() for a in partitions(range(n_dims))}
    return space, Evidence(space, hyper, "matern52", told(X, y, noise)), exact


def test_cached_evidence_equals_the_dense_one() -> None:
    """Block covariances added up give the full log evidence of every partition: not divided by t, not posterior."""
    _, evidence, exact = setup()
    for a, expected in exact.items():
        assert evidence.log_evidence(evidence.gram(a)) == pytest.approx(expected, abs=1e-8)


def test_evidence_of_a_tiny_cache_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Throwing cached blocks away changes nothing."""
    monkeypatch.setattr(blocks, "CACHE_ENTRIES", 0)
    _, evidence, exact = setup()
    for a, expected in exact.items():
        assert evidence.log_evidence(evidence.gram(a)) == pytest.approx(expected, abs=1e-8)


def test_evidence_does_not_drift_along_a_chain() -> None:
    """After 1,000 updates of one Gram matrix by its changed blocks, every visited evidence is still exact."""
    _, evidence, exact = setup()
    chain = run_chain(Target(evidence), full(4), 1000, np.random.default_rng(5))
    for v in chain.visited[-200:]:
        assert v.log_evidence == pytest.approx(exact[v.partition], abs=1e-7)


def test_real_evidence_is_sampled_from_its_posterior() -> None:
    """With the true evidence of data and the prior, visits match the enumerated posterior (chi-square)."""
    _, evidence, exact = setup()
    log_p = np.array([exact[a] + log_prior(a) for a in ALL])
    p = np.exp(log_p - logsumexp(log_p))
    chain = run_chain(Target(evidence), full(4), 4_000, np.random.default_rng(6))
    counts = Counter(v.partition for v in chain.visited[200::6])
    observed, expected = np.array([counts[a] for a in ALL]), sum(counts.values()) * p
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    assert chisquare(observed[keep], expected[keep]).pvalue > 1e-3


def test_evidence_counts_parameters_not_columns() -> None:
    """A categorical of many columns is one parameter: the evidence equals that of the shared layout."""
    problem = Problem.from_dict(
        {"direction": "maximize", "parameters": [
            {"name": "a", "type": "float", "bounds": [0, 1]},
            {"name": "c", "type": "categorical", "values": ["p", "q", "r", "s"]},
            {"name": "b", "type": "float", "bounds": [0, 1]},
        ]}
    )  # fmt: skip
    space, rng = Space(problem), np.random.default_rng(0)
    X = space.snap(rng.random((10, space.n_columns)))
    data = told(X, rng.standard_normal(10))
    for a in partitions(range(3)):
        layout = layouts.shared(space, [a])
        hyper = random_hyper(layout, np.random.default_rng(1))
        evidence = Evidence(space, hyper, "matern52", data)
        expected = float(log_evidence(layout, hyper, "matern52", data)[0])
        assert evidence.log_evidence(evidence.gram(a)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("d", [1, 2, 4, 6])
def test_prior_is_uniform_over_the_number_of_factors(d: int) -> None:
    """Every number of factors has mass 1/d, shared evenly by the partitions with that many; all of it sums to one."""
    mass: Counter[int] = Counter()
    for a in partitions(range(d)):
        mass[len(a)] += math.exp(log_prior(a))  # type: ignore[assignment]
    assert dict(mass) == pytest.approx(dict.fromkeys(range(1, d + 1), 1 / d))
    assert len({round(log_prior(a), 12) for a in partitions(range(d))}) <= d


def test_prior_of_many_variables_is_finite() -> None:
    """For 500 variables the Stirling numbers overflow a float, but not their logarithms."""
    assert math.isfinite(log_prior(random_partition(500, 10, np.random.default_rng(0))))
    assert log_prior(full(500)) == pytest.approx(-math.log(500))


def test_resampling_follows_the_posterior_weights() -> None:
    """Over many draws each decomposition comes as often as its posterior weight says, whatever the visits were."""
    visited = [Visited(a, 0.0, TABLE[a]) for a in ALL for _ in range(1 + len(a))]
    weight = np.exp([TABLE[a] for a in ALL])
    weight /= weight.sum()
    total: Counter[Factors] = Counter()
    rng = np.random.default_rng(0)
    for _ in range(400):
        drawn = resample(visited, 5, rng)
        assert sum(n for _, n in drawn) == 5
        for v, n in drawn:
            assert n in (math.floor(5 * weight[ALL.index(v.partition)]), math.ceil(5 * weight[ALL.index(v.partition)]))
            total[v.partition] += n
    np.testing.assert_allclose([total[a] / 2000 for a in ALL], weight, atol=0.03)


def test_resampling_leaves_every_chain_a_voice() -> None:
    """Of two chains the less probable one gets one draw of five, its best; with a single draw the posterior decides."""
    strong = Visited(singletons(3), 0.0, 0.0, 0)
    weak, weaker = Visited(full(3), -90.0, -90.0, 1), Visited(((0, 1), (2,)), -200.0, -200.0, 1)
    rng = np.random.default_rng(0)
    assert resample([strong, weaker, weak], 5, rng) == [(strong, 4), (weak, 1)]
    assert resample([strong, weaker, weak], 1, rng) == [(strong, 1)]


def test_resampling_survives_decompositions_without_mass() -> None:
    """-inf among the visited gets no draw; nothing but -inf still gives an answer without a warning."""
    good, bad = Visited(full(2), 0.0, 0.0), Visited(singletons(2), -math.inf, -math.inf)
    assert resample([bad, good], 3, np.random.default_rng(0)) == [(good, 3)]
    assert sum(n for _, n in resample([bad], 3, np.random.default_rng(0))) == 3


def test_random_start_reaches_the_planted_partition() -> None:
    """With evidence that strongly favours one partition of 8 variables, the chain finds it from anywhere."""
    planted = ((0, 1, 2), (3, 4), (5, 6, 7))
    pairs = {(a, b) for block in planted for a in block for b in block if a < b}

    def target(new: Factors, current: Factors | None) -> tuple[float, float]:
        here = {(a, b) for block in new for a in block for b in block if a < b}
        score = -3.0 * len(here ^ pairs)
        return score, score

    for seed in range(3):
        rng = np.random.default_rng(seed)
        chain = run_chain(target, random_partition(8, 8, rng), 3000, rng)
        assert Counter(v.partition for v in chain.visited).most_common(1)[0][0] == planted
