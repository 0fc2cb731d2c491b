"""`dumbo export` and `dumbo import`: studies as lines of JSON."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from service.cli.options import DEFAULT_DATABASE_URL, DatabaseUrl, failing_clearly
from service.storage.database import Database
from service.storage.transfer import export_studies, import_studies


def export(
    study: Annotated[str | None, typer.Argument(help="The study's id or name; all studies if left out.")] = None,
    workspace: Annotated[str | None, typer.Option(help="Only studies of this workspace.")] = None,
    output: Annotated[typer.FileBinaryWrite, typer.Option(help="File to write; - is stdout.")] = "-",  # type: ignore[assignment]
    database_url: DatabaseUrl = DEFAULT_DATABASE_URL,
) -> None:
    """Write studies as JSON lines: spec, trials, asks and model state, exactly as stored.

    API keys are not exported. `dumbo import` restores the lines on SQLite or Postgres.
    """
    with failing_clearly():
        database = Database(database_url)
        try:
            for line in export_studies(database, study, workspace):
                output.write(line)
        finally:
            database.close()


def import_(
    file: Annotated[typer.FileBinaryRead, typer.Argument(help="What `dumbo export` wrote; - is stdin.")],
    database_url: DatabaseUrl = DEFAULT_DATABASE_URL,
) -> None:
    """Restore exported studies: all of them, or on any error none.

    A study whose id or name exists already is an error. The schema must be there (`dumbo db upgrade`).
    """
    with failing_clearly():
        database = Database(database_url)
        try:
            count = import_studies(database, file)
        finally:
            database.close()
    typer.echo(f"imported {count} {'study' if count == 1 else 'studies'}", file=sys.stderr)
