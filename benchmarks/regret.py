"""The arena's command: run algorithms on problems, then say who won.

    python -m benchmarks.regret --quick
    python -m benchmarks.regret --problems paper-shifted --algorithms dumbo,optuna-gp,botorch-logei --seeds 5
    python -m benchmarks.regret --problems powell-24-shifted --algorithms all --budget 100 --at 30,60,100

Every finished run is a line of `runs.jsonl` in the output folder; a second start goes on where the first
stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import problems
from benchmarks.arena import records, tables
from benchmarks.arena.pool import run_all
from benchmarks.arena.run import Run, Task, execute
from benchmarks.arena.summary import Row, summarize
from benchmarks.readme import OWN_README, PLOTS, fill
from benchmarks.rivals import ALGORITHMS, find

PROBLEM_SETS = {
    "paper": problems.PAPER,
    "paper-shifted": problems.PAPER_SHIFTED,
    "families": problems.FAMILIES,
    "classics": problems.CLASSICS,
    "later": problems.LATER,
    "quick": ["camel-shifted", "hartmann-6-shifted"],
}

SHOWN = ("hartmann-6-shifted", "powell-24-shifted")  # in the README
LOCAL = [name for name in ALGORITHMS if not name.endswith("-http")]
ALGORITHM_SETS = {
    "all": LOCAL,
    "ours": [name for name in LOCAL if "dumbo" in name],
    "rivals": [name for name in LOCAL if "dumbo" not in name],
    "quick": ["dumbo", "add-dumbo-y", "random", "optuna-gp", "botorch-logei"],
}


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m benchmarks.regret",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("--problems", default="paper-shifted", help=f"names or sets ({', '.join(PROBLEM_SETS)}), by commas")
    p.add_argument(
        "--algorithms",
        default="all",
        help=f"names or sets ({', '.join(ALGORITHM_SETS)}), by commas; "
        "dumbo-by-5 is ours asked for five points at a time, dumbo@hope.CLEAR=0 with a constant of the core changed",
    )
    p.add_argument("--seeds", type=int, default=5, help="how many; each is another instance (default 5)")
    p.add_argument(
        "--first-seed", type=int, default=0, help="seeds from here on: to try things on others than a table's"
    )
    p.add_argument("--budget", type=int, help="evaluations (default 40 for camel, 60 for hartmann, 100 else)")
    p.add_argument("--at", default="", help="summarize also after these numbers of evaluations, by commas")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    p.add_argument("--out", type=Path, default=Path("benchmark-results"), help="folder for records, tables and plots")
    p.add_argument("--redo", default="", help="algorithms to run again even if on record, by commas")
    p.add_argument(
        "--readme",
        nargs="?",
        const="regret",
        metavar="SECTION",
        help="put the table and two plots into the README, or the table (of the first number of --at, if there is one) "
        "into this section of benchmarks/README.md",
    )
    p.add_argument("--report", action="store_true", help="run nothing, report what is on record")
    p.add_argument("--trees", type=Path, help="a CSV file of tree positions for rover instead of our own forest")
    p.add_argument("--url", help="where a service runs, for the algorithms that end in -http")
    p.add_argument("--quick", action="store_true", help="a few minutes: two problems, five algorithms, two seeds")
    p.add_argument("--list", action="store_true", help="list problems and algorithms")
    return p


def chosen(text: str, sets: dict[str, list[str]]) -> list[str]:
    """Names separated by commas, but for those in brackets, with sets replaced by their members."""
    names = [member for name in re.split(r",(?![^(]*\))", text) if name for member in sets.get(name, [name])]
    return list(dict.fromkeys(names))


def plan(options: argparse.Namespace) -> list[Task]:
    """The runs asked for, cheap kinds of failure found first: unknown names.

    Left out are algorithms that need what a problem has not: known factors, or floats only.
    """
    tasks = []
    for problem in chosen(options.problems, PROBLEM_SETS):
        made = problems.make(problem, trees_file=options.trees)
        budget = options.budget or problems.budget_of(problem)
        for name in chosen(options.algorithms, ALGORITHM_SETS):
            algorithm = find(name)
            if (algorithm.knowledge == "none" or made.factors is not None) and (algorithm.mixed or not made.is_mixed):
                seeds = range(options.first_seed, options.first_seed + options.seeds)
                tasks += [Task(problem, name, seed, budget, options.trees, options.url) for seed in seeds]
    return sorted(tasks, key=lambda task: task.seed)  # a first seed of everything says most early


def report(runs: Sequence[Run], folder: Path, checkpoints: Sequence[int]) -> str:
    """Write tables and plots beside the records and return the tables."""
    from benchmarks.arena.plots import save_all

    rows: list[Row] = []
    parts: list[str] = []
    for at in [*checkpoints, None]:
        section = summarize(runs, at)
        rows += section
        parts += [tables.overview(section)] if section else []
    for problem in dict.fromkeys(row.problem for row in rows):
        for at in sorted({row.at for row in rows if row.problem == problem}):
            parts.append(tables.problem_table([r for r in rows if (r.problem, r.at) == (problem, at)]))
    text = "\n\n".join(dict.fromkeys(parts))
    (folder / "summary.md").write_text(text + "\n")
    (folder / "summary.json").write_text(json.dumps([row.to_dict() for row in rows], indent=1))
    save_all(runs, folder / "plots")
    return text


def publish(runs: Sequence[Run], section: str, at: int | None, command: str) -> None:
    """The README's table of all problems with its two plots, or a table of the benchmarks' own README."""
    table = tables.overview(summarize(runs, at))
    if section != "regret":
        fill(section, f"`{command}`:\n\n{table}", OWN_README)
        return
    from benchmarks.arena.plots import save_all

    pictures = [p for p in SHOWN if any(run.problem == p for run in runs)]
    for problem in pictures:
        save_all([run for run in runs if run.problem == problem], PLOTS)
    images = " ".join(f"![Regret on {p}](benchmarks/plots/{p}.png)" for p in pictures)
    seeds = len({run.seed for run in runs})
    made = ", ".join(f"{name} {version}" for name, version in environment().items())
    fill("regret", f"`{command}`, {seeds} seeds:\n\n{table}\n\n{images}\n\nMade with {made}.")


def environment() -> dict[str, str]:
    """What the numbers depend on besides the code."""
    found = {"python": platform.python_version(), "machine": f"{platform.machine()}, {os.cpu_count()} cores"}
    for package in ("torch", "botorch", "gpytorch", "optuna", "ax-platform", "numpy", "scipy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    p = parser()
    options = p.parse_args(arguments)
    if options.list:
        names = [
            *problems.PAPER,
            *problems.PAPER_SHIFTED,
            "wlan-log",
            *problems.FAMILIES,
            *problems.CLASSICS,
            *problems.LATER,
        ]
        print("problems:  ", *dict.fromkeys(names))
        print("algorithms:", *ALGORITHMS)
        return 0
    if options.quick:
        p.set_defaults(problems="quick", algorithms="quick", seeds=2, budget=25)
        options = p.parse_args(arguments)
    try:
        tasks = plan(options)
        checkpoints = [int(at) for at in options.at.split(",") if at]
    except ValueError as error:
        p.error(str(error))
    path = options.out / "runs.jsonl"
    redo = chosen(options.redo, ALGORITHM_SETS)
    on_record = [run for run in records.load(path, Run) if run.algorithm not in redo]
    todo = [] if options.report else records.remaining(tasks, on_record)
    failures = []
    if todo:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "environment.json").write_text(json.dumps(environment(), indent=1))
        print(
            f"{len(tasks) - len(todo)} runs on record, {len(todo)} to go, {options.jobs} at a time",
            file=sys.stderr,
        )
        failures = run_all(execute, todo, options.jobs, lambda run: records.append(path, run))
    keys = {task.key for task in tasks}
    runs = [run for run in records.load(path, Run) if run.key in keys]
    if runs:
        print(report(runs, options.out, checkpoints))
        if options.readme:
            command = f"python -m benchmarks.regret {' '.join(arguments or sys.argv[1:])}"
            publish(runs, options.readme, checkpoints[0] if checkpoints else None, command)
    for task, trace in failures:
        print(f"\nfailed: {task.problem}, {task.algorithm}, seed {task.seed}\n{trace}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nstopped; finished runs are on record, start again to go on", file=sys.stderr)
        sys.exit(130)
