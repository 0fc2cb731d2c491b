"""Models of the sum whose decomposition is not known: inferred, drawn at random, or none at all.

Inference runs a few chains over decompositions. Each keeps hyperparameters of its own, fitted on where it stands,
because those that suit one factor of all variables make one factor per variable look worse than it is, and the other
way round. The acquisition averages over samples from what all chains visited, by posterior weight (eq. 19).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from core import layout as layouts
from core import partition
from core.blocks import Evidence, Target
from core.budget import Budget
from core.evidence import Data
from core.featured import Featured, believed, fit_features
from core.fit import subset
from core.graph import Factors
from core.history import History
from core.hope import gain_of_structure
from core.hyper import Hyperparameters
from core.layout import Layout
from core.pairs import Pairs
from core.problem import Problem
from core.sampler import Visited, resample, run_chain
from core.space import Space
from core.state import State
from core.sums import FittedSum, fit_sum, sum_data

# One chain begins with one factor of all variables, or, beyond so many, with narrower blocks: padding every factor of
# one variable to the width of one of hundreds would cost more than that model is worth.
WIDEST = 128
NARROW = 32
SCREENED_FROM = 60  # observations, of which half ...
MOST_SCREENING = 100  # ... and no more than so many look at a proposal first


Weighed = list[tuple[Visited, float]]  # decompositions with their weights


@dataclass(frozen=True)
class Mixture:
    """Decompositions, hyperparameters by group, and where the chains stand."""

    fitted: FittedSum
    features: list[Featured]  # that were looked at
    used: Weighed  # by this ask
    drawn: Weighed  # from the posterior: what is known of the structure, also where a cautious ask uses other ones
    layout: Layout  # of those used
    structured: float  # nats by which decompositions explain more than one factor does
    chains: tuple[Factors, ...]
    acceptance: float | None

    @property
    def hypers(self) -> list[Hyperparameters]:
        """By group; that of the feature in use is the last."""
        used = [f.hyper for f in self.features if f.feature == self.layout.feature]
        return [*self.fitted.hypers, *used]


def mixture(
    problem: Problem,
    space: Space,
    history: History,
    state: State,
    rng: np.random.Generator,
    budget: Budget,
    *,
    hopeful: bool,
) -> Mixture:
    """Fit one set of hyperparameters per chain, then sample."""
    starts = _starts(problem, space, state, rng)
    groups = [*starts, *_whole(problem, space)]
    cautious = state.asks % 2 == 1
    whole = partition.full(space.n_dims)
    hopeful = hopeful and groups[-1] == whole  # else nothing says whether there is any structure
    each = [layouts.shared(space, [group]) for group in groups]
    fitted = fit_sum(problem, each, history, state, "shared", budget, hopeful=hopeful, turns=2)
    features = []
    if groups[-1] == whole and len(groups) > len(starts) and not hopeful and problem.algorithm.proposals:
        features = fit_features(problem, space, fitted, state, budget)
    if problem.algorithm.proposals == 0 and state.decompositions:
        used = drawn = [(Visited(s.factors, s.log_evidence, 0.0, s.chain), s.weight) for s in state.decompositions]
        chains, acceptance = state.chains, None
    elif problem.decomposition.mode == "infer" and space.n_dims > 1:
        visited, chains, acceptance = _walk(problem, space, fitted, starts, rng, budget)
        used = drawn = _weighed(visited, problem, rng)
        # A cautious ask trusts the chain that began with one factor of all variables, and left it only for good
        # reasons: data gathered under a wrong additive belief need never refute it.
        if cautious and len(groups) > len(starts) and fitted.log_posteriors[-1] >= fitted.log_posteriors[0]:
            used = [(Visited(groups[-1], np.nan, 0.0, len(starts)), 1.0)]
        elif cautious and len(starts) > 1:
            used = _weighed([v for v in visited if v.chain == 0], problem, rng)
    else:
        used = drawn = [(Visited(start, np.nan, 0.0, g), 1.0 / len(starts)) for g, start in enumerate(starts)]
        chains, acceptance = (), None
    n_groups, feature = len(groups), believed(features, fitted.log_posteriors, cautious=cautious)
    if feature is not None:
        used, n_groups = [(Visited(whole, np.nan, 0.0, n_groups), 1.0)], n_groups + 1
    layout = layouts.shared(space, [v.partition for v, _ in used], [v.chain for v, _ in used])
    # A group without a sample stays in the vectors: indices must fit.
    layout = replace(layout, n_lengthscales=space.n_dims * n_groups, n_scales=n_groups, feature=feature)
    log_posteriors = [*fitted.log_posteriors, *(f.log_posterior for f in features)]
    gain = gain_of_structure(log_posteriors, len(groups) - 1 if groups[-1] == whole else None)
    return Mixture(fitted, features, used, drawn, layout, gain, chains, acceptance)


def _starts(problem: Problem, space: Space, state: State, rng: np.random.Generator) -> list[Factors]:
    """Where the chains stand, or begin; without inference, the decompositions themselves."""
    d, limit = space.n_dims, problem.decomposition.max_factor_size
    if problem.decomposition.mode == "none" or d == 1:
        return [partition.full(d)]
    if problem.decomposition.mode == "random":
        return [partition.random_partition(d, min(limit or d, d), rng) for _ in range(problem.decomposition.samples)]
    if state.chains:
        return list(state.chains)
    independent = partition.singletons(d)
    return (
        [independent]
        if limit is not None and limit < d
        else [partition.coarse(d, d if d <= WIDEST else NARROW), independent]
    )


def _whole(problem: Problem, space: Space) -> list[Factors]:
    """One factor of all variables with hyperparameters of its own: what a cautious ask may go back to."""
    d, limit = space.n_dims, problem.decomposition.max_factor_size
    allowed = problem.decomposition.mode == "infer" and 1 < d <= WIDEST and (limit is None or limit >= d)
    return [partition.full(d)] if allowed else []


def _walk(
    problem: Problem,
    space: Space,
    fitted: FittedSum,
    starts: list[Factors],
    rng: np.random.Generator,
    budget: Budget,
) -> tuple[list[Visited], tuple[Factors, ...], float]:
    """Run the chains on from where they stood: what they visited, where they ended, and how often they moved."""
    steps = -(-problem.algorithm.proposals // len(starts))
    data = sum_data(fitted.seen, fitted.transform)
    some = _some(data)
    pairs = Pairs(some.X) if some else None
    visited: list[Visited] = []
    ends, accepted = [], 0
    with budget.phase("sample", 0.6) as expired:
        for c, (start, hyper) in enumerate(zip(starts, fitted.hypers[: len(starts)], strict=True)):
            kernel = problem.algorithm.kernel
            chain = run_chain(
                Target(Evidence(space, hyper, kernel, data, fitted.pairs), hyper.log_prior()),
                start,
                steps,
                rng,
                screen=Target(Evidence(space, hyper, kernel, some, pairs)) if some else None,
                max_factor_size=problem.decomposition.max_factor_size,
                expired=expired,
            )
            visited += [replace(v, chain=c) for v in chain.visited]
            ends.append(chain.last.partition)
            accepted += chain.accepted
    return visited, tuple(ends), accepted / len(visited)


def _some(data: Data) -> Data | None:
    """Observations enough to see that a decomposition is poor; None where so few would save no time."""
    if data.n_obs < SCREENED_FROM:
        return None
    rows = torch.from_numpy(subset(data.Y[0].numpy(), min(data.n_obs // 2, MOST_SCREENING)))
    return Data(data.X[rows], data.Y[:, rows], data.given_noise[rows])


def _weighed(visited: list[Visited], problem: Problem, rng: np.random.Generator) -> Weighed:
    drawn = resample(visited, problem.decomposition.samples, rng)
    total = sum(n for _, n in drawn)
    return [(v, n / total) for v, n in drawn]
