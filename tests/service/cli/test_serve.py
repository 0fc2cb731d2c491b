"""`dumbo serve` from the outside: what it says, what it refuses, and how it ends."""

from __future__ import annotations

import re
import signal
import socket
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from service.settings import Settings
from tests.support.cli import dumbo, refused_serve
from tests.support.processes import gone, watch
from tests.support.server import Server, running_server

Start = Callable[..., Server]
SPEC = {
    "name": "s",
    "direction": "minimize",
    "parameters": [{"name": "x", "type": "float", "bounds": [0, 1]}],
}


def test_help_lists_every_setting_with_its_variable() -> None:
    """A stranger finds each setting, its variable and its meaning in one place."""
    shown = re.sub(r"\s+", " ", dumbo("serve", "--help").stdout)
    for name, field in Settings.model_fields.items():
        assert f"--{name.replace('_', '-')} " in shown
        assert f"env var: DUMBO_{name.upper()}" in shown
        assert field.description is not None
        assert field.description in shown


def test_start_says_where_and_the_printed_lines_work(tmp_path: Path) -> None:
    """It prints the address and the data's place, makes the file, and its curl lines run as they stand."""
    with running_server("sqlite:///mine.db", cwd=tmp_path) as server:
        announced = server.output
        assert server.url in announced
        assert str(tmp_path / "mine.db") in announced
        assert (tmp_path / "mine.db").exists()
        lines = announced.partition("Try:\n")[2].splitlines()
        subprocess.run(["sh", "-ec", "\n".join(lines[:3])], check=True, capture_output=True)
        trials = httpx.get(f"{server.url}/v1/studies/first/trials").json()["trials"]
        assert [trial["number"] for trial in trials] == [0]


def test_postgres_without_the_schema_is_refused_until_upgraded(empty_database_url: str, start_server: Start) -> None:
    """On Postgres the schema is the operator's to change, and the refusal names the command; SQLite just works."""
    if empty_database_url.startswith("postgresql"):
        assert "dumbo db upgrade" in refused_serve(database_url=empty_database_url)
        assert dumbo("db", "upgrade", database_url=empty_database_url).code == 0
    server = start_server(empty_database_url)
    assert httpx.get(f"{server.url}/readyz").status_code == 200


def test_file_of_a_newer_version_is_left_alone(sqlite_url: str) -> None:
    """A schema from the future is refused, not guessed at."""
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as file, file:
        file.execute("UPDATE alembic_version SET version_num = 'future'")
    said = refused_serve(database_url=sqlite_url)
    assert "newer version" in said
    assert "future" in said


def test_other_machines_are_not_served_without_a_key(sqlite_url: str, start_server: Start) -> None:
    """A non-loopback address is refused without a key, and served with one, which is then asked for."""
    refusal = refused_serve(database_url=sqlite_url, host="0.0.0.0")
    assert "dumbo keys create" in refusal
    assert "DUMBO_AUTH=off" in refusal
    token = dumbo("keys", "create", "me", "--role", "admin", database_url=sqlite_url).stdout.strip()
    url = _local(start_server(sqlite_url, host="0.0.0.0"))
    assert httpx.get(f"{url}/v1/studies").status_code == 401
    assert httpx.get(f"{url}/v1/studies", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_operator_may_serve_everyone_explicitly(sqlite_url: str, start_server: Start) -> None:
    """With DUMBO_AUTH=off it serves any address, and says in capitals what that means."""
    server = start_server(sqlite_url, host="0.0.0.0", auth="off")
    assert httpx.get(f"{_local(server)}/v1/studies").status_code == 200
    assert "NOT ASKED FOR" in server.output


def test_first_key_is_left_in_a_private_file(sqlite_url: str, start_server: Start, tmp_path: Path) -> None:
    """Where no key exists one is made and written where told, not to the log; a second start makes none."""
    file = tmp_path / "first-key"
    first = start_server(sqlite_url, host="0.0.0.0", first_key_file=file)
    token = file.read_text().strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    answer = httpx.get(f"{_local(first)}/v1/studies", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    first.stop()
    assert token not in first.output
    file.unlink()
    start_server(sqlite_url, host="0.0.0.0", first_key_file=file)
    assert not file.exists()


def _local(server: Server) -> str:
    """The server's address from this machine, when it listens on all of them."""
    return f"http://127.0.0.1:{server.url.rpartition(':')[2]}"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"port": "99999"}, "DUMBO_PORT"),
        ({"auth": "maybe"}, "'auto', 'on' or 'off'"),
        ({"database_url": "mysql://x/y"}, "sqlite:/// or postgresql://"),
        ({"database_url": "sqlite:////nonexistent/dir/x.db"}, "unable to open database file"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, str], says: str, sqlite_url: str) -> None:
    """A wrong setting ends the start with a sentence that names it, and no traceback."""
    assert says in refused_serve(**({"database_url": sqlite_url} | settings))


def test_misspelt_setting_is_pointed_out(start_server: Start, sqlite_url: str) -> None:
    """A variable that looks like a setting and is none is named at the start."""
    server = start_server(sqlite_url, wrokers=4)
    assert "DUMBO_WROKERS" in server.output


def test_port_in_use_is_said_plainly(sqlite_url: str) -> None:
    """Two servers cannot share a port, and the second says so."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = refused_serve(database_url=sqlite_url, port=taken.getsockname()[1])
    assert "ddress already in use" in said


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_request_in_flight_is_finished_at_shutdown(live_server: Server, sig: signal.Signals) -> None:
    """A request whose body is half sent when the signal comes is answered before the process ends with 0."""
    body = httpx.Request("POST", "http://x", json=SPEC).content
    host, port = live_server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        head = f"POST /v1/studies HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        client.sendall(head.encode() + b"\r\n\r\n" + body[:10])
        httpx.get(f"{live_server.url}/healthz")  # answered after the bytes above were read
        live_server.process.send_signal(sig)
        client.sendall(body[10:])
        assert client.recv(4096).startswith(b"HTTP/1.1 201")
    assert live_server.stop() == 0


def test_kill_9_leaves_no_process_behind(live_server: Server) -> None:
    """Workers and their parent end by themselves when the server is killed."""
    httpx.post(f"{live_server.url}/v1/studies", json=SPEC).raise_for_status()
    httpx.post(f"{live_server.url}/v1/studies/s/ask", timeout=60).raise_for_status()
    watched = watch(live_server.process.pid)
    assert watched
    live_server.process.kill()
    assert gone(watched, seconds=30) == 0
