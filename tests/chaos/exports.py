"""Exports, changed in every way, with hypothesis: whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson
from hypothesis import given
from hypothesis import strategies as st

from service.errors import Invalid, NameTaken
from service.storage.database import Database
from service.storage.tables import studies
from service.storage.transfer import export_studies, import_studies
from tests.chaos.properties import Property, cut, cuts, json_values, tried
from tests.chaos.report import Finding
from tests.support.app import SPACE
from tests.support.databases import KINDS, fresh_database
from tests.support.server import running_server

EXAMPLES = 1_000  # on each database, at scale 1


def findings(scale: float) -> Iterator[Finding]:
    for kind in KINDS:
        with fresh_database(kind) as url, exports_are_read_whole_or_not(url) as test:
            yield tried("changed exports", kind, test, max(10, int(EXAMPLES * scale)))


@contextmanager
def exports_are_read_whole_or_not(url: str) -> Iterator[Property]:
    """An export that was changed is refused with a sentence; one that was sealed anew is, or is stored as it says."""
    with running_server(url) as server, httpx.Client(base_url=f"{server.url}/v1", timeout=600) as client:
        spec = {"name": "s", "direction": "minimize", "parameters": SPACE, "metadata": {"deep": [1, {"x": 0.1}]}}
        client.post("/studies", json=spec).raise_for_status()
        client.post("/studies/s/ask", json={"count": 2}).raise_for_status()
        results = [{"trial": 0, "value": 0.5}, {"trial": 1, "state": "failed", "reason": "x"}]
        client.post("/studies/s/tell", json={"results": results}).raise_for_status()
    database = Database(url)
    lines = list(export_studies(database, None, None))
    empty_out(database)

    @given(changed_lines(lines[:-1]), st.booleans())
    def property_(changed: list[bytes], sealed: bool) -> None:
        whole = [*changed, seal(changed) if sealed else lines[-1]]
        try:
            import_studies(database, whole)
        except (Invalid, NameTaken):
            assert len(list(export_studies(database, None, None))) == 2  # no rows between its first and last line
            return
        assert sealed or whole == lines
        assert sorted(map(_row, export_studies(database, None, None))) == sorted(map(_row, whole))
        empty_out(database)

    yield property_
    database.close()


def empty_out(database: Database) -> None:
    with database.write() as tx:
        tx.execute(studies.delete())


def seal(lines: list[bytes]) -> bytes:
    """The last line of an export of these."""
    end = {"rows": len(lines) - 1, "sha256": hashlib.sha256(b"".join(lines)).hexdigest()}
    return orjson.dumps({"end": end}) + b"\n"


def _row(line: bytes) -> str:
    """The line in one spelling, without what differs when a time or a number is spelt differently."""
    [(kind, row)] = orjson.loads(line).items()
    if kind == "end":
        return "end"
    spelt = {name: _moment(value) if name.endswith("_at") else value for name, value in row.items()}
    return kind + orjson.dumps(spelt, option=orjson.OPT_SORT_KEYS | orjson.OPT_UTC_Z).decode()


def _moment(value: Any) -> Any:
    return datetime.fromisoformat(value).astimezone(UTC) if isinstance(value, str) else value


def changed_lines(lines: list[bytes]) -> st.SearchStrategy[list[bytes]]:
    """With bytes of one line replaced, one value of a row replaced, or a line dropped, doubled or moved."""
    which = st.integers(0, len(lines) - 1)
    values = json_values | st.sampled_from([2**63, 2**64 - 1, -1, 1e300, "a\0b", "2020-01-01", "\ud800"])
    return st.one_of(
        st.builds(lambda i, *where: _replaced(lines, i, cut(lines[i], *where)), which, *cuts),
        st.builds(lambda i, pick, value: _replaced(lines, i, _with(lines[i], pick, value)), which, which, values),
        st.builds(lambda i: lines[:i] + lines[i + 1 :], which),
        st.builds(lambda i, j: [*lines[:i], lines[j], *lines[i:]], which, which),
    )


def _replaced(lines: list[bytes], at: int, line: bytes) -> list[bytes]:
    return [*lines[:at], line, *lines[at + 1 :]]


def _with(line: bytes, pick: int, value: Any) -> bytes:
    """The row with one of its columns set to the value."""
    entry = json.loads(line)
    [(kind, row)] = entry.items()
    if isinstance(row, dict):
        row[sorted(row)[pick % len(row)]] = value
    return json.dumps({kind: row}).encode()
