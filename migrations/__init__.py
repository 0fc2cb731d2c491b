"""The schema of record: one alembic revision per change, up and down, on SQLite and Postgres."""
