"""Ours with constants of the core changed, to see what each is worth: `dumbo@hope.CLEAR=0@sums.FRESH_EVERY=1000`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

Change = tuple[str, str, Any]  # module of the core, constant, value


def parsed(text: str) -> Change:
    """`module.NAME=value` with a Python literal; ValueError says what is wrong."""
    place, _, literal = text.partition("=")
    module, _, name = place.partition(".")
    try:
        if not hasattr(import_module(f"core.{module}"), name):
            raise ValueError(f"core.{module} has no {name!r}")
        return module, name, ast.literal_eval(literal)
    except (ModuleNotFoundError, SyntaxError, ValueError) as error:
        raise ValueError(f"expected a change like hope.CLEAR=0, got {text!r}: {error}") from error


@contextmanager
def in_force(changes: tuple[Change, ...]) -> Iterator[None]:
    """Within, every module of the core that has the constant, its own or imported, sees the new value.

    So does one that has another constant of the same name and value: they cannot be told apart.
    """
    undo = []
    try:
        for module, name, value in changes:
            old = getattr(import_module(f"core.{module}"), name)
            for holder in [m for key, m in sys.modules.items() if key.split(".")[0] == "core"]:
                if getattr(holder, name, None) is old:
                    undo.append((holder, name, old))
                    setattr(holder, name, value)
        yield
    finally:
        for holder, name, old in reversed(undo):
            setattr(holder, name, old)
