"""Ascent inside the unit cube by L-BFGS: few evaluations, and little else.

At a bound that the gradient points out of, a coordinate rests; the others move along the quasi-Newton direction, and
what leaves the cube is put back on its face. A step must gain (Armijo), or it is shortened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from core.space import Array

MEMORY = 10
FIRST_MOVE = 0.05  # of the cube, at most, before anything is known of the curvature
ENOUGH = 1e-4  # of the promised gain
FLAT = 1e-5  # a gradient not worth another step


def ascend(
    f: Callable[[Array], tuple[float, Array]], x: Array, max_evaluations: int, least_gain: float = 1e-10
) -> Array:
    """The best point found from x, given values and gradients of f, in so many evaluations.

    It ends at the first step that gains no more than `least_gain`, relative to a large value.
    """
    value, gradient = f(x)
    pairs: deque[tuple[Array, Array]] = deque(maxlen=MEMORY)
    evaluations, stretch = 1, 1.0
    while evaluations < max_evaluations:
        outward = ((x <= 0.0) & (gradient < 0.0)) | ((x >= 1.0) & (gradient > 0.0))
        free = np.where(outward, 0.0, 1.0)  # 0 for coordinates that rest
        slope = gradient * free
        steepest = np.abs(slope).max(initial=0.0)
        if steepest < FLAT:
            break
        direction = _direction(slope, free, pairs)
        if not pairs or direction @ slope <= 0.0:
            pairs.clear()
            direction = slope * (stretch * FIRST_MOVE / steepest)
        step = 1.0
        while evaluations < max_evaluations:
            trial = np.clip(x + step * direction, 0.0, 1.0)
            new_value, new_gradient = f(trial)
            evaluations += 1
            promised = float(gradient @ (trial - x))
            if new_value >= value + ENOUGH * promised:
                break
            # Where a parabola through what is known has its top, but not too near either end.
            top = 0.5 * promised / max(promised - (new_value - value), 1e-300)
            step *= min(max(top, 0.1), 0.5)
        else:
            break
        moved, bent = trial - x, gradient - new_gradient
        if float(moved @ bent) > 1e-12 * float(bent @ bent):
            pairs.append((moved, bent))
            stretch = 1.0
        else:
            stretch = min(4.0, 2.0 * stretch)  # it goes up ever more steeply
            pairs.clear()
        gained = new_value - value
        x, value, gradient = trial, new_value, new_gradient
        if gained <= least_gain * max(1.0, abs(value)):
            break
    return x


def _direction(slope: Array, free: Array, pairs: deque[tuple[Array, Array]]) -> Array:
    """The two-loop recursion (Nocedal), over the free coordinates."""
    direction = slope.copy()
    if not pairs:
        return direction
    kept = []
    for moved, bent in reversed(pairs):
        s, y = moved * free, bent * free
        curvature = float(s @ y)
        if curvature <= 1e-16:
            continue
        share = float(s @ direction) / curvature
        direction -= share * y
        kept.append((s, y, curvature, share))
    if kept:
        _, y, curvature, _ = kept[0]
        direction *= curvature / float(y @ y)
    for s, y, curvature, share in reversed(kept):
        direction += (share - float(y @ direction) / curvature) * s
    return direction
