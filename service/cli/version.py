"""The version of the installed project."""

from __future__ import annotations

from importlib import metadata

PROJECT = "dumbo-service"


def version() -> str:
    return metadata.version(PROJECT)
