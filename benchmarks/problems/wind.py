"""Where to put the turbines of a wind farm, so that they stand little in each other's wakes.

Jensen's model: behind a turbine the wake widens by `SPREAD` a metre, and the wind in it is slower the nearer it is;
where wakes overlap, the deficits add up as a root of squares. Twelve directions blow with a frequency and a speed that
are drawn with the seed. What is maximized is minus the power that is lost to wakes, in percent of what turbines that
stand alone would give; each turbine's share is a term, and depends on where all the others are.
"""

from __future__ import annotations

import numpy as np

from benchmarks.problems.base import Array, BenchmarkProblem

DIAMETER = 126.0  # m, of a 5 MW turbine
SIDE = 2500.0  # m, of the square that is to be built on
THRUST = 0.8
NEAREST = 2 * DIAMETER  # side by side: what is not behind, but nearer than this, is slowed as well
SPREAD = 0.05
RATED = 11.4  # m/s: from here on a turbine gives all it can
DIRECTIONS = np.deg2rad(np.arange(0, 360, 30))


def wind(n_turbines: int = 12, *, seed: int = 0) -> BenchmarkProblem:
    """Two coordinates for each turbine, x0, y0, x1, ... in the order of the parameters."""
    rng = np.random.default_rng([seed, 0x3149D])
    frequency = rng.dirichlet(np.full(len(DIRECTIONS), 1.5))
    speed = rng.uniform(7.0, 12.0, len(DIRECTIONS))
    free = _power(speed)  # of one turbine, by direction
    total = n_turbines * float(frequency @ free)

    def terms(x: Array) -> Array:
        slowed = speed[:, None] * (1.0 - deficits(x.reshape(-1, 2)))  # directions x turbines
        return -100.0 * (frequency @ (free[:, None] - _power(slowed))) / total

    return BenchmarkProblem(name=f"wind-{n_turbines}", bounds=((0.0, SIDE),) * (2 * n_turbines), terms=terms)


def deficits(places: Array) -> Array:
    """directions x turbines: the share of the wind's speed that is missing at each of the places (n x 2, in m)."""
    along = np.cos(DIRECTIONS)[:, None] * places[:, 0] + np.sin(DIRECTIONS)[:, None] * places[:, 1]
    across = np.cos(DIRECTIONS)[:, None] * places[:, 1] - np.sin(DIRECTIONS)[:, None] * places[:, 0]
    behind = along[:, :, None] - along[:, None, :]  # directions x turbines x those that may slow them
    aside = np.abs(across[:, :, None] - across[:, None, :])
    radius = DIAMETER / 2.0 + SPREAD * np.maximum(behind, 0.0)
    slowed = (behind > -NEAREST) & (aside < radius) & ~np.eye(len(places), dtype=bool)
    each = np.where(slowed, (1.0 - np.sqrt(1.0 - THRUST)) * (DIAMETER / 2.0 / radius) ** 2, 0.0)
    return np.minimum(np.sqrt((each**2).sum(-1)), 1.0)


def _power(speed: Array) -> Array:
    return np.minimum(speed, RATED) ** 3
