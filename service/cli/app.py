"""All commands, put together."""

from __future__ import annotations

from typing import Annotated, Literal

import orjson
import typer

from service import logs
from service.cli import db, keys
from service.cli.options import failing_clearly
from service.cli.serve import serve
from service.cli.transfer import export, import_
from service.cli.version import version as installed_version
from service.settings import Settings

app = typer.Typer(
    name="dumbo",
    help="Bayesian optimization as an ask/tell service over HTTP. Begin with: dumbo serve",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    callback=logs.quieten_libraries,
)
app.command()(serve)
app.add_typer(db.app, name="db")
app.add_typer(keys.app, name="keys")
app.command()(export)
app.command(name="import")(import_)


@app.command()
def openapi(
    style: Annotated[Literal["yaml", "json"], typer.Option("--format", help="How to write it.")] = "yaml",
) -> None:
    """Print the OpenAPI description of the API."""
    from service.app import create_app

    with failing_clearly():
        spec = create_app(Settings()).openapi()
    if style == "json":
        typer.echo(orjson.dumps(spec, option=orjson.OPT_INDENT_2))
    else:
        import yaml

        typer.echo(yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, width=110), nl=False)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(installed_version())
