"""Studies, trials, asks, model states, idempotency keys, API keys and shared secrets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _create_studies()
    _create_trials()
    _create_asks()
    _create_idempotency_keys()
    _create_keys_and_secrets()


def downgrade() -> None:
    for table in ("secrets", "api_keys", "idempotency_keys", "model_states", "asks", "trials", "studies"):
        op.drop_table(table)


def _time(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.JSON(), nullable=nullable)


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _belongs_to_study(table: str) -> tuple[sa.Column[str], sa.ForeignKeyConstraint]:
    foreign_key = sa.ForeignKeyConstraint(
        ["study_id"], ["studies.id"], name=op.f(f"fk_{table}_study_id_studies"), ondelete="CASCADE"
    )
    return sa.Column("study_id", sa.String(32), nullable=False), foreign_key


def _create_studies() -> None:
    op.create_table(
        "studies",
        sa.Column("id", sa.String(32), nullable=False),
        _text("workspace"),
        _text("name"),
        sa.Column("state", sa.String(16), nullable=False),
        _json("problem"),
        _json("metadata"),
        _time("created_at"),
        _time("updated_at"),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("ask_revision", sa.BigInteger(), nullable=False),
        _count("running"),
        _count("completed"),
        _count("failed"),
        _count("abandoned"),
        sa.Column("best_number", sa.Integer()),
        sa.Column("best_value", sa.Double()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_studies")),
        sa.UniqueConstraint("workspace", "name", name=op.f("uq_studies_workspace_name")),
        sa.CheckConstraint("state IN ('active', 'stopped')", name=op.f("ck_studies_state")),
        sa.CheckConstraint(
            "running >= 0 AND completed >= 0 AND failed >= 0 AND abandoned >= 0",
            name=op.f("ck_studies_counts"),
        ),
    )
    op.create_index(op.f("ix_studies_workspace_created_at_id"), "studies", ["workspace", "created_at", "id"])


def _create_trials() -> None:
    op.create_table(
        "trials",
        *_belongs_to_study("trials"),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        _json("parameters"),
        sa.Column("value", sa.Double()),
        _json("factor_values", nullable=True),
        sa.Column("sem", sa.Double()),
        _text("reason", nullable=True),
        sa.Column("origin", sa.String(32), nullable=False),
        sa.Column("ask_number", sa.Integer()),
        _text("client_id", nullable=True),
        _time("lease_expires_at", nullable=True),
        _time("asked_at", nullable=True),
        _time("told_at", nullable=True),
        sa.PrimaryKeyConstraint("study_id", "number", name=op.f("pk_trials")),
        sa.CheckConstraint("state IN ('running', 'completed', 'failed', 'abandoned')", name=op.f("ck_trials_state")),
        sa.CheckConstraint("(state = 'completed') = (value IS NOT NULL)", name=op.f("ck_trials_value")),
        sa.CheckConstraint("(state = 'running') = (told_at IS NULL)", name=op.f("ck_trials_told")),
    )
    op.create_index(op.f("ix_trials_study_id_state_number"), "trials", ["study_id", "state", "number"])


def _create_asks() -> None:
    op.create_table(
        "asks",
        *_belongs_to_study("asks"),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        _count("count"),
        _json("diagnostics"),
        _json("decomposition", nullable=True),
        _time("created_at"),
        sa.PrimaryKeyConstraint("study_id", "number", name=op.f("pk_asks")),
    )
    op.create_table(
        "model_states",
        *_belongs_to_study("model_states"),
        _json("state"),
        _time("updated_at"),
        sa.PrimaryKeyConstraint("study_id", name=op.f("pk_model_states")),
    )


def _create_idempotency_keys() -> None:
    op.create_table(
        "idempotency_keys",
        _text("workspace"),
        _text("key"),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        _count("status"),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        _text("location", nullable=True),
        _time("created_at"),
        sa.PrimaryKeyConstraint("workspace", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(op.f("ix_idempotency_keys_created_at"), "idempotency_keys", ["created_at"])


def _create_keys_and_secrets() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(32), nullable=False),
        _text("name"),
        _text("workspace"),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(32), nullable=False),
        _time("created_at"),
        _time("revoked_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_api_keys_secret_hash")),
        sa.CheckConstraint("role IN ('read', 'write', 'admin')", name=op.f("ck_api_keys_role")),
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_secrets")),
    )
