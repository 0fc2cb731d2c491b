"""Making, listing, revoking and checking API keys."""

from __future__ import annotations

from service.auth import keys
from service.auth.keys import Key, Principal, Role
from service.auth.repository import KeyRepository
from service.errors import Invalid, KeyNotFound, Unauthorized
from service.names import check_name
from service.storage.database import Database


def create_key(database: Database, name: str, workspace: str, role: Role) -> tuple[Key, str]:
    """A new key and its token, which is shown now and never again."""
    if role not in keys.ROLES:
        raise Invalid.at("body", "role", msg=f"expected one of {', '.join(keys.ROLES)}")
    name, workspace = check_name(name, "body", "name"), check_name(workspace, "body", "workspace")
    key_id = keys.new_id()
    token = keys.new_token(key_id)
    with database.write() as tx:
        return KeyRepository(tx).add(key_id, name, workspace, role, keys.digest(token)), token


def list_keys(database: Database, workspace: str | None = None) -> list[Key]:
    """All keys, or those of one workspace, revoked ones included."""
    with database.read() as tx:
        return KeyRepository(tx).all(workspace)


def revoke_key(database: Database, key_id: str, workspace: str | None = None) -> None:
    """From the next request on, the key is worth nothing."""
    with database.write() as tx:
        if not KeyRepository(tx).revoke(key_id, workspace):
            raise KeyNotFound(f"there is no API key {key_id}")


def any_valid_key(database: Database) -> bool:
    with database.read() as tx:
        return KeyRepository(tx).count_valid() > 0


def authenticate(database: Database, token: str) -> Principal:
    """Whom the token speaks for, or `Unauthorized`; the answer does not say what was wrong with it."""
    key_id = keys.id_of(token)
    if key_id is not None:
        with database.read() as tx:
            key = KeyRepository(tx).find(key_id)
        if key is not None and key.admits(token):
            return Principal(key.workspace, key.role)
    raise Unauthorized("the API key is unknown or revoked")
