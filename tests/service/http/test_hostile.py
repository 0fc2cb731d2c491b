"""Requests made to harm: traps for parsers, smuggled headers, bombs, and names that deceive the eye.

A trap here is work that grows with the square of a length. With the trap open these tests would not end.
"""

from __future__ import annotations

import gzip
import unicodedata
import zlib

import pytest

from service.errors import Invalid
from service.logs import mask_secrets
from service.names import check_name
from tests.support.app import SPACE, Api

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("origin", ["http://[", "http://]", "//[::1", "\xff\xfe", "http://\x7f", "://", "a" * 5000])
def test_an_origin_that_is_no_address_is_refused(sqlite_api: Api, origin: str) -> None:
    """Half an IPv6 address is another site's, not our fault."""
    answer = sqlite_api.get("/v1/studies", headers={b"origin": origin.encode("latin-1")})
    assert (answer.status_code, answer.json()["code"]) == (403, "cross_origin")


@pytest.mark.parametrize("text", ["a" * 3_000_000 + "dumbo_", "a://" * 500_000, "bearer " * 300_000, "://" * 500_000])
def test_masking_secrets_is_no_trap(text: str) -> None:
    """A path as long as one likes is searched for secrets in time that grows with its length alone."""
    assert mask_secrets(None, "", {"path": text})


@pytest.mark.parametrize("letters", ["a" + "\u0315" * 1_000_000 + "\u0300" * 1_000_000, "\u1100\u1161" * 1_000_000])
def test_normalizing_a_name_is_no_trap(sqlite_api: Api, letters: str) -> None:
    """A name of a million accents in the wrong order is refused for its length, before anyone sorts them."""
    spec = {"name": letters, "direction": "minimize", "parameters": SPACE}
    answer = sqlite_api.post("/v1/studies", json=spec)
    assert answer.status_code == 422
    assert "characters, got" in answer.json()["detail"]


def test_a_name_may_be_typed_letter_by_letter() -> None:
    """One that is short enough once composed is taken, however many pieces it came in."""
    composed = "\u1f82" * 100
    assert check_name(unicodedata.normalize("NFD", composed), "name") == composed


@pytest.mark.parametrize("blank", ["\u3164", "\u2800", "\u115f", "\uffa0", "\u034f", "\u200b", "\u2060", "\ufeff"])
def test_names_hold_nothing_that_cannot_be_seen(blank: str) -> None:
    """Two names that look the same, one with a blank letter, would pass for each other."""
    with pytest.raises(Invalid, match="cannot be seen"):
        check_name(f"press{blank}line", "name")


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u3000"])
def test_names_hold_no_other_space_than_the_plain_one(space: str) -> None:
    """A wide or unbreakable space looks like a plain one."""
    with pytest.raises(Invalid, match="plain space"):
        check_name(f"press{space}line", "name")


def test_names_that_look_alike_are_two_studies(api: Api) -> None:
    """A Latin, a Cyrillic and a wide a make different names: each reaches its own study and never the other's."""
    ids = {name: api.study(name=name).rpartition("/")[2] for name in ("m\u0061p", "m\u0430p", "\uff4d\uff41\uff50")}
    assert len(set(ids.values())) == 3
    for name, study_id in ids.items():
        assert api.get(f"/v1/studies/{name}").json()["id"] == study_id
        api.delete(f"/v1/studies/{study_id}").raise_for_status()


def test_the_same_name_typed_differently_is_taken(api: Api) -> None:
    """An accent as a letter of its own makes no second study."""
    study = api.study(name="caf\u00e9")
    spec = {"name": "cafe\u0301", "direction": "minimize", "parameters": SPACE}
    assert api.post("/v1/studies", json=spec).json()["code"] == "name_taken"
    api.delete(study).raise_for_status()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip"])
def test_a_compressed_body_is_refused_unopened(sqlite_api: Api, encoding: str) -> None:
    """What would fill the memory once inflated is 415: nothing is ever inflated."""
    bomb = gzip.compress(bytes(64 * 2**20)) if "gzip" in encoding else zlib.compress(bytes(64 * 2**20))
    answer = sqlite_api.post("/v1/studies", content=bomb, headers=JSON | {"content-encoding": encoding})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert "compressed" in answer.json()["detail"]


@pytest.mark.parametrize("name", ["x\r\nSet-Cookie: a=b", "x\nLocation: //evil", "x\u2028y", "x\x00y", "x\x85y"])
def test_a_name_cannot_smuggle_headers(api: Api, name: str) -> None:
    """Line ends in a name are refused; what follows a creation names the id alone."""
    spec = {"name": name, "direction": "minimize", "parameters": SPACE}
    answer = api.post("/v1/studies", json=spec)
    assert answer.status_code == 422
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("header", ["x-request-id", "idempotency-key", "if-none-match", "authorization", "origin"])
def test_what_a_header_holds_comes_back_in_no_other(sqlite_api: Api, header: str) -> None:
    """Bytes that some servers take for line ends leave no trace among the answer's headers."""
    for value in (b"a\xe5\x98\x8a\xe5\x98\x8dx-evil: 1", b"a\x85x-evil: 1", b"%0d%0ax-evil: 1"):
        answer = sqlite_api.get("/v1/studies", headers={header.encode(): value})
        assert answer.status_code < 500
        assert not any("evil" in name + text for name, text in answer.headers.items())


def test_a_wrong_method_is_told_every_right_one(sqlite_api: Api) -> None:
    """405 lists what the path takes, all of it."""
    allowed = {"/v1/studies": "GET, POST", "/v1/studies/x": "DELETE, GET, PATCH", "/v1/keys": "GET, POST"}
    for path, methods in allowed.items():
        assert sqlite_api.put(path, json={}).headers["allow"] == methods
