"""The measurements as rows: what was measured, how much, the target, and whether it was reached."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass

from benchmarks.load.scenarios import Beside, Crowd, Sample


@dataclass(frozen=True)
class Row:
    """One line of the table. `reached` is None where there is no target."""

    database: str
    what: str
    result: str
    target: str = ""
    reached: bool | None = None


def tell_rows(database: str, bare: Sample, one_study: Sample, own_study: Sample) -> list[Row]:
    rows = [Row(database, "one-row transaction, bare FastAPI", _speed(bare))]
    for name, sample in (("one study", one_study), ("16 studies", own_study)):
        share = sample.rate / bare.rate
        result = f"{_speed(sample)} ({share:.0%} of bare)"
        rows.append(Row(database, f"tell, 16 clients, {name}", result, "60 % of bare", share >= 0.6))
    return rows


def _speed(sample: Sample) -> str:
    return f"{sample.rate:.0f}/s, p50 {sample.percentile(50):.1f} ms, p99 {sample.percentile(99):.1f} ms"


def beside_rows(database: str, asks: int, beside: Beside) -> list[Row]:
    rows = []
    for name, (idle, busy) in (("tell", beside.tells), ("reads", beside.reads)):
        times = busy.percentile(99) / idle.percentile(99)
        result = f"p99 {busy.percentile(99):.1f} ms, idle {idle.percentile(99):.1f} ms ({times:.1f} times)"
        rows.append(Row(database, f"{name} while {asks} asks compute", result, "5 times idle", times <= 5))
    heavy = f"{len(beside.asks.seconds)}, p50 {beside.asks.percentile(50) / 1000:.1f} s"
    rows.append(Row(database, f"asks computed meanwhile, {asks} at a time", heavy))
    return rows


def crowd_rows(database: str, n_clients: int, crowd: Crowd) -> list[Row]:
    asked = f"ask p50 {crowd.asks.percentile(50):.0f} ms, p99 {crowd.asks.percentile(99):.0f} ms"
    told = f"tell p50 {crowd.tells.percentile(50):.1f} ms, p99 {crowd.tells.percentile(99):.1f} ms"
    result = f"{crowd.trials} trials in {crowd.asks.elapsed:.0f} s, {len(crowd.lost)} lost; {asked}; {told}"
    return [Row(database, f"{n_clients} clients ask and tell on one study", result, "none lost", not crowd.lost)]


def table(rows: list[Row]) -> str:
    """As Markdown."""
    lines = ["| database | what | measured | target | |", "|---|---|---|---|---|"]
    marks = {True: "reached", False: "missed", None: ""}
    lines += [f"| {r.database} | {r.what} | {r.result} | {r.target} | {marks[r.reached]} |" for r in rows]
    return "\n".join([*lines, "", f"{machine()}."])


def machine() -> str:
    return f"Client, server and database share {os.cpu_count()} cores; Python {platform.python_version()}"


def as_json(rows: list[Row], lost: list[str]) -> dict[str, object]:
    return {"machine": machine(), "rows": [asdict(row) for row in rows], "lost": lost}
