"""`dumbo keys`: who may call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from service.auth import service
from service.auth.keys import DEFAULT_WORKSPACE, Role
from service.cli.options import DEFAULT_DATABASE_URL, DatabaseUrl, failing_clearly
from service.storage.database import Database

app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)


@contextmanager
def _database(url: str) -> Iterator[Database]:
    with failing_clearly():
        database = Database(url)
        try:
            yield database
        finally:
            database.close()


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Whom or what the key is for.")],
    workspace: Annotated[
        str, typer.Option(help="Studies of one workspace are invisible to the keys of another.")
    ] = DEFAULT_WORKSPACE,
    role: Annotated[Role, typer.Option(help="read: look; write: also ask and tell; admin: all.")] = "write",
    database_url: DatabaseUrl = DEFAULT_DATABASE_URL,
) -> None:
    """Make a key and print it. It is shown this once; the database keeps only its hash.

    The key alone goes to stdout, so that KEY=$(dumbo keys create me) works.
    """
    with _database(database_url) as database:
        key, token = service.create_key(database, name, workspace, role)
    typer.echo(f"key {key.id} ({key.role}, workspace {key.workspace}); keep it, it is not shown again", err=True)
    typer.echo(token)


@app.command(name="list")
def list_(database_url: DatabaseUrl = DEFAULT_DATABASE_URL) -> None:
    """List the keys: id, role, workspace, when made, whether revoked, and name."""
    with _database(database_url) as database:
        keys = service.list_keys(database)
    for key in keys:
        revoked = f"revoked {key.revoked_at:%Y-%m-%d}" if key.revoked_at else "valid"
        columns = [key.id, key.role, key.workspace, f"{key.created_at:%Y-%m-%d}", revoked, key.name]
        typer.echo("\t".join(columns))


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id that `dumbo keys list` shows.")],
    database_url: DatabaseUrl = DEFAULT_DATABASE_URL,
) -> None:
    """Revoke a key: from the next request on it is worth nothing."""
    with _database(database_url) as database:
        service.revoke_key(database, key_id)
    typer.echo(f"key {key_id} is revoked")
