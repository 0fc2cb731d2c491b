"""Kill -9 in the middle of a migration: the schema is the old one or the new one, never something in between.

Up and down again, each time in a process of its own that is killed at a random moment, and then brought to its end.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable, Iterator

from service.errors import StorageUnavailable
from service.storage import schema
from service.storage.database import Database
from tests.chaos.client import patiently
from tests.chaos.report import Finding, summary
from tests.chaos.site import home

KILLS = 100  # in each direction, on each database, at scale 1
# Forked, not started anew: a migration takes a few hundredths of a second, loading the program a hundred times that.
_context = multiprocessing.get_context("fork")


def killed(migrate: Callable[[], None], after: float) -> bool:
    """Run the migration in a process and kill it so many seconds later; whether that was before its end."""
    process = _context.Process(target=migrate)
    process.start()
    process.join(after)
    process.kill()
    process.join()
    return process.exitcode != 0


def version(url: str) -> str | None:
    """What the database has, asked by someone who has just arrived."""
    database = Database(url)
    try:
        return patiently(lambda: schema.current(database), StorageUnavailable)
    finally:
        database.close()


def once(url: str, rng: random.Random, seconds: float) -> tuple[int, list[str]]:
    """Kill a migration up, finish it, then kill one down, finish it; how many kills came in time, what was wrong."""
    losses, kills = [], 0
    steps: list[tuple[Callable[[], None], str | None]] = [
        (lambda: schema.upgrade(url), schema.head()),
        (lambda: schema.downgrade(url, "base"), None),
    ]
    for migrate, goal in steps:
        before = version(url)
        kills += killed(migrate, rng.uniform(0, seconds))
        found = version(url)
        if found not in (before, goal):
            losses.append(f"killed between {before} and {goal}, the schema is {found}")
        if found is not None:
            losses += differences(url)
        migrate()
        if version(url) != goal:
            losses.append(f"after a kill, the migration to {goal} ends at {version(url)}")
    return kills, losses


def differences(url: str) -> list[str]:
    """What the tables lack of the version that the database says it has."""
    try:
        schema.check(url)
    except schema.SchemaError as error:
        return [f"half-migrated: {error}"]
    return []


def findings(scale: float) -> Iterator[Finding]:
    rng = random.Random(7)
    for kind in ("sqlite", "postgres"):
        started = time.monotonic()
        goal, kills, losses = max(1, round(scale * 2 * KILLS)), 0, list[str]()
        with home(kind) as where:
            begun = time.monotonic()
            schema.downgrade(where.url, "base")
            seconds = time.monotonic() - begun  # about what one migration takes here
            while kills < goal:
                more, wrong = once(where.url, rng, seconds)
                kills, losses = kills + more, losses + wrong
        detail = "up and down" + summary(losses)
        tried = f"{kills} kills"
        yield Finding("kill -9 of a migration", kind, tried, len(losses), time.monotonic() - started, detail)
