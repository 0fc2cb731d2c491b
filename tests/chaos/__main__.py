"""Try to break the service, on SQLite and on a real Postgres, and print what was lost. Exit code 1 if anything was.

    python -m tests.chaos                       everything, as long as it takes (hours)
    python -m tests.chaos --scale 0.02          everything, in small (minutes)
    python -m tests.chaos --only kills,soak     some of it; --list names the parts
    python -m tests.chaos --only "" --readme    run nothing; put the table of all results so far into the README

Every finding is appended to the results file at once. The table at the end has the newest of each kind, so a long run
can be done piece by piece. All of it happens on loopback and in temporary directories, and nothing is left behind.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

import tests.chaos
from service import logs
from tests.chaos import report
from tests.chaos.report import Finding

Fault: TypeAlias = Callable[[float], Iterator[Finding]]


def faults() -> dict[str, Fault]:
    """Every module of this package that has `findings`, by name."""
    names = [m.name for m in pkgutil.iter_modules(tests.chaos.__path__) if not m.name.startswith(("test_", "__"))]
    modules = {name: import_module(f"tests.chaos.{name}") for name in names}
    return {name: module.findings for name, module in modules.items() if hasattr(module, "findings")}


def main() -> int:
    arguments = _parser().parse_args()
    known = faults()
    if arguments.list:
        print("\n".join(known))
        return 0
    chosen = list(known) if arguments.only is None else [name for name in arguments.only.split(",") if name]
    if unknown := [name for name in chosen if name not in known]:
        print(f"there is no {', '.join(unknown)}; choose from {', '.join(known)}", file=sys.stderr)
        return 2
    logs.configure("error")
    lost = sum(_tried(name, known[name], arguments.scale, arguments.results) for name in chosen)
    records = report.newest(arguments.results)
    print(report.table(records))
    if arguments.readme:
        report.write_readme(records)
    return 1 if lost else 0


def _tried(name: str, findings: Fault, scale: float, results: Path) -> int:
    """Run one kind of fault and keep what it finds; how much was lost."""
    lost = 0
    _say(f"{name} ...")
    for finding in findings(scale):
        report.append(finding, results)
        lost += finding.lost
        verdict = f"LOST {finding.lost}" if finding.lost else "nothing lost"
        _say(f"  {finding.what}, {finding.database}: {finding.tried}, {verdict}, {report.took(finding.seconds)}")
        if finding.detail:
            _say(f"    {finding.detail}")
    return lost


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="A,B", help="these parts, in this order (default: all)")
    parser.add_argument("--list", action="store_true", help="name the parts, and end")
    parser.add_argument("--scale", type=float, default=1.0, help="how much of the long run to do (default: 1)")
    where = f"where findings are kept (default: {report.RESULTS.name} beside this)"
    parser.add_argument("--results", type=Path, default=report.RESULTS, metavar="FILE", help=where)
    parser.add_argument("--readme", action="store_true", help="put the table into the README")
    return parser


if __name__ == "__main__":
    sys.exit(main())
