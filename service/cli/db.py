"""`dumbo db`: the schema of the database."""

from __future__ import annotations

from typing import Annotated

import typer

from service.cli.options import DEFAULT_DATABASE_URL, DatabaseUrl, failing_clearly
from service.storage import schema
from service.storage.database import Database
from service.storage.location import shown

app = typer.Typer(help="Make, upgrade and inspect the database's schema.", no_args_is_help=True)


@app.command()
def upgrade(database_url: DatabaseUrl = DEFAULT_DATABASE_URL) -> None:
    """Bring the schema up to date; data are kept. Running it twice changes nothing."""
    with failing_clearly():
        schema.upgrade(database_url)
        typer.echo(f"{shown(database_url)}: schema {schema.head()}")


@app.command()
def current(database_url: DatabaseUrl = DEFAULT_DATABASE_URL) -> None:
    """Show the schema the database has, and the one this version needs. Exit code 1 if they differ."""
    with failing_clearly():
        database = Database(database_url)
        has, needs = schema.current(database), schema.head()
        database.close()
    typer.echo(f"has {has or 'none'}, needs {needs}")
    raise typer.Exit(has != needs)


@app.command()
def downgrade(
    revision: Annotated[str, typer.Argument(help="Schema to go back to, such as 0001.")],
    database_url: DatabaseUrl = DEFAULT_DATABASE_URL,
) -> None:
    """Go back to an older schema, to run an older version. What only the newer one can hold is lost."""
    with failing_clearly():
        schema.downgrade(database_url, revision)
        typer.echo(f"{shown(database_url)}: schema {revision}")


@app.command()
def check(database_url: DatabaseUrl = DEFAULT_DATABASE_URL) -> None:
    """Compare the tables in the code with those in the database. Exit code 1 if they differ."""
    with failing_clearly():
        schema.check(database_url)
        typer.echo("the code and the database agree")
