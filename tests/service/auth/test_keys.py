"""Keys: random, hashed, and checked as a whole."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from service.auth import keys
from service.auth.service import any_valid_key, authenticate, create_key, list_keys, revoke_key
from service.errors import Invalid, KeyNotFound, Unauthorized
from service.storage.database import Database
from service.storage.tables import api_keys


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Connections to an empty database."""
    database = Database(database_url)
    yield database
    database.close()


def test_the_secret_is_stored_as_its_hash_only(database: Database) -> None:
    """Nothing in the database is or contains the token or its secret."""
    _, token = create_key(database, "me", "default", "write")
    with database.read() as tx:
        [row] = tx.execute(sa.select(api_keys)).all()
    assert row.secret_hash == hashlib.sha256(token.encode()).digest()
    assert token.rsplit("_", 1)[1] not in str(row)


def test_a_key_speaks_for_its_workspace_and_role(database: Database) -> None:
    """The token gives the principal it was made for, and no changed token does."""
    _, token = create_key(database, "me", "team", "read")
    assert authenticate(database, token) == keys.Principal("team", "read")
    for wrong in (token[:-1], token + "A", token.replace("dumbo_", "Dumbo_"), token.swapcase(), "dumbo__", ""):
        with pytest.raises(Unauthorized):
            authenticate(database, wrong)


def test_a_secret_does_not_fit_another_id(database: Database) -> None:
    """Id and secret are one: mixing two valid keys gives none."""
    (first, _), (_, token) = create_key(database, "a", "w", "read"), create_key(database, "b", "w", "admin")
    with pytest.raises(Unauthorized):
        authenticate(database, f"dumbo_{first.id}_{token.split('_', 2)[2]}")


def test_revoking_twice_keeps_the_first_time(database: Database) -> None:
    """A revoked key stays listed with the time of its revocation."""
    key, token = create_key(database, "me", "default", "admin")
    assert any_valid_key(database)
    revoke_key(database, key.id)
    [first] = list_keys(database)
    revoke_key(database, key.id)
    assert list_keys(database) == [first]
    assert first.revoked_at is not None
    assert not any_valid_key(database)
    with pytest.raises(Unauthorized):
        authenticate(database, token)


def test_unknown_keys_and_bad_names_are_refused(database: Database) -> None:
    """A key that is not there cannot be revoked, and one must have a visible name and a role."""
    with pytest.raises(KeyNotFound):
        revoke_key(database, "aaaa")
    for name, workspace in (("", "w"), ("a\nb", "w"), ("a", " w")):
        with pytest.raises(Invalid):
            create_key(database, name, workspace, "read")


def test_tokens_hold_256_random_bits() -> None:
    """The secret is 32 bytes, and no two are alike."""
    tokens = {keys.new_token("id").split("_", 2)[2] for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(secret) == 43 for secret in tokens)


@pytest.mark.parametrize("cut", [0, 10, 42, None])
def test_a_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch, cut: int | None) -> None:
    """However much of a token is right, whole digests meet in a comparison that takes no notice."""
    compared: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest
    monkeypatch.setattr(keys.hmac, "compare_digest", lambda a, b: compared.append((a, b)) or compare(a, b))
    token = keys.new_token(keys.new_id())
    given = token if cut is None else token[:cut] + "!" * (len(token) - cut)
    key = keys.Key("id", "name", "default", "read", keys.digest(token), datetime.now(UTC), None)
    assert key.admits(given) == (cut is None)
    assert compared == [(keys.digest(token), keys.digest(given))]
