"""Best-so-far regret against evaluations, with shaded standard errors, as in the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.arena.run import Run
from benchmarks.rivals import ALGORITHMS, base_of, find

# One colour per algorithm wherever it is shown; ours are the solid, thicker lines.
_PALETTE = [
    *plt.get_cmap("tab10")(range(10)),
    *plt.get_cmap("Dark2")(range(8)),
    *plt.get_cmap("Set1")(range(9)),
]
_LOCAL = [name for name in ALGORITHMS if not name.endswith("-http")]
_COLORS = dict(zip(_LOCAL, _PALETTE, strict=False))


def _order(name: str) -> tuple[int, str]:
    """As they are listed, variants after their base."""
    return list(ALGORITHMS).index(base_of(name)), name


def draw_problem(axes: Any, problem: str, runs: Sequence[Run]) -> None:
    """The curves of every algorithm on one problem."""
    budget = min(run.budget for run in runs)
    evaluations = np.arange(1, budget + 1)
    lowest = np.inf
    for name in sorted({run.algorithm for run in runs}, key=_order):
        curves = np.array([run.regrets()[:budget] for run in runs if run.algorithm == name])
        mean = curves.mean(axis=0)
        error = curves.std(axis=0, ddof=1) / np.sqrt(len(curves)) if len(curves) > 1 else 0 * mean
        ours = "dumbo" in name
        local = name.removesuffix("-http")
        color = _COLORS[local] if local in _COLORS else _PALETTE[-1 - sum(name.encode()) % 17]
        style = {"lw": 2.2, "zorder": 3} if ours else {"lw": 1.2, "ls": "--"}
        axes.plot(evaluations, mean, label=find(name).label, color=color, **style)
        floor = mean / 10 if (mean > 0).all() else -np.inf  # a band reaching below zero would leave a log axis
        axes.fill_between(evaluations, np.maximum(mean - error, floor), mean + error, color=color, alpha=0.15, lw=0)
        lowest = min(lowest, mean.min())
    if lowest > 0:
        axes.set_yscale("log")
    known = runs[0].optimum is not None
    axes.set(title=problem, xlabel="evaluations", ylabel="best regret" if known else "minus the best value")
    axes.grid(alpha=0.3)


def save_all(runs: Sequence[Run], folder: Path) -> list[Path]:
    """One figure per problem and one of all of them, as PNG and SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.problem, []).append(run)
    saved = []
    for problem, group in groups.items():
        figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
        draw_problem(axes, problem, group)
        axes.legend(fontsize="x-small", ncols=2)
        saved += save(figure, folder / problem)
    if len(groups) > 1:
        saved += save(_overview(groups), folder / "overview")
    return saved


def _overview(groups: dict[str, list[Run]]) -> Any:
    columns = min(3, len(groups))
    rows = -(-len(groups) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(5 * columns, 3.6 * rows), layout="constrained", squeeze=False)
    labels: dict[str, Any] = {}
    for axes, (problem, group) in zip(grid.flat, groups.items(), strict=False):
        draw_problem(axes, problem, group)
        labels |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    for axes in grid.flat[len(groups) :]:
        axes.set_visible(False)
    figure.legend(labels.values(), labels.keys(), loc="outside lower center", ncols=5, fontsize="small")
    return figure


def save(figure: Any, stem: Path) -> list[Path]:
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=130)
    plt.close(figure)
    return paths
