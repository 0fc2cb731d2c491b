"""`dumbo export` and `dumbo import`: exact, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.storage.database import Database
from service.storage.transfer import export_studies
from tests.support.app import running_app
from tests.support.cli import dumbo
from tests.support.postgres import PostgresServer

KNOWN = {
    "mode": "known",
    "factors": [{"name": "a", "parameters": ["x", "n"]}, {"name": "b", "parameters": ["n", "kind"]}],
}


@pytest.fixture
def filled_url(database_url: str) -> str:
    """A database with two studies in every state of trial there is."""
    with running_app(database_url) as api:
        first = api.study(name="first ✓", metadata={"team": "vision", "deep": [1, {"x": 0.1}]})
        api.ask(first, count=3, client_id="w")
        api.tell(first, trial=0, value=0.1 + 0.2, sem=1e-300)
        api.tell(first, trial=1, state="failed", reason="diverged")
        second = api.study(name="second", decomposition=KNOWN, direction="maximize")
        api.tell(second, parameters={"x": 1 / 3, "n": 7, "kind": "b"}, factor_values={"a": 1e17, "b": -1.0})
    return database_url


@pytest.fixture
def other_url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of the other kind, with the schema."""
    if backend == "postgres":
        yield request.getfixturevalue("sqlite_url")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create(request.getfixturevalue("postgres_template"))
    yield server.url(name)
    server.drop(name)


def exported(url: str) -> bytes:
    database = Database(url)
    lines = b"".join(export_studies(database, None, None))
    database.close()
    return lines


def test_export_restored_on_the_other_database_is_the_same(filled_url: str, other_url: str, tmp_path: Path) -> None:
    """SQLite to Postgres and back, every row is equal to the last bit, and the study goes on where it was."""
    file = tmp_path / "studies.jsonl"
    assert dumbo("export", "--output", str(file), database_url=filled_url).code == 0
    done = dumbo("import", str(file), database_url=other_url)
    assert (done.code, done.stderr) == (0, "imported 2 studies\n")
    assert exported(other_url) == file.read_bytes() == exported(filled_url)
    with running_app(filled_url) as here, running_app(other_url) as there:
        study = "/v1/studies/first ✓"
        assert here.get(study).json() == there.get(study).json()
        assert here.get(f"{study}/trials").json() == there.get(f"{study}/trials").json()
        assert here.ask(study)[0]["parameters"] == there.ask(study)[0]["parameters"]


def test_one_study_can_be_exported_by_name(filled_url: str) -> None:
    """The lines of the others stay out; an unknown study is an error."""
    lines = dumbo("export", "second", database_url=filled_url).stdout.splitlines()
    assert [json.loads(line)["study"]["name"] for line in lines if '"study":' in line] == ["second"]
    assert dumbo("export", "third", database_url=filled_url).code == 1
    assert '"study":' not in dumbo("export", "--workspace", "elsewhere", database_url=filled_url).stdout


def cut_short(lines: bytes) -> bytes:
    return b"".join(lines.splitlines(keepends=True)[:-1])


def one_row_less(lines: bytes) -> bytes:
    rows = lines.splitlines(keepends=True)
    return b"".join(rows[:-2] + rows[-1:])


def no_json(lines: bytes) -> bytes:
    rows = lines.splitlines(keepends=True)
    return b"".join([*rows[:3], b"{\n", *rows[3:]])


def unknown_column(lines: bytes) -> bytes:
    return sealed(lines.replace(b'"origin":', b'"oregano":'))


def bad_time(lines: bytes) -> bytes:
    return sealed(lines.replace(b'"asked_at":"2', b'"asked_at":"x'))


def bad_problem(lines: bytes) -> bytes:
    return sealed(lines.replace(b'"direction":"maximize"', b'"direction":"sideways"'))


def other_schema(lines: bytes) -> bytes:
    return sealed(lines.replace(b'"schema":"', b'"schema":"other-'))


def bad_state(lines: bytes) -> bytes:
    return sealed(lines.replace(b'"state":"failed"', b'"state":"lost"'))


def bad_type(lines: bytes) -> bytes:
    return sealed(lines.replace(b'"number":1,', b'"number":"one",'))


def sealed(lines: bytes) -> bytes:
    """With a last line that fits the others, so that each of them is judged by itself."""
    *rows, _ = lines.splitlines(keepends=True)
    end = {"rows": len(rows) - 1, "sha256": hashlib.sha256(b"".join(rows)).hexdigest()}
    return b"".join(rows) + json.dumps({"end": end}).encode() + b"\n"


def one_digit(lines: bytes) -> bytes:
    return lines.replace(b'"value":0.30000000000000004', b'"value":0.30000000000000002')


def no_object(lines: bytes) -> bytes:
    return sealed(re.sub(rb'"metadata":\{[^}]*\}+\]?\}', b'"metadata":-1', lines, count=1))


def too_large(lines: bytes) -> bytes:
    return sealed(re.sub(rb'"revision":\d+', b'"revision":9223372036854775808', lines))


DAMAGES = [
    one_digit,
    no_object,
    too_large,
    cut_short,
    bad_type,
    one_row_less,
    no_json,
    unknown_column,
    bad_time,
    bad_problem,
    other_schema,
    bad_state,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damaged_export_changes_nothing(filled_url: str, other_url: str, damage: type) -> None:
    """Whatever is wrong with the lines, the import says so and the database stays empty."""
    lines = exported(filled_url)
    damaged: bytes = damage(lines)  # type: ignore[assignment]
    assert damaged != lines
    done = dumbo("import", "-", stdin=damaged, database_url=other_url)
    assert done.code == 1
    assert done.stderr.startswith("dumbo: ")
    assert exported(other_url).count(b"\n") == 2


def test_study_that_exists_is_not_overwritten(filled_url: str) -> None:
    """Importing into the same database is refused and changes nothing."""
    before = exported(filled_url)
    done = dumbo("import", "-", stdin=before, database_url=filled_url)
    assert done.code == 1
    assert "already" in done.stderr
    assert exported(filled_url) == before


@pytest.mark.parametrize("text", [b"", b"hello\n", b"[]\n", b'{"dumbo_export": 1}\n'])
def test_what_is_no_export_is_refused(sqlite_url: str, text: bytes) -> None:
    """Any other file is told apart at its first line."""
    done = dumbo("import", "-", stdin=text, database_url=sqlite_url)
    assert done.code == 1
    assert "nothing was imported" in done.stderr
