"""Settings as command line options, and errors as a sentence and an exit code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from service.errors import ServiceError
from service.settings import PREFIX, Settings

DatabaseUrl = Annotated[
    str,
    typer.Option(
        "--database-url",
        envvar=f"{PREFIX}DATABASE_URL",
        metavar="URL",
        help=str(Settings.model_fields["database_url"].description),
    ),
]
DEFAULT_DATABASE_URL: str = Settings.model_fields["database_url"].default


def fail(message: str) -> NoReturn:
    """Say what is wrong on stderr, and end with code 1."""
    typer.echo(f"dumbo: {message}", err=True)
    raise typer.Exit(1)


@contextmanager
def failing_clearly() -> Iterator[None]:
    """A known error becomes its sentence, not a traceback."""
    try:
        yield
    except ServiceError as error:
        reason = getattr(error.__cause__, "orig", None)  # what the database's driver says
        fail(f"{error.detail} ({reason})" if reason else error.detail)
    except ValidationError as error:
        lines = [f"{PREFIX}{_name(e['loc'])}: {e['msg']} (got {e['input']!r})" for e in error.errors()]
        fail("\n".join(["these settings are wrong:", *lines]))
    except (OSError, ValueError) as error:
        fail(str(error))


def _name(loc: tuple[int | str, ...]) -> str:
    return ".".join(map(str, loc)).upper()


def takes_settings(command: Callable[[Settings], None]) -> Callable[..., None]:
    """Gives a command one option for each setting, with its name, variable, default and meaning."""

    def run(**given: str | None) -> None:
        chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        with failing_clearly():
            settings = Settings(**chosen)
        command(settings)

    options = [_option(name, field) for name, field in Settings.model_fields.items()]
    signature = inspect.Signature(options)
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    default = field.get_default(call_default_factory=True)
    text = None if default is None else str(default)
    option = typer.Option(
        f"--{name.replace('_', '-')}",
        envvar=PREFIX + name.upper(),
        metavar=_metavar(field.annotation),
        help=field.description,
    )
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=text, annotation=Annotated[str | None, option])


def _metavar(annotation: Any) -> str:
    choices = getattr(annotation, "__args__", ())
    if choices and all(isinstance(choice, str) for choice in choices):
        return "|".join(choices)
    return {int: "NUMBER", float: "NUMBER", str: "TEXT"}.get(annotation, "FILE")
