"""Summaries as Markdown: a table per problem, and one of all problems."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.arena.summary import SIGNIFICANCE, Row, mean_ranks
from benchmarks.rivals import find

# The paper's Table 2. WLAN's rewards there, 120.67 and 121.11, are given as regret against our optimum.
PAPER_DUMBO = {
    "camel": (0.006, 0.009),
    "hartmann-6": (0.54, 0.53),
    "powell-24": (496.0, 469.0),
    "rastrigin-100": (986.0, 678.0),
    "cosmo": (5.86, None),
    "wlan": (27.07, 26.63),
    "rover": (6.38, None),
}


def number(value: float) -> str:
    """Three significant digits, thousands separated, no exponent for what is usual here."""
    if not math.isfinite(value):
        return "-"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        digits = 0 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:,.{digits}f}"
    return f"{value:.1e}"


def probability(p: float) -> str:
    return "" if p == 1 or math.isnan(p) else ("< 0.001" if p < 0.001 else f"{p:.3f}")


def problem_table(rows: Sequence[Row]) -> str:
    """The rows of one problem, emphasized as in the overview."""
    first = rows[0]
    lines = [
        f"### {first.problem} after {first.at} evaluations",
        "",
        "| rank | algorithm | knows | seeds | regret, mean ± s.e. | p (best) | p (best blind) | s per ask |",
        "|---:|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        algorithm = find(row.algorithm)
        knows = "" if row.blind else algorithm.knowledge
        p_blind = probability(row.p_blind) if row.blind else ""
        lines.append(
            f"| {row.rank} | {algorithm.label} | {knows} | {len(row.regrets)} | {_emphasized(row)} "
            f"| {probability(row.p_best)} | {p_blind} | {row.seconds_per_ask:.3f} |"
        )
    return "\n".join(lines)


def _emphasized(row: Row) -> str:
    text = f"{number(row.mean)} ± {number(row.standard_error)}"
    text = f"**{text}**" if row.among_the_best else text
    return f"<u>{text}</u>" if row.among_the_best_blind else text


def _cell(row: Row, most_seeds: int) -> str:
    """With the number of seeds, where it is less than that of others."""
    seeds = len(row.regrets)
    return _emphasized(row) if seeds == most_seeds else f"{_emphasized(row)} ({seeds} seed{'s' * (seeds > 1)})"


def overview(rows: Sequence[Row]) -> str:
    """Algorithms by problems, in the order of their mean rank."""
    columns = list(dict.fromkeys((row.problem, row.at) for row in rows))
    cells = {(row.algorithm, row.problem): row for row in rows}
    most = {p: max(len(row.regrets) for row in rows if row.problem == p) for p, _ in columns}
    lines = [
        "| algorithm | " + " | ".join(f"{problem} ({at})" for problem, at in columns) + " | mean rank |",
        "|---|" + "---:|" * (len(columns) + 1),
    ]
    for name, rank in mean_ranks(rows).items():
        row = [_cell(cells[name, p], most[p]) if (name, p) in cells else "" for p, _ in columns]
        lines.append(f"| {find(name).label} | " + " | ".join(row) + f" | {rank:.1f} |")
    for i, label in enumerate(("DuMBO in the paper", "ADD-DuMBO in the paper")):
        stated = [PAPER_DUMBO.get(p.removesuffix("-shifted"), (None, None))[i] for p, _ in columns]
        if any(value is not None for value in stated):
            row = ["" if value is None else number(value) for value in stated]
            lines.append(f"| *{label}* | " + " | ".join(row) + " | |")
    lines += [
        "",
        f"Mean ± standard error of the regret (minus the best value where no optimum is known). Bold: not "
        f"significantly worse than the best; underlined: than the best algorithm without structure knowledge "
        f"(one-sided Mann-Whitney, {SIGNIFICANCE:.0%}; shown from four seeds on). In brackets: evaluations.",
    ]
    return "\n".join(lines)
