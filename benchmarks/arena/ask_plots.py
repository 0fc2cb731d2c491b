"""The course of one run by kind of ask, and how right the models of all runs were, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.arena.asks import KINDS, Course, surprises
from benchmarks.arena.plots import save

MOST = 6.0  # standard deviations that are drawn; what lies beyond stands at the edge
_COLORS = dict(zip(KINDS, ["0.6", *plt.get_cmap("tab10")(range(len(KINDS) - 1))], strict=True))


def save_asks(courses: Sequence[Course], folder: Path) -> list[Path]:
    """As PNG and SVG: courses of one algorithm on one problem."""
    folder.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.5), layout="constrained")
    draw_course(left, courses[0])
    draw_surprises(right, courses)
    handles = {label: handle for axes in (left, right) for handle, label in zip(*_entries(axes), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize="small")
    return save(figure, folder / f"{courses[0].problem}-{courses[0].algorithm}-asks")


def draw_course(axes: Any, course: Course) -> None:
    """Every value as a dot in the colour of what asked for it, and the best so far."""
    regret = (course.optimum or 0.0) - course.values
    for kind, rows in _by_kind([course]):
        axes.scatter(rows + 1, regret[rows], s=14, color=_COLORS[kind], label=KINDS[kind], zorder=3)
    axes.step(np.arange(len(regret)) + 1, np.minimum.accumulate(regret), where="post", color="black", lw=1.2)
    if (regret > 0.0).all():
        axes.set_yscale("log")
    known = course.optimum is not None
    title = f"{course.problem}, seed {course.seed}"
    axes.set(title=title, xlabel="evaluations", ylabel="regret" if known else "minus the value")
    axes.grid(alpha=0.3)


def draw_surprises(axes: Any, courses: Sequence[Course]) -> None:
    """What came beside what was expected, in standard deviations; two thirds belong into the darker band."""
    for width in (1, 2):
        axes.axhspan(-width, width, color="0.5", alpha=0.12, lw=0)
    for kind, rows in _by_kind(courses):
        surprised = surprises(courses)[rows]
        evaluations = np.concatenate([np.arange(course.budget) for course in courses])[rows] + 1
        drawn = ~np.isnan(surprised)
        y = surprised[drawn].clip(-MOST, MOST)
        if drawn.any():
            axes.scatter(evaluations[drawn], y, s=9, color=_COLORS[kind], label=KINDS[kind], alpha=0.7)
    axes.set(title=f"surprise, {len(courses)} runs", xlabel="evaluations", ylabel="standard deviations")
    axes.set_ylim(-1.05 * MOST, 1.05 * MOST)
    axes.grid(alpha=0.3)


def _by_kind(courses: Sequence[Course]) -> list[tuple[str, np.ndarray[Any, np.dtype[np.int64]]]]:
    """Which of all asks, one run after the other, each kind made."""
    kinds = np.array([ask.kind for course in courses for ask in course.asks])
    return [(kind, np.flatnonzero(kinds == kind)) for kind in KINDS if (kinds == kind).any()]


def _entries(axes: Any) -> tuple[list[Any], list[str]]:
    handles, labels = axes.get_legend_handles_labels()
    return handles, labels
