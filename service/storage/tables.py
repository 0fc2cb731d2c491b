"""The tables. `migrations/` is the schema of record; `alembic check` holds the two together.

A study row carries what every answer needs of its trials: how many there are in each state (their sum is the
next trial number) and which is best. Trials are never deleted alone and never change once finished, so both
are kept up to date by each writer in its own transaction, under the study row's lock.

A transaction that writes to a study takes its row before any of its trials: so no two can wait for each other.

`revision` grows with every change of a study or its trials. `ask_revision` grows only when an ask adds
points: an ask computed from a snapshot is stored only if that is still what it was, so no point is proposed
in ignorance of another and no chain state is lost.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from service.storage.types import UtcDateTime

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
METADATA = MetaData(naming_convention=NAMING)


def _study_id() -> Column[str]:
    return Column("study_id", String(32), ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True)


studies = Table(
    "studies",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("problem", JSON(none_as_null=True), nullable=False),
    Column("metadata", JSON(none_as_null=True), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("ask_revision", BigInteger, nullable=False),
    Column("running", Integer, nullable=False),
    Column("completed", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("abandoned", Integer, nullable=False),
    Column("best_number", Integer),
    Column("best_value", Double),
    UniqueConstraint("workspace", "name"),
    CheckConstraint("state IN ('active', 'stopped')", name="state"),
    CheckConstraint("running >= 0 AND completed >= 0 AND failed >= 0 AND abandoned >= 0", name="counts"),
)
Index(None, studies.c.workspace, studies.c.created_at, studies.c.id)

trials = Table(
    "trials",
    METADATA,
    _study_id(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("state", String(16), nullable=False),
    Column("parameters", JSON(none_as_null=True), nullable=False),
    Column("value", Double),
    Column("factor_values", JSON(none_as_null=True)),
    Column("sem", Double),
    Column("reason", Text),
    Column("origin", String(32), nullable=False),
    Column("ask_number", Integer),
    Column("client_id", Text),
    Column("lease_expires_at", UtcDateTime),
    Column("asked_at", UtcDateTime),
    Column("told_at", UtcDateTime),
    CheckConstraint("state IN ('running', 'completed', 'failed', 'abandoned')", name="state"),
    CheckConstraint("(state = 'completed') = (value IS NOT NULL)", name="value"),
    CheckConstraint("(state = 'running') = (told_at IS NULL)", name="told"),
)
Index(None, trials.c.study_id, trials.c.state, trials.c.number)

# One row for each ask that computed points, keyed by the number of its first trial.
asks = Table(
    "asks",
    METADATA,
    _study_id(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("count", Integer, nullable=False),
    Column("diagnostics", JSON(none_as_null=True), nullable=False),
    Column("decomposition", JSON(none_as_null=True)),
    Column("created_at", UtcDateTime, nullable=False),
)

model_states = Table(
    "model_states",
    METADATA,
    _study_id(),
    Column("state", JSON(none_as_null=True), nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

idempotency_keys = Table(
    "idempotency_keys",
    METADATA,
    Column("workspace", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("status", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("location", Text),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "created_at"),
)

api_keys = Table(
    "api_keys",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("name", Text, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("role", String(16), nullable=False),
    Column("secret_hash", LargeBinary(32), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
    CheckConstraint("role IN ('read', 'write', 'admin')", name="role"),
)

# Random secrets that every replica must share, such as the one that signs cursors.
secrets = Table(
    "secrets",
    METADATA,
    Column("name", String(32), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
