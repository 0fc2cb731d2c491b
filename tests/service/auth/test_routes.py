"""Every operation with no key, a wrong key, a revoked key, a key of each role, and another workspace's key.

The matrix is made from `openapi.yaml`: what an operation takes, and an example of it, stand there. Who may call it
stands there too, and once more here: an operation without a rule fails, and so does a rule that changes by accident.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import yaml
from fastapi.routing import APIRoute

from service.app import create_app
from service.auth.keys import ROLES, Role
from service.auth.service import create_key, revoke_key
from service.openapi import METHODS
from service.settings import Settings
from service.storage.database import Database
from tests.support.app import Api, running_app
from tests.support.server import ROOT

# The least role each operation needs; None is open to everyone.
RULES: dict[str, Role | None] = {
    "POST /v1/studies": "write",
    "GET /v1/studies": "read",
    "GET /v1/studies/{study}": "read",
    "PATCH /v1/studies/{study}": "write",
    "DELETE /v1/studies/{study}": "write",
    "POST /v1/studies/{study}/ask": "write",
    "POST /v1/studies/{study}/tell": "write",
    "GET /v1/studies/{study}/trials": "read",
    "GET /v1/studies/{study}/trials/{number}": "read",
    "GET /v1/studies/{study}/trials/{number}/diagnostics": "read",
    "GET /v1/studies/{study}/trials.csv": "read",
    "GET /v1/studies/{study}/series": "read",
    "GET /v1/studies/{study}/best": "read",
    "GET /v1/studies/{study}/decomposition": "read",
    "GET /v1/studies/{study}/decomposition/history": "read",
    "POST /v1/studies/{study}/predict": "read",
    "POST /v1/keys": "admin",
    "GET /v1/keys": "admin",
    "DELETE /v1/keys/{key}": "admin",
    "GET /healthz": None,
    "GET /readyz": None,
    "GET /metrics": None,
}
# Pages, which the document does not list: open to everyone, and the same for everyone.
PAGES = {"GET /", "GET /openapi.json", "GET /docs", "GET /docs/{file}", "GET /dashboard/{path:path}"}
GUARDED = [operation for operation, role in RULES.items() if role is not None]
DOCUMENT: dict[str, Any] = yaml.safe_load((ROOT / "openapi.yaml").read_text())
OPERATIONS: dict[str, dict[str, Any]] = {
    f"{method.upper()} {path}": operations[method]
    for path, operations in DOCUMENT["paths"].items()
    for method in METHODS & operations.keys()
}
# These change what the others need, so they come last.
LAST = ["PATCH /v1/studies/{study}", "DELETE /v1/studies/{study}"]


def example(operation: str) -> Any:
    """The body that the document gives as an example; None for an operation that needs none."""
    body = OPERATIONS[operation].get("requestBody")
    return None if body is None else _first_example(body["content"]["application/json"]["schema"])


def _first_example(schema: dict[str, Any]) -> Any:
    if reference := schema.get("$ref"):
        return _first_example(DOCUMENT["components"]["schemas"][reference.rpartition("/")[2]])
    if examples := schema.get("examples"):
        return examples[0]
    return _first_example((schema.get("oneOf") or schema["anyOf"])[0])


@dataclass(frozen=True)
class Guarded:
    """An application that asks for keys, and tokens for it."""

    api: Api
    tokens: dict[str, str]
    key_id: str

    def call(self, operation: str, token: str | None) -> httpx.Response:
        method, path = operation.split(" ")
        path = path.replace("{path:path}", "app.js").format(study="guarded", number=0, file="docs.js", key=self.key_id)
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        body = example(operation) if operation in OPERATIONS else None
        return self.api.request(method, path, headers=headers, **({} if body is None else {"json": body}))


@pytest.fixture
def guarded(sqlite_url: str) -> Iterator[Guarded]:
    """With a study in the workspace `ours`, and keys of each role, revoked, and of the workspace `theirs`."""
    database = Database(sqlite_url)
    tokens = {role: create_key(database, role, "ours", role)[1] for role in ROLES}
    tokens["theirs"] = create_key(database, "theirs", "theirs", "admin")[1]
    spare, _ = create_key(database, "spare", "ours", "read")
    revoked, tokens["revoked"] = create_key(database, "old", "ours", "admin")
    revoke_key(database, revoked.id)
    tokens["unknown"] = tokens["admin"][:-4] + "AAAA"
    tokens["unheard of"] = "dumbo_aaaaaaaaaaaaaaaa_" + "A" * 43
    tokens["another service's"] = "sk-live-123"
    database.close()
    with running_app(sqlite_url, auth="on") as api:
        headers = {"authorization": f"Bearer {tokens['write']}"}
        spec = example("POST /v1/studies") | {"name": "guarded"}
        api.post("/v1/studies", json=spec, headers=headers).raise_for_status()
        api.post("/v1/studies/guarded/ask", json={"count": 4}, headers=headers).raise_for_status()
        api.post("/v1/studies/guarded/tell", json={"trial": 0, "value": 1}, headers=headers).raise_for_status()
        yield Guarded(api, tokens, spare.id)


def test_every_operation_has_a_rule() -> None:
    """An operation that is added without saying here who may call it fails, and so does a rule for none."""
    assert OPERATIONS.keys() == RULES.keys()


@pytest.mark.parametrize("operation", RULES)
def test_the_document_says_who_may_call(operation: str) -> None:
    """It names the role of each operation that needs one, with the answers for those who have it not."""
    documented = OPERATIONS[operation]
    assert documented.get("x-required-role") == RULES[operation]
    assert ("security" in documented) == (RULES[operation] is not None)
    assert ({"401", "403"} <= documented["responses"].keys()) == (RULES[operation] is not None)


def test_every_route_is_an_operation_or_a_page() -> None:
    """What the application serves is what the document lists, and the pages; so no route escapes the matrix."""
    routes = [route for route in create_app(Settings()).routes if isinstance(route, APIRoute)]
    assert {f"{method} {route.path}" for route in routes for method in route.methods} == OPERATIONS.keys() | PAGES


def test_everything_but_operation_and_pages_is_guarded() -> None:
    """Whatever lies under /v1 needs a key."""
    assert {operation for operation in RULES if "/v1/" in operation} == set(GUARDED)


def test_nothing_else_is_served() -> None:
    """Whatever is not one of our routes (a mount, a default page) would escape the rules."""
    assert all(isinstance(route, APIRoute) for route in create_app(Settings()).routes)


@pytest.mark.parametrize("token", [None, "unknown", "revoked", "unheard of", "another service's"])
def test_no_route_takes_a_caller_without_a_valid_key(guarded: Guarded, token: str | None) -> None:
    """No key, a wrong secret, a revoked key, an unknown id and a foreign token are all 401."""
    before = guarded.api.dump()
    for route in GUARDED:
        answer = guarded.call(route, guarded.tokens.get(token, token) if token else token)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), route
        assert answer.headers["www-authenticate"] == "Bearer"
    assert guarded.api.dump() == before


@pytest.mark.parametrize("role", ROLES)
def test_a_key_may_do_what_its_role_allows_and_no_more(guarded: Guarded, role: Role) -> None:
    """Each route is open to the roles from its own upwards, and 403 to those below."""
    for route in [*(route for route in GUARDED if route not in LAST), *LAST]:
        least = RULES[route]
        assert least is not None
        answer = guarded.call(route, guarded.tokens[role])
        if ROLES.index(role) >= ROLES.index(least):
            assert answer.status_code in (200, 201, 204), f"{route}: {answer.text}"
        else:
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), route


def test_what_belongs_to_another_workspace_does_not_exist(guarded: Guarded) -> None:
    """It is 404, not 403: not even that it exists is told. And nothing of it changes."""
    before = guarded.api.dump()
    for route in GUARDED:
        if "{" in route:
            assert guarded.call(route, guarded.tokens["theirs"]).status_code == 404, route
    assert guarded.api.dump() == before


def test_lists_show_the_own_workspace_only(guarded: Guarded) -> None:
    """Another workspace's studies and keys are not listed, and its names are free."""
    headers = {"authorization": f"Bearer {guarded.tokens['theirs']}"}
    assert guarded.api.get("/v1/studies", headers=headers).json()["studies"] == []
    assert [key["name"] for key in guarded.api.get("/v1/keys", headers=headers).json()["keys"]] == ["theirs"]
    created = guarded.api.post("/v1/studies", json=example("POST /v1/studies") | {"name": "guarded"}, headers=headers)
    assert created.status_code == 201


def test_open_routes_need_no_key(guarded: Guarded) -> None:
    """Health, metrics and the documentation answer everyone."""
    for route in (RULES.keys() - set(GUARDED)) | PAGES:
        assert guarded.call(route, None).status_code == 200, route


def test_a_revoked_key_is_refused_at_once(guarded: Guarded) -> None:
    """A key made over HTTP works until the very request after its revocation."""
    admin = {"authorization": f"Bearer {guarded.tokens['admin']}"}
    made = guarded.api.post("/v1/keys", json={"name": "brief", "role": "read"}, headers=admin).json()
    assert (made["workspace"], made["role"]) == ("ours", "read")
    brief = {"authorization": f"Bearer {made['token']}"}
    assert guarded.api.get("/v1/studies", headers=brief).status_code == 200
    assert guarded.api.delete(f"/v1/keys/{made['id']}", headers=admin).status_code == 204
    assert guarded.api.get("/v1/studies", headers=brief).status_code == 401
    [listed] = [k for k in guarded.api.get("/v1/keys", headers=admin).json()["keys"] if k["id"] == made["id"]]
    assert listed["revoked_at"] is not None
    assert "token" not in listed
    assert "secret_hash" not in listed


def test_an_idempotency_key_belongs_to_its_workspace(guarded: Guarded) -> None:
    """The same key in two workspaces is two keys."""
    answers = [
        guarded.api.post(
            "/v1/studies",
            json=example("POST /v1/studies") | {"name": "keyed"},
            headers={"authorization": f"Bearer {guarded.tokens[who]}", "idempotency-key": "k"},
        )
        for who in ("write", "theirs")
    ]
    assert answers[0].json()["id"] != answers[1].json()["id"]


@pytest.mark.parametrize("scheme", ["Basic", "bearer", "Token"])
def test_only_bearer_is_understood(guarded: Guarded, scheme: str) -> None:
    """The scheme's case does not matter; another scheme is no key."""
    answer = guarded.api.get("/v1/studies", headers={"authorization": f"{scheme} {guarded.tokens['read']}"})
    assert answer.status_code == (200 if scheme == "bearer" else 401)
