"""Seconds per ask, by phase, on the same histories, with one thread: ours, BoTorch's plain way and Optuna's GP.

    python -m benchmarks.ask_speed
    python -m benchmarks.ask_speed --histories powell-24 --sizes 25,100 --json
    python -m benchmarks.ask_speed --reference path/to/checkout-of-the-papers-code

The lines at the end say which of the project's marks are reached. Tables, JSON and a plot go to the output folder.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.arena.pool import ONE_THREAD
from benchmarks.problems import BenchmarkProblem
from benchmarks.readme import PLOTS, fill
from benchmarks.rivals import ALGORITHMS
from benchmarks.speed.histories import OURS_ONLY, PROBLEMS, points
from benchmarks.speed.measure import Measurement, measure
from benchmarks.speed.memory import peak_bytes
from benchmarks.speed.reaches import reaches
from benchmarks.speed.reference import NAME as REFERENCE
from benchmarks.speed.reference import measure_reference

ALGORITHM_NAMES = ["dumbo", "add-dumbo", "add-dumbo-y", "optuna-gp", "botorch-logei"]
SIZES = [25, 50, 100, 200, 400, 800]
# Every ask is to be the model's, whatever initial design the core would choose; the issue asks for 100 proposals.
OUR_OPTIONS = {"initial_trials": 1, "proposals": 100}
OUR_REPEATS = 3  # times those of the others: four times three is a whole round of turns
# Ours in a study under way: the first asks find chains that have hardly moved, and hopeful ones come after ten. Where
# each takes seconds, one must do.
WARM_UP = 16
WARM_UP_DIMS = 128


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m benchmarks.ask_speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("--histories", default=",".join(PROBLEMS), help="by commas (default: all)")
    p.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of observations, by commas")
    p.add_argument("--algorithms", default=",".join(ALGORITHM_NAMES), help="names of the arena, by commas")
    p.add_argument(
        "--repeats",
        type=int,
        default=4,
        help="asks to take the mean of, three times as many of ours: twelve are a whole round of turns (default 4)",
    )
    p.add_argument("--limit", type=float, default=60.0, help="stop growing t once an ask took so many seconds")
    p.add_argument("--reference", type=Path, help="a checkout of the paper's own implementation, timed on Powell-24")
    p.add_argument("--reference-sizes", default="10,100", help="its numbers of observations, by commas")
    p.add_argument("--reference-limit", type=float, default=900.0, help="seconds after which it is cut off")
    p.add_argument("--no-memory", action="store_true", help="leave out the measurement of peak memory")
    p.add_argument("--readme", action="store_true", help="put the table and the marks into the README")
    p.add_argument("--json", action="store_true", help="print JSON instead of tables")
    p.add_argument("--out", type=Path, default=Path("benchmark-results"), help="folder for JSON and plot")
    return p


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def measurements(options: argparse.Namespace) -> Iterator[Measurement]:
    """One after the other: nothing else should run beside them."""
    for history in options.histories.split(","):
        problem = PROBLEMS[history]()
        for name in options.algorithms.split(","):
            if history in OURS_ONLY and "dumbo" not in name:
                continue
            for n_obs in numbers(options.sizes):
                done = _measured(name, history, problem, n_obs, options.repeats)
                yield done
                if done.seconds > options.limit:
                    break
    if options.reference is not None:
        yield from _reference(options)


def _measured(name: str, history: str, problem: BenchmarkProblem, n_obs: int, repeats: int) -> Measurement:
    X = points(problem, n_obs)
    if "dumbo" not in name:
        return measure(name, history, problem, X, repeats)
    warm_up = min(WARM_UP, n_obs // 2) if problem.n_dims <= WARM_UP_DIMS else 1
    return measure(name, history, problem, X, repeats * OUR_REPEATS, warm_up, **OUR_OPTIONS)


def _reference(options: argparse.Namespace) -> Iterator[Measurement]:
    problem = PROBLEMS["powell-24"]()
    for n_obs in numbers(options.reference_sizes):
        X = points(problem, n_obs)
        if n_obs not in numbers(options.sizes):
            yield _measured("dumbo", "powell-24", problem, n_obs, options.repeats)
        done = measure_reference(options.reference, "powell-24", problem, X, options.reference_limit, options.repeats)
        yield done
        if done.at_least:
            break


def table(rows: Sequence[Measurement]) -> str:
    """Markdown, a row per measurement."""
    lines = [
        "| history | d | t | algorithm | processor s per ask | s per ask | phases, s |",
        "|---|---:|---:|---|---:|---:|---|",
    ]
    for m in rows:
        label = ALGORITHMS[m.algorithm].label if m.algorithm in ALGORITHMS else "the paper's code"
        phases = ", ".join(f"{phase} {seconds:.3f}" for phase, seconds in m.phases.items())
        seconds = f"{'> ' * m.at_least}{m.seconds:.3f}"
        lines.append(
            f"| {m.history} | {m.n_dims} | {m.n_obs} | {label} | {seconds} | {m.wall_seconds:.3f} | {phases} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    p = parser()
    options = p.parse_args(arguments)
    unknown = (set(options.histories.split(",")) - set(PROBLEMS)) | (
        set(options.algorithms.split(",")) - set(ALGORITHMS)
    )
    if unknown:
        p.error(f"unknown: {', '.join(sorted(unknown))}")
    import torch

    torch.set_num_threads(1)
    rows = []
    for row in measurements(options):
        rows.append(row)
        print(f"{row.history} t={row.n_obs} {row.algorithm}: {row.seconds:.3f} s", file=sys.stderr, flush=True)
    memory = None if options.no_memory else peak_bytes("rastrigin-100-shifted", 1000)
    marks = reaches(rows, memory)
    data = {
        "measurements": [row.to_dict() for row in rows],
        "peak_memory_bytes": memory,
        "reaches": [mark.to_dict() for mark in marks],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "ask_speed.json").write_text(json.dumps(data, indent=1))
    from benchmarks.speed.plot import save

    drawn = [row for row in rows if row.algorithm != REFERENCE]
    save(drawn, options.out)
    if options.readme:
        save(drawn, PLOTS)
        fill("ask speed", _summary(rows, [mark.line() for mark in marks]))
    print(json.dumps(data, indent=1) if options.json else _report(rows, [mark.line() for mark in marks]))
    return 0


def _summary(rows: Sequence[Measurement], marks: Sequence[str]) -> str:
    """Processor seconds per ask, a row per history and t, a column per algorithm; then the marks."""
    names = list(dict.fromkeys(row.algorithm for row in rows))
    labels = [ALGORITHMS[n].label if n in ALGORITHMS else "the paper's code" for n in names]
    lines = [f"| processor seconds per ask | t | {' | '.join(labels)} |", "|---|---:|" + "---:|" * len(names)]
    found = {(row.history, row.n_obs, row.algorithm): row for row in rows}
    for history, n_obs in dict.fromkeys((row.history, row.n_obs) for row in rows):
        cells = [found.get((history, n_obs, name)) for name in names]
        shown = ["" if row is None else f"{'> ' * row.at_least}{row.seconds:.2f}" for row in cells]
        lines.append(f"| {history} | {n_obs} | {' | '.join(shown)} |")
    return "\n".join([*lines, "", "```text", *marks, "```"])


def _report(rows: Sequence[Measurement], marks: Sequence[str]) -> str:
    return "\n".join([table(rows), "", *marks])


if __name__ == "__main__":
    if not os.environ.items() >= ONE_THREAD.items():  # numpy and torch, loaded by now, asked only once: begin again
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | ONE_THREAD)
    sys.exit(main())
