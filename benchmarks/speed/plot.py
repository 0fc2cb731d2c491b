"""How an ask grows with the observations and with the dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from benchmarks.rivals import ALGORITHMS
from benchmarks.speed.measure import Measurement


def save(measurements: Sequence[Measurement], folder: Path) -> list[Path]:
    """Seconds against t, a panel per history, and against d at the largest t common to all; PNG and SVG."""
    histories = list(dict.fromkeys(m.history for m in measurements))
    figure, panels = plt.subplots(
        1, len(histories) + 1, figsize=(4 * len(histories) + 4, 4), layout="constrained", sharey=True, squeeze=False
    )
    for axes, history in zip(panels[0], histories, strict=False):
        chosen = [m for m in measurements if m.history == history]
        _draw(axes, chosen, "n_obs", f"{history}, d = {chosen[0].n_dims}", "observations t")
    common = set.intersection(*({m.n_obs for m in measurements if m.history == h} for h in histories))
    at = max(common, default=0)
    _draw(panels[0][-1], [m for m in measurements if m.n_obs == at], "n_dims", f"t = {at}", "dimensions d")
    panels[0][0].set_ylabel("processor seconds per ask")
    handles = {label: h for axes in panels[0] for h, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=6)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"ask_speed.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=130)
    plt.close(figure)
    return paths


def _draw(axes: Any, measurements: Sequence[Measurement], across: str, title: str, label: str) -> None:
    names = list(dict.fromkeys(m.algorithm for m in measurements))
    for name in names:
        line = sorted((getattr(m, across), m.seconds) for m in measurements if m.algorithm == name)
        shown = ALGORITHMS[name].label if name in ALGORITHMS else name
        style = {"lw": 2, "ls": "-"} if "dumbo" in name else {"lw": 1.2, "ls": "--"}
        axes.plot(*zip(*line, strict=True), marker="o", ms=4, label=shown, **style)
    axes.set(title=title, xlabel=label, xscale="log", yscale="log")
    measured = sorted({getattr(m, across) for m in measurements})
    axes.set_xticks(measured, [f"{x:,}" for x in measured])
    axes.set_xticks([], minor=True)
    axes.grid(alpha=0.3, which="both")
