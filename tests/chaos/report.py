"""What was tried and what was lost: kept as lines of JSON, shown as one table."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.readme import README, fill

RESULTS = Path(__file__).with_name("results.jsonl")
SECTION = "chaos"


@dataclass(frozen=True)
class Finding:
    """One thing that was tried on one database: how often, how much was lost, and how long it took."""

    what: str
    database: str
    tried: str
    lost: int
    seconds: float
    detail: str = ""


@dataclass(frozen=True)
class Record:
    """A finding, and the day it is of."""

    date: str
    finding: Finding


def append(finding: Finding, results: Path = RESULTS) -> None:
    """Keep a finding, under today's date."""
    line = json.dumps({"date": f"{datetime.now(UTC):%Y-%m-%d}"} | asdict(finding))
    with results.open("a") as file:
        file.write(f"{line}\n")


def newest(results: Path = RESULTS) -> list[Record]:
    """The last finding of each kind on each database, in the order in which they were first found."""
    found: dict[tuple[str, str], Record] = {}
    for line in results.read_text().splitlines() if results.exists() else []:
        entry = json.loads(line)
        record = Record(entry.pop("date"), Finding(**entry))
        found[record.finding.what, record.finding.database] = record
    return list(found.values())


def table(records: Iterable[Record]) -> str:
    """As Markdown."""
    lines = ["| what was tried | database | how often | lost | took | date |", "|---|---|---|---:|---:|---|"]
    lines += [_row(record) for record in records]
    return "\n".join(lines)


def _row(record: Record) -> str:
    found = record.finding
    tried = f"{found.tried}; {found.detail}" if found.detail else found.tried
    cells = [found.what, found.database, tried, str(found.lost), took(found.seconds), record.date]
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def summary(losses: Iterable[str]) -> str:
    """The most frequent losses, each with how often it came; empty if there is none. Numbers in them do not count."""
    kinds = Counter(re.sub(r"\d+", "#", loss)[:200] for loss in losses)
    return "".join(f"; {count} x {kind}" for kind, count in kinds.most_common(5))


def took(seconds: float) -> str:
    """A duration as people say it."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def write_readme(records: Iterable[Record], readme: Path = README) -> None:
    """Put the table into the README."""
    fill(SECTION, table(records), readme)
