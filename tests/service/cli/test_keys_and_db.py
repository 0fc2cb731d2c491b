"""`dumbo keys`, `dumbo db`, `dumbo version` and `dumbo openapi`."""

from __future__ import annotations

import re

import yaml

from service.app import create_app
from service.auth.service import authenticate
from service.settings import Settings
from service.storage.database import Database
from tests.support.cli import dumbo
from tests.support.server import ROOT


def test_key_is_made_listed_and_revoked(database_url: str) -> None:
    """The printed key works until it is revoked; the list shows neither it nor its secret."""
    made = dumbo("keys", "create", "night shift", "--workspace", "plant", "--role", "read", database_url=database_url)
    token = made.stdout.strip()
    database = Database(database_url)
    principal = authenticate(database, token)
    database.close()
    assert (principal.workspace, principal.role) == ("plant", "read")
    listed = dumbo("keys", "list", database_url=database_url).stdout
    key_id = listed.split("\t")[0]
    assert "night shift" in listed
    assert "valid" in listed
    assert token.rpartition("_")[2] not in listed
    assert dumbo("keys", "revoke", key_id, database_url=database_url).code == 0
    assert "revoked" in dumbo("keys", "list", database_url=database_url).stdout


def test_unknown_key_and_bad_role_are_refused(sqlite_url: str) -> None:
    """Revoking what is not there fails with a sentence, and so does a role that does not exist."""
    done = dumbo("keys", "revoke", "nobody", database_url=sqlite_url)
    assert done.code == 1
    assert "no API key nobody" in done.stderr
    assert dumbo("keys", "create", "x", "--role", "owner", database_url=sqlite_url).code != 0


def test_schema_goes_up_twice_down_and_up(empty_database_url: str) -> None:
    """Upgrading is idempotent, and an older schema can be had back."""
    for arguments in (["upgrade"], ["upgrade"], ["check"], ["downgrade", "base"], ["upgrade"], ["current"]):
        done = dumbo("db", *arguments, database_url=empty_database_url)
        assert done.code == 0, done.stderr


def test_unknown_revision_is_said_plainly(sqlite_url: str) -> None:
    """A schema that this version does not know is refused by name."""
    done = dumbo("db", "downgrade", "no_such", database_url=sqlite_url)
    assert done.code == 1
    assert "no_such" in done.stderr


def test_version_is_the_project_s() -> None:
    """`dumbo version` says what pyproject.toml says."""
    declared = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared is not None
    assert dumbo("version").stdout.strip() == declared[1]


def test_openapi_prints_what_the_app_serves() -> None:
    """In YAML and in JSON."""
    spec = create_app(Settings()).openapi()
    assert yaml.safe_load(dumbo("openapi").stdout) == spec
    assert yaml.safe_load(dumbo("openapi", "--format", "json").stdout) == spec
