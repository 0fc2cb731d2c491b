"""TuRBO, LineBO and MS-UCB do what their papers say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from botorch.acquisition.analytic import UpperConfidenceBound

from benchmarks import problems
from benchmarks.rivals.botorch_models import fit_standard_model, seeded
from benchmarks.rivals.linebo import LineBO, line_through
from benchmarks.rivals.ms_ucb import maximize_on_subspaces
from benchmarks.rivals.turbo import LENGTH_MAX, LENGTH_START, TrustRegion, Turbo


def test_trust_region_doubles_after_three_successes_and_halves_after_d_failures() -> None:
    """Streaks resize the region; a mixed record does not, and an improvement must be worth a thousandth."""
    region = TrustRegion(n_dims=6)
    for y in (1.0, 2.0, 1.5, 3.0, 4.0):
        region.update(best=0.5, y=y) if y != 1.5 else region.update(best=2.0, y=y)
    assert region.length == LENGTH_START
    region.update(best=4.0, y=5.0)
    assert region.length == LENGTH_MAX
    for _ in range(6):
        region.update(best=5.0, y=5.004)
    assert region.length == LENGTH_MAX / 2
    assert not region.exhausted


def test_trust_region_is_stretched_by_lengthscales_and_keeps_its_volume() -> None:
    """Sides are in proportion to the lengthscales and their product is length^d, inside the cube."""
    region = TrustRegion(n_dims=2, length=0.1)
    low, high = region.box(np.array([0.5, 0.5]), np.array([1.0, 4.0]))
    sides = high - low
    assert sides[1] / sides[0] == pytest.approx(4.0)
    assert sides.prod() == pytest.approx(0.1**2)
    low, high = region.box(np.array([0.0, 1.0]), np.ones(2))
    assert (low.min(), high.max()) == (0.0, 1.0)


def told_turbo(n: int = 12) -> Turbo:
    problem = problems.make("rosenbrock-40-shifted", 0)
    turbo = Turbo(problem, 0)
    for u in np.random.default_rng(0).random((n, 40)):
        x = problem.from_unit(u)
        turbo.tell(x, problem.f(x))
    return turbo


def test_turbo_candidates_stay_in_the_region_and_move_some_coordinates() -> None:
    """Every candidate lies in the box around the incumbent and differs from it in about twenty coordinates."""
    turbo = told_turbo()
    turbo.region.length = 0.2
    center = turbo.U[np.argmax(turbo.y)]
    candidates = turbo.candidates(np.ones(40))
    assert (np.abs(candidates - center) <= 0.1 + 1e-12).all()
    moved = (candidates != center).sum(axis=1)
    assert moved.min() >= 1
    assert moved.mean() == pytest.approx(20, abs=1)


def test_turbo_begins_again_elsewhere_when_its_region_has_collapsed() -> None:
    """Once too small, the region is new, the data are forgotten and a new initial design is asked for."""
    turbo = told_turbo()
    first_design = turbo._initial
    turbo.region.length, turbo.region.failures = 0.5**7, 39
    turbo.tell(turbo.problem.from_unit(np.full(40, 0.5)), -1e9)
    assert turbo.n_restarts == 1
    assert turbo.region.length == LENGTH_START
    assert len(turbo.y) == 0
    assert not np.allclose(turbo._initial, first_design)
    np.testing.assert_allclose(turbo.problem.to_unit(turbo.ask()), turbo._initial[0])


def test_turbo_climbs_a_smooth_hill() -> None:
    """With twelve evaluations after the design it comes close to the top of a quadratic."""
    from dataclasses import replace

    top = np.array([0.3, 0.6, 0.8, 0.2])
    problem = replace(
        problems.make("ackley-4"), bounds=((0.0, 1.0),) * 4, terms=lambda x: np.array([-((x - top) ** 2).sum()])
    )
    turbo = Turbo(problem, 1)
    values = []
    for _ in range(22):
        x = turbo.ask()
        values.append(problem.f(x))
        turbo.tell(x, values[-1])
    assert max(values) > max(values[:10]) / 4


def test_line_runs_from_face_to_face_through_the_point() -> None:
    """Both ends lie on the cube's boundary, the point on the line, and a zero component stays put."""
    center, direction = np.array([0.2, 0.5, 0.9]), np.array([0.6, 0.0, -0.8])
    line = line_through(center, direction)
    assert (line[:, 1] == 0.5).all()
    ends = line[[0, -1]]
    assert (np.isclose(ends, 0) | np.isclose(ends, 1)).any(axis=1).all()
    offsets = line - center
    np.testing.assert_allclose(np.cross(offsets, direction), 0, atol=1e-12)
    assert np.linalg.norm(offsets, axis=1).min() < 2e-3


def test_linebo_stays_on_a_line_for_a_few_steps_and_then_takes_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points asked after the design lie on the current line; no line gets more than its share."""
    monkeypatch.setattr("benchmarks.rivals.linebo.STEPS_PER_LINE", 3)
    problem = problems.make("hartmann-6-shifted", 0)
    optimizer = LineBO(problem, 0)
    lines = []
    for n in range(16):
        x = optimizer.ask()
        if n >= 10:
            assert optimizer.line is not None
            assert np.abs(optimizer.line - problem.to_unit(x)).sum(axis=1).min() < 1e-9
            lines.append(optimizer.line.tobytes())
        optimizer.tell(x, problem.f(x))
    assert 2 <= len(set(lines)) < 6
    assert max(lines.count(line) for line in lines) == 3


def test_ms_ucb_maximizes_over_its_subspaces_and_nothing_else() -> None:
    """The answer lies in one of the subspaces, and no point of a fine grid in any of them has a larger bound."""
    rng = np.random.default_rng(0)
    U = rng.random((20, 4))
    y = np.sin(5 * U).sum(axis=1)
    subspaces, free = rng.random((6, 4)), np.array([1, 3])
    with seeded(0):
        model = fit_standard_model(U, y)
        point = maximize_on_subspaces(model, subspaces, free, beta=2.0)
    held = [0, 2]
    assert (np.abs(subspaces[:, held] - point[held]).max(axis=1) < 1e-12).any()
    grid = np.repeat(subspaces[:, None], 400, axis=1)
    grid[:, :, free] = np.stack(np.meshgrid(*[np.linspace(0, 1, 20)] * 2), -1).reshape(-1, 2)
    bound = UpperConfidenceBound(model, beta=2.0)
    with torch.no_grad():
        assert bound(torch.as_tensor(point[None])) >= bound(torch.as_tensor(grid.reshape(-1, 1, 4))).max() - 1e-6
