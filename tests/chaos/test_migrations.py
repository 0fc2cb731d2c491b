"""A migration that is killed, in small."""

from __future__ import annotations

import random

from service.storage import schema
from service.storage.database import Database
from tests.chaos.migrations import differences, once, version


def test_a_killed_migration_leaves_the_old_schema_or_the_new(empty_database_url: str) -> None:
    """Wherever it was hit, what is there is whole, and running it again finishes it."""
    kills = 0
    while not kills:
        kills, losses = once(empty_database_url, random.Random(1), seconds=0.05)
        assert losses == []


def test_half_a_migration_is_noticed(empty_database_url: str) -> None:
    """A schema that lacks a table of its version differs."""
    schema.upgrade(empty_database_url)
    assert version(empty_database_url) == schema.head()
    assert differences(empty_database_url) == []
    database = Database(empty_database_url)
    with database.write() as tx:
        tx.exec_driver_sql("DROP TABLE asks")
    database.close()
    [found] = differences(empty_database_url)
    assert "half-migrated" in found
