"""No secret in the logs: a real server, called in every way that carries one, with everything logged."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from service.auth.service import create_key
from service.storage.database import Database
from tests.support.cli import refused_serve
from tests.support.postgres import PostgresServer
from tests.support.server import Server

PASSWORD = "hunter2-in-the-url"
BASIC = "dXNlcjpzZWNyZXQ="
STUDY = {"name": "s", "direction": "minimize", "parameters": [{"name": "x", "type": "float", "bounds": [0, 1]}]}


def test_logs_hold_no_secret(
    start_server: Callable[..., Server], postgres: PostgresServer, postgres_template: str
) -> None:
    """Neither keys, good or bad, nor headers, nor the database's password, nor after the database is gone."""
    name = postgres.create(postgres_template)
    url = postgres.url(name).replace("postgres@", f"postgres:{PASSWORD}@")
    database = Database(url)
    _, token = create_key(database, "me", "default", "admin")
    database.close()
    server = start_server(url, auth="on", log_level="debug")
    made = _call_in_every_way(server.url, token)
    postgres.drop(name)
    assert httpx.get(f"{server.url}/readyz", timeout=60).status_code == 503
    assert httpx.get(f"{server.url}/v1/studies", headers=_bearer(token), timeout=60).status_code == 503
    server.stop()
    logged = server.output
    assert logged.count('"event":"request"') > 8
    for secret in (_secret(token), _secret(made), BASIC, PASSWORD):
        assert secret not in logged
    lines = [line for line in logged.splitlines() if line.startswith("{")]
    assert not any("authorization" in line.lower() for line in lines)


def _call_in_every_way(url: str, token: str) -> str:
    """With a good key, wrong ones, one in the path and one in the query; the key that was made on the way."""
    wrong = token[:-6] + "_wrong"
    with httpx.Client(base_url=url, timeout=60) as client:
        made = str(client.post("/v1/keys", json={"name": "second"}, headers=_bearer(token)).json()["token"])
        client.post("/v1/studies", json=STUDY, headers=_bearer(token)).raise_for_status()
        for headers in (_bearer(wrong), {"authorization": f"Basic {BASIC}"}, {"authorization": token}, {}):
            assert client.get("/v1/studies", headers=headers).status_code == 401
        assert client.get(f"/v1/studies/{token}", headers=_bearer(made)).status_code == 404
        client.get("/v1/studies", params={"key": token, "cursor": made}, headers=_bearer(token))
        client.post("/v1/studies", content=token.encode(), headers=_bearer(token))
    return made


def _secret(token: str) -> str:
    """The part that the wrong token shares with the right one."""
    return token.split("_", 2)[2][:30]


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_a_start_that_fails_shows_no_password() -> None:
    """The sentence about a database that cannot be reached names no password."""
    said = refused_serve(database_url=f"postgresql://dumbo:{PASSWORD}@127.0.0.1:1/dumbo")
    assert "cannot be reached" in said
    assert PASSWORD not in said
