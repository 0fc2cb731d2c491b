"""Whether the database takes writes, found out by writing: a little, committed, at most once a second.

That it can be read says nothing: a full disk, a file made read-only and a Postgres standby all answer reads.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from sqlalchemy import text

from service.errors import StorageUnavailable
from service.storage.database import Database

INTERVAL = 1.0  # seconds; whoever may ask whether we are ready must not be able to keep the writer busy
ROOM = 4 * 2**20  # bytes that the largest tell may need; a small write can still fit where that does not
REWRITE = "UPDATE alembic_version SET version_num = version_num"
# A migration holds the row, and while it does so there is no need to wait: somebody writes.
UNLESS_HELD = " WHERE version_num IN (SELECT version_num FROM alembic_version FOR UPDATE SKIP LOCKED)"
WRITES = {"sqlite": text(REWRITE), "postgresql": text(REWRITE + UNLESS_HELD)}


class WriteProbe:
    """Writes on behalf of all who ask at about the same time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._next = 0.0
        self._fault: str | None = None

    def check(self) -> None:
        """`StorageUnavailable` if a write would fail now, or failed within the last second."""
        with self._lock:
            if time.monotonic() >= self._next:
                self._fault = self._find_fault()
                self._next = time.monotonic() + INTERVAL
            if self._fault is not None:
                raise StorageUnavailable(self._fault)

    def _find_fault(self) -> str | None:
        if self._database.dialect == "sqlite" and _free_bytes(self._database) < ROOM:
            return "the disk with the database is full"
        try:
            with self._database.write() as tx:
                tx.execute(WRITES[self._database.dialect])
        except StorageUnavailable:
            return "the database takes no writes"
        return None


def _free_bytes(database: Database) -> int:
    disk = os.statvfs(Path(database.url.database or "").resolve().parent)
    return disk.f_bavail * disk.f_frsize
