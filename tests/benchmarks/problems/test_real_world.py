"""Cosmo, WLAN and Rover against scipy, ns-3 and exhaustive search."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import splev, splprep

from benchmarks import problems
from benchmarks.problems.cosmo import INVERSE_COVARIANCE, MEASURED, log_likelihood, predicted
from benchmarks.problems.rover import GOAL, START, TREE_WIDTH, draw_trees, reward, terrain_cost, trajectory
from benchmarks.problems.wlan import BANDWIDTH_HZ, load_topology, radio_neighbors

NS3_HEADER = Path("/usr/include/ns3/propagation-loss-model.h")

NS3_PROGRAM = r"""
#include <cmath>
#include <cstdio>
#include "ns3/constant-position-mobility-model.h"
#include "ns3/propagation-loss-model.h"
using namespace ns3;
int main() {  // reads: number of pairs, then x y x y dBm for each; writes the received power in dBm
  int n;
  if (scanf("%d", &n) != 1) return 1;
  auto loss = CreateObject<LogDistancePropagationLossModel>();
  auto a = CreateObject<ConstantPositionMobilityModel>(), b = CreateObject<ConstantPositionMobilityModel>();
  for (int i = 0; i < n; ++i) {
    double ax, ay, bx, by, dbm;
    if (scanf("%lf %lf %lf %lf %lf", &ax, &ay, &bx, &by, &dbm) != 5) return 1;
    a->SetPosition(Vector(ax, ay, 0));
    b->SetPosition(Vector(bx, by, 0));
    printf("%.17g\n", loss->CalcRxPower(dbm, a, b));
  }
}
"""


def ns3_received_dbm(folder: Path, pairs: np.ndarray) -> np.ndarray:
    """Received power by ns-3 for rows of (x, y, x, y, sent dBm)."""
    source, program = folder / "loss.cc", folder / "loss"
    source.write_text(NS3_PROGRAM)
    libraries = [f"-lns3-{name}" for name in ("propagation", "mobility", "network", "core")]
    subprocess.run(["g++", "-std=c++17", str(source), "-o", str(program), *libraries], check=True)
    rows = "\n".join(" ".join(map(repr, map(float, row))) for row in pairs)
    answer = subprocess.run([program], input=f"{len(pairs)}\n{rows}", capture_output=True, text=True, check=True)
    return np.array(answer.stdout.split(), dtype=float)


@pytest.mark.skipif(not (NS3_HEADER.exists() and shutil.which("g++")), reason="needs libns3-dev 3.37 and g++")
def test_wlan_capacities_equal_those_from_ns3_received_powers(tmp_path: Path) -> None:
    """Every node's capacity follows from the powers that ns-3 says its users receive."""
    problem = problems.make("wlan")
    nodes, users, owner = load_topology()
    x = problem.from_unit(np.random.default_rng(0).random(12))
    links = [(*nodes[k], *user, 10 * np.log10(x[k])) for user in users for k in range(12)]
    range_test = [(*nodes[i], *nodes[k], 25.0) for i in range(12) for k in range(12) if i != k]
    received = ns3_received_dbm(tmp_path, np.array(links + range_test))
    milliwatts = 10 ** (received[: len(links)].reshape(36, 12) / 10)
    hears = received[len(links) :].reshape(12, 11) >= -82.0  # row i: the eleven others in order
    noise = 1.380649e-23 * 290 * BANDWIDTH_HZ * 10**0.7 * 1e3
    capacity = np.zeros(12)
    for row, i in zip(milliwatts, owner.astype(int), strict=True):
        others = [k for k in range(12) if k != i]
        interference = sum(row[k] for k, heard in zip(others, hears[i], strict=True) if heard)
        capacity[i] += np.log2(1 + row[i] / (noise + interference))
    np.testing.assert_allclose(problem.terms(x), capacity, rtol=1e-11)


def test_wlan_factors_have_three_to_six_nodes_and_their_values_sum() -> None:
    """Sizes are the design's, a factor ignores nodes out of range, and factor values add up."""
    problem = problems.make("wlan")
    assert problem.factors is not None
    assert sorted(map(len, problem.factors)) == [3, 3, 3, 4, 4, 4, 4, 4, 4, 5, 6, 6]
    x, other = problem.from_unit(np.random.default_rng(1).random((2, 12)))
    values = problem.factor_values(x)
    assert sum(values.values()) == pytest.approx(problem.f(x))
    for i, factor in enumerate(problem.factors):
        mixed = other.copy()
        mixed[list(factor)] = x[list(factor)]
        assert problem.factor_values(mixed)[f"f{i}"] == pytest.approx(values[f"f{i}"])


def test_wlan_radio_range_is_a_hundred_and_two_metres() -> None:
    """Two nodes are neighbours exactly when nearer than the 102.5 m at which 25 dBm arrive at -82 dBm."""
    near = radio_neighbors(np.array([[0.0, 0.0], [102.4, 0.0]]))
    far = radio_neighbors(np.array([[0.0, 0.0], [102.6, 0.0]]))
    assert (near, far) == ([[1], [0]], [[], []])


def test_wlan_optimum_is_the_best_corner() -> None:
    """Of all 4,096 corners the stated one is the best, and it has the stated value."""
    problem = problems.make("wlan")
    low, high = problem.bounds[0]
    best = max(problem.f(np.array(corner)) for corner in itertools.product([low, high], repeat=12))
    assert best == pytest.approx(problem.optimum, abs=1e-9)
    assert problem.f(np.array(problem.optimizer)) == best


def test_wlan_scales_describe_the_same_box() -> None:
    """On either scale the same powers have the same capacity."""
    linear, log = problems.make("wlan"), problems.make("wlan-log")
    x = log.from_unit(np.full(12, 0.5))
    assert x[0] == pytest.approx(10**1.3)
    assert linear.f(x) == log.f(x)


def test_rover_trajectory_is_scipys_smoothing_spline() -> None:
    """Thirty points of the unit square always end as the curve that splprep fits by default."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        points = rng.random((30, 2))
        spline, _ = splprep(points.T)
        expected = np.array(splev(np.linspace(0, 1, 1000), spline)).T
        np.testing.assert_allclose(trajectory(points), expected, atol=1e-8)


def test_rover_survives_coincident_points() -> None:
    """Where splprep raises, the fit still gives a curve: all points in one place are that place."""
    np.testing.assert_allclose(trajectory(np.full((30, 2), 0.3)), 0.3, atol=1e-9)
    doubled = np.repeat(np.random.default_rng(1).random((15, 2)), 2, axis=0)
    assert np.isfinite(reward(doubled, draw_trees()))


def test_rover_straight_path_costs_what_the_integral_says() -> None:
    """Empty ground costs 0.05 per unit length; the part of the path inside a tree costs 20 more."""
    diagonal = START + np.linspace(0, 1, 30)[:, None] * (GOAL - START)
    length = np.linalg.norm(GOAL - START)
    nowhere = np.array([[5.0, 5.0]])
    assert reward(diagonal, nowhere) == pytest.approx(-0.05 * length, rel=1e-6)
    tree = np.array([[0.5, 0.5]])
    inside = TREE_WIDTH * np.sqrt(2)
    assert reward(diagonal, tree) == pytest.approx(-0.05 * length - 20 * inside, rel=0.03)


def test_rover_pays_for_missing_start_and_goal_and_for_leaving_the_square() -> None:
    """A rover that stays put pays ten times the L1 misses; outside the square is as bad as a tree."""
    stay = np.full((30, 2), 0.5)
    assert reward(stay, np.array([[5.0, 5.0]])) == pytest.approx(-10 * (0.9 + 0.9), rel=1e-9)
    assert terrain_cost(np.array([[1.1, 0.5], [0.5, 0.5]]), np.array([[5.0, 5.0]])).tolist() == [20.05, 0.05]


def test_rover_reads_a_published_terrain_from_a_file(tmp_path: Path) -> None:
    """Trees given by a file replace our own, which leave start and goal free."""
    file = tmp_path / "trees.csv"
    file.write_text("0.5,0.5\n0.2,0.8\n")
    x = np.random.default_rng(2).random(60)
    own, given = problems.make("rover"), problems.make("rover", trees_file=file)
    assert given.f(x) == reward(x.reshape(30, 2), np.array([[0.5, 0.5], [0.2, 0.8]]))
    assert own.f(x) == reward(x.reshape(30, 2), draw_trees())
    assert (terrain_cost(np.stack([START, GOAL]), draw_trees()) == 0.05).all()


def test_cosmo_likelihood_is_zero_at_the_measurement_and_its_covariance_is_the_published_one() -> None:
    """One standard deviation of H away costs half a unit once the other quantities follow."""
    assert log_likelihood(MEASURED) == 0
    covariance = np.linalg.inv(INVERSE_COVARIANCE)
    deviations = np.sqrt(np.diag(covariance))
    # Chuang et al. (2013) state 87.6 +- 6.7, 1396 +- 73, 0.126 +- 0.019, 1.19 +- 0.14, 0.428 +- 0.066.
    np.testing.assert_allclose(deviations, [6.7, 73, 0.019, 0.14, 0.066], rtol=0.12)
    along = covariance[0] / deviations[0]
    assert log_likelihood(MEASURED + along) == pytest.approx(-0.5)


def test_cosmo_background_follows_friedmanns_equation() -> None:
    """CAMB's expansion rate and distance are those of a flat universe by direct integration."""
    x = np.array([0.7, 0.3, 0.05, 0.0, -1.0, 0.96, 2.1, 2.0, 0.0])
    quantities = predicted(x)
    assert quantities is not None
    z = np.linspace(0, 0.57, 2001)
    hubble = 70 * np.sqrt(0.3 * (1 + z) ** 3 + 0.7)
    distance = np.trapezoid(299792.458 / hubble, z) / 1.57
    assert quantities[0] == pytest.approx(hubble[-1], rel=1e-3)
    assert quantities[1] == pytest.approx(distance, rel=1e-3)
    assert quantities[2] == pytest.approx(0.147)
    assert quantities[3] / 2.0 == pytest.approx(0.6, abs=0.05)  # sigma8 of 0.8 grown back to z = 0.57


def test_cosmo_floors_inconsistent_universes() -> None:
    """More baryons than matter is the floor, and so is a universe far from the data."""
    problem = problems.make("cosmo")
    more_baryons = np.array([0.7, 0.10, 0.12, 0.0, -1.0, 0.96, 2.1, 2.0, 0.06])
    assert problem.f(more_baryons) == -60
    absurd = np.array([0.85, 0.45, 0.02, -0.1, -1.6, 1.1, 3.5, 2.6, 0.0])
    assert problem.f(absurd) == -60
