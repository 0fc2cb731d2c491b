"""`dumbo serve`: check that serving is safe and possible, say where, and serve."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from service import logs
from service.auth.service import any_valid_key, create_key
from service.cli.options import fail, failing_clearly, takes_settings
from service.cli.version import version
from service.settings import PREFIX, Settings, unknown_variables
from service.storage import schema
from service.storage.database import Database
from service.storage.location import shown

EXAMPLE = (
    '{"name": "first", "direction": "minimize", "parameters": [{"name": "x", "type": "float", "bounds": [-5, 5]}]}'
)


@takes_settings
def serve(settings: Settings) -> None:
    """Serve the API and the dashboard.

    Every option can be set in the environment as well, under the name shown beside it. An SQLite file is made
    and its schema kept up to date by itself; for Postgres run `dumbo db upgrade` first.
    """
    from service import server
    from service.app import create_app

    logs.configure(settings.log_level, settings.log_format)
    for name in unknown_variables():
        typer.echo(f"dumbo: there is no setting {name}; `dumbo serve --help` lists them", err=True)
    with failing_clearly():
        keys = _prepare(settings)
        listener = server.listen(settings.host, settings.port)
    with listener:
        app = create_app(settings)
        _announce(server.address(listener), shown(settings.database_url), keys, settings.auth_required)
        server.run(app, listener, settings)


def _prepare(settings: Settings) -> str:
    """Bring the database into a state to serve from; a sentence about keys."""
    database = Database(settings.database_url)
    try:
        _prepare_schema(settings.database_url, database)
        return _prepare_keys(settings, database)
    finally:
        database.close()


def _prepare_schema(url: str, database: Database) -> None:
    if database.dialect == "sqlite":
        try:
            schema.upgrade(url)
        except schema.SchemaError as error:
            fail(f"the schema cannot be brought up to date (was it made by a newer version?): {error}")
        return
    current, needed = schema.current(database), schema.head()
    if current != needed:
        has = f"has schema {current}" if current else "has no schema yet"
        fail(f"the database {has}; this version needs {needed}. Run: dumbo db upgrade")


def _prepare_keys(settings: Settings, database: Database) -> str:
    """A sentence about keys; refuses to serve other machines without any."""
    if not settings.auth_required:
        return (
            "not asked for" if settings.on_loopback else f"NOT ASKED FOR: anyone who reaches {settings.host} may call"
        )
    if any_valid_key(database):
        return "asked for"
    create = "dumbo keys create NAME --role admin"
    if settings.first_key_file is not None:
        _write_first_key(database, settings.first_key_file)
        return f"asked for; the first admin key was written to {settings.first_key_file}"
    if settings.on_loopback:
        return f"asked for, and there is none yet. Run: {create}"
    fail(
        f"{settings.host} can be reached from other machines, and there is no API key. Run: {create}\n"
        f"Or say that anyone may call: {PREFIX}AUTH=off"
    )


def _write_first_key(database: Database, path: Path) -> None:
    # Opened first: a key whose file cannot be written must not exist.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        os.fchmod(file.fileno(), 0o600)  # also if the file was there before
        _, token = create_key(database, "first", "default", "admin")
        file.write(f"{token}\n")


def _announce(url: str, data: str, keys: str, key_required: bool) -> None:
    curl = "curl -s -H 'Authorization: Bearer KEY'" if key_required else "curl -s"
    typer.echo(
        f"DuMBO {version()} listens on {url}\n"
        f"  dashboard  {url}/\n"
        f"  API        {url}/v1/studies, described at {url}/docs\n"
        f"  data       {data}\n"
        f"  API keys   {keys}\n"
        f"Try:\n"
        f"  {curl} {url}/v1/studies -H 'Content-Type: application/json' \\\n"
        f"    -d '{EXAMPLE}'\n"
        f"  {curl} -X POST {url}/v1/studies/first/ask"
    )
