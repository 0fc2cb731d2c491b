"""Where ours win and lose on a problem: what each kind of ask found, and how right the model was.

    python -m benchmarks.diagnose --problems wlan --seeds 8
    python -m benchmarks.diagnose --problems rover,cosmo --algorithms dumbo,dumbo@hope.MOST=-1 --first-seed 100

The arena's records hold values only, so that runs are made for this, each a line of `asks.jsonl` in the output folder;
a second start goes on where the first stopped. Tables go to the screen and to `diagnosis.md`, a picture for each
problem and algorithm beside it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import problems
from benchmarks.arena import records
from benchmarks.arena.asks import LEGEND, Course, follow, table
from benchmarks.arena.pool import run_all
from benchmarks.arena.run import Task
from benchmarks.readme import OWN_README, PLOTS, fill
from benchmarks.regret import PROBLEM_SETS, chosen
from benchmarks.rivals import find


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m benchmarks.diagnose", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--problems", default="wlan", help=f"names or sets ({', '.join(PROBLEM_SETS)}), by commas")
    p.add_argument("--algorithms", default="dumbo", help="ours, by commas; also dumbo@hope.CLEAR=0")
    p.add_argument("--seeds", type=int, default=4, help="how many (default 4)")
    p.add_argument("--first-seed", type=int, default=0, help="seeds from here on (default 0)")
    p.add_argument("--budget", type=int, help="evaluations (default 40 for camel, 60 for hartmann, 100 else)")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    p.add_argument("--out", type=Path, default=Path("benchmark-results"), help="folder for the table and pictures")
    p.add_argument(
        "--redo", action="store_true", help="make runs again that are on record, as after a change of the core"
    )
    p.add_argument("--readme", action="store_true", help="put tables and the first picture into benchmarks/README.md")
    return p


def plan(options: argparse.Namespace) -> list[Task]:
    """ValueError where a name is unknown, or one that does not say how it asks."""
    tasks = []
    for problem in chosen(options.problems, PROBLEM_SETS):
        factors = problems.make(problem).factors
        for name in chosen(options.algorithms, {}):
            algorithm = find(name)
            if algorithm.cls != "Dumbo" or "batch" in dict(algorithm.options):
                raise ValueError(f"{name} does not say of each point how it was made; take one like dumbo or add-dumbo")
            if algorithm.knowledge != "none" and factors is None:
                raise ValueError(f"{name} needs known factors, which {problem} has not")
            budget = options.budget or problems.budget_of(problem)
            seeds = range(options.first_seed, options.first_seed + options.seeds)
            tasks += [Task(problem, name, seed, budget) for seed in seeds]
    return tasks


def report(groups: Sequence[Sequence[Course]], folder: Path) -> str:
    """Write tables and pictures, and return the tables."""
    from benchmarks.arena.ask_plots import save_asks

    for group in groups:
        save_asks(group, folder)
    text = "\n\n".join([*map(table, groups), LEGEND])
    (folder / "diagnosis.md").write_text(text + "\n")
    return text


def publish(groups: Sequence[Sequence[Course]], text: str, command: str) -> None:
    """Tables and the first picture for the benchmarks' own README."""
    from benchmarks.arena.ask_plots import save_asks

    pictures = save_asks(groups[0], PLOTS)
    fill("asks", f"`{command}`:\n\n{text}\n\n![What asks found](plots/{pictures[0].name})", OWN_README)


def grouped(courses: Sequence[Course], tasks: Sequence[Task]) -> list[list[Course]]:
    """Those of one algorithm on one problem together, by seed, as long and in the order as they were asked for."""
    done = {course.key: course for course in courses}
    groups: dict[tuple[str, str], list[Course]] = {}
    for task in tasks:
        if task.key in done:
            groups.setdefault((task.problem, task.algorithm), []).append(done[task.key].until(task.budget))
    return list(groups.values())


def main(arguments: Sequence[str] | None = None) -> int:
    p = parser()
    options = p.parse_args(arguments)
    try:
        tasks = plan(options)
    except ValueError as error:
        p.error(str(error))
    path = options.out / "asks.jsonl"
    todo = tasks if options.redo else records.remaining(tasks, records.load(path, Course))
    failures = []
    if todo:
        print(f"{len(tasks) - len(todo)} runs on record, {len(todo)} to go, {options.jobs} at a time", file=sys.stderr)
        failures = run_all(follow, todo, options.jobs, lambda course: records.append(path, course))
    if groups := grouped(records.load(path, Course), tasks):
        text = report(groups, options.out)
        print(text)
        if options.readme:
            publish(groups, text, f"python -m benchmarks.diagnose {' '.join(arguments or sys.argv[1:])}")
    for task, trace in failures:
        print(f"\nfailed: {task.problem}, {task.algorithm}, seed {task.seed}\n{trace}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nstopped; finished runs are on record, start again to go on", file=sys.stderr)
        sys.exit(130)
