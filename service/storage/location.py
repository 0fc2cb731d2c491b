"""Where the data lie, in words that may be shown."""

from __future__ import annotations

from pathlib import Path

from service.storage.database import normalized


def shown(url: str) -> str:
    """An SQLite file's full path, or the URL of a Postgres database without its password."""
    parsed = normalized(url)
    if parsed.get_backend_name() == "sqlite":
        return str(Path(parsed.database or "").resolve())
    return parsed.set(drivername="postgresql").render_as_string(hide_password=True)
