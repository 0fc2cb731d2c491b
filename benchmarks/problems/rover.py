"""Rover: a trajectory through a forest, from one corner of the unit square to the other, in 60 dimensions.

Thirty points define the trajectory, as the spline that scipy's `splprep` fits to them with its default
smoothing. On thirty points of the unit square that smoothing always leaves one least-squares cubic in chord
length, which is fitted here directly: unlike `splprep`, it also exists when neighbouring points coincide.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.problems.base import Array, BenchmarkProblem

N_POINTS = 30
N_STEPS = 1000
START = np.array([0.05, 0.05])
GOAL = np.array([0.95, 0.95])
TREE_WIDTH = 0.05
TREE_COST = 20.0
GROUND_COST = 0.05
MISS_COST = 10.0

TERRAIN_SEED = 20230
N_TREES = 113


def draw_trees(seed: int = TERRAIN_SEED, n_trees: int = N_TREES) -> Array:
    """Centres of trees, uniform in the unit square but clear of the start and of the goal (n_trees x 2)."""
    rng = np.random.default_rng(seed)
    trees: list[Array] = []
    while len(trees) < n_trees:
        tree = rng.random(2)
        if all(np.abs(tree - place).max() > TREE_WIDTH for place in (START, GOAL)):
            trees.append(tree)
    return np.array(trees)


def load_trees(path: Path) -> Array:
    """Centres of trees from a CSV file with two columns."""
    return np.asarray(np.loadtxt(path, delimiter=",", ndmin=2), dtype=float)


def trajectory(points: Array, n_steps: int = N_STEPS) -> Array:
    """The cubic in chord length nearest to the points (30 x 2), at n_steps places (n_steps x 2)."""
    chord = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    if chord[-1] == 0:
        return np.repeat(points[:1], n_steps, axis=0)
    design = np.polynomial.legendre.legvander(2 * chord / chord[-1] - 1, 3)
    coefficients = np.linalg.lstsq(design, points, rcond=None)[0]
    return np.asarray(np.polynomial.legendre.legvander(np.linspace(-1, 1, n_steps), 3) @ coefficients)


def terrain_cost(path: Array, trees: Array) -> Array:
    """Cost per unit length at each place of the path."""
    in_tree = (np.abs(path[:, None] - trees[None]) <= TREE_WIDTH / 2).all(-1).any(-1)
    outside = ((path < 0) | (path > 1)).any(-1)
    return np.where(in_tree | outside, TREE_COST, 0.0) + GROUND_COST


def reward(points: Array, trees: Array) -> float:
    """Minus the cost along the trajectory, minus what it misses start and goal by."""
    path = trajectory(points)
    cost = terrain_cost(path, trees)
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    miss = np.abs(path[0] - START).sum() + np.abs(path[-1] - GOAL).sum()
    return float(-(0.5 * (cost[:-1] + cost[1:]) * steps).sum() - MISS_COST * miss)


def rover(trees_file: Path | None = None) -> BenchmarkProblem:
    """Our own forest, or the one in `trees_file`."""
    trees = load_trees(trees_file) if trees_file else draw_trees()

    def terms(x: Array) -> Array:
        return np.array([reward(x.reshape(N_POINTS, 2), trees)])

    return BenchmarkProblem(name="rover", bounds=((0.0, 1.0),) * (2 * N_POINTS), terms=terms)
