"""Runs migrations on the connection it is given, or on the database the settings name (`alembic upgrade
head`).

Foreign keys are off meanwhile on SQLite: a batch alter of a parent table drops and remakes it, and with them
on, ON DELETE CASCADE would silently take every child row along. They are checked before the transaction
commits. Two processes that migrate at once follow each other: by the write lock on SQLite, by an advisory
lock on Postgres.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context

from service.settings import Settings
from service.storage.database import migration_engine
from service.storage.tables import METADATA

LOCK = 0x64756D626F  # "dumbo"


def run(connection: sa.Connection) -> None:
    on_sqlite = connection.dialect.name == "sqlite"
    context.configure(
        connection=connection,
        target_metadata=METADATA,
        render_as_batch=on_sqlite,
        compare_type=True,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        if not on_sqlite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
        context.run_migrations()
        if on_sqlite and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").all()):
            raise RuntimeError(f"the migration broke {len(broken)} references; nothing was changed")


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    engine = migration_engine(Settings().database_url)
    with engine.connect() as connection:
        run(connection)
    engine.dispose()
