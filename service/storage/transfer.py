"""Studies as lines of JSON, out of one database and into another, exactly.

The first line names the format and the schema. Then comes each study with its trials, asks and model state,
a row a line, and last a line with the number of rows and the SHA-256 of all that stands above it: a file that
was cut short or damaged is noticed. Keys, idempotency records and secrets stay where they are. An export reads
one snapshot; an import is one transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import JSON, Double, Select, Table, insert, or_, select
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.types import TypeEngine

from core.errors import CoreError
from core.problem import Problem
from service.errors import Invalid, NameTaken, StudyNotFound
from service.storage import schema
from service.storage.database import Database, Transaction
from service.storage.tables import asks, model_states, studies, trials
from service.storage.types import UtcDateTime

FORMAT = 1
PARTS = {"trial": trials, "ask": asks, "model_state": model_states}
TABLES = {"study": studies, **PARTS}
BATCH = 500
MAX_INT = 2**63 - 1

Row = dict[str, Any]


def export_studies(database: Database, study: str | None, workspace: str | None) -> Iterator[bytes]:
    """The lines for one study (by id or name), or for all; of one workspace, or of all."""
    chosen = select(studies).order_by(studies.c.created_at, studies.c.id)
    if workspace is not None:
        chosen = chosen.where(studies.c.workspace == workspace)
    if study is not None:
        chosen = chosen.where(or_(studies.c.id == study, studies.c.name == study))
    with database.read() as tx:
        header = _line("dumbo_export", {"format": FORMAT, "schema": schema.head()})
        yield header
        seal = hashlib.sha256(header)
        rows = 0
        for line in _rows(tx, chosen):
            yield line
            seal.update(line)
            rows += 1
        if study is not None and not rows:
            raise StudyNotFound(f"there is no study {study!r}")
        yield _line("end", {"rows": rows, "sha256": seal.hexdigest()})


def _rows(tx: Transaction, chosen: Select[Any]) -> Iterator[bytes]:
    for study in tx.execute(chosen).mappings().all():
        yield _line("study", dict(study))
        for kind, table in PARTS.items():
            part = select(table).where(table.c.study_id == study["id"]).order_by(*table.primary_key)
            for row in tx.execute(part.execution_options(yield_per=BATCH)).mappings():
                yield _line(kind, dict(row))


def _line(kind: str, content: Any) -> bytes:
    # Names of columns are a kind of str that the serializer takes only with the second option.
    return orjson.dumps({kind: content}, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS) + b"\n"


def import_studies(database: Database, lines: Iterable[bytes]) -> int:
    """Put every study of an export into the database, or none; how many there were."""
    rows = _parsed(lines)
    imported = 0
    with database.write() as tx:
        batch: list[Row] = []
        kind = "study"
        for next_kind, row in rows:
            if next_kind != kind or len(batch) == BATCH:
                _insert(tx, TABLES[kind], batch)
                kind, batch = next_kind, []
            if next_kind == "study":
                _check_study(tx, row)
                imported += 1
            batch.append(row)
        _insert(tx, TABLES[kind], batch)
    return imported


def _insert(tx: Transaction, table: Table, batch: list[Row]) -> None:
    if not batch:
        return
    try:
        tx.execute(insert(table), batch)
    except (IntegrityError, DataError) as error:
        raise Invalid(f"a row of {table.name} cannot be: {error.orig}; nothing was imported") from error


def _check_study(tx: Transaction, row: Row) -> None:
    same = or_(
        studies.c.id == row["id"],
        (studies.c.workspace == row["workspace"]) & (studies.c.name == row["name"]),
    )
    if tx.execute(select(studies.c.id).where(same)).first():
        raise NameTaken(f"there is a study {row['name']!r} ({row['id']}) already; nothing was imported")
    try:
        Problem.from_dict(row["problem"])
    except CoreError as error:
        raise Invalid(f"study {row['name']!r}: {error}; nothing was imported") from error


def _parsed(lines: Iterable[bytes]) -> Iterator[tuple[str, Row]]:
    """Each row with its kind, once the first line fits; complains at the end if rows are missing or changed."""
    numbered = enumerate(lines, 1)
    number, line = next(numbered, (1, b"null"))
    _check_header(_loads(number, line))
    seal = hashlib.sha256(line)
    for number, line in numbered:
        entry = _loads(number, line)
        if isinstance(entry, dict) and "end" in entry:
            if entry["end"] == {"rows": number - 2, "sha256": seal.hexdigest()} and next(numbered, None) is None:
                return
            break
        yield _typed(number, entry)
        seal.update(line)
    raise Invalid("the export is incomplete or was changed; nothing was imported")


def _check_header(entry: Any) -> None:
    header = entry.get("dumbo_export") if isinstance(entry, dict) else None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise Invalid("this is not an export of DuMBO; nothing was imported")
    if header.get("schema") != schema.head():
        raise Invalid(
            f"the export has schema {header.get('schema')}, this version needs {schema.head()}: import it "
            "with the version that made it, run `dumbo db upgrade` there, and export it anew"
        )


def _loads(number: int, line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"line {number} is not JSON: {error}; nothing was imported") from error


def _typed(number: int, entry: Any) -> tuple[str, Row]:
    """The row with its times as times, after a look at whether it is one of ours."""
    kind, row = next(iter(entry.items())) if isinstance(entry, dict) and len(entry) == 1 else ("", None)
    table = TABLES.get(kind)
    if table is None or not isinstance(row, dict) or row.keys() != set(table.columns.keys()):
        raise Invalid(f"line {number} is no row of an export; nothing was imported")
    try:
        return kind, {name: _value(table, name, value) for name, value in row.items()}
    except (TypeError, ValueError) as error:
        raise Invalid(f"line {number}: {error}; nothing was imported") from error


def _value(table: Table, name: str, value: Any) -> Any:
    """The value as its column takes it. SQLite would store any other as well."""
    column = table.c[name]
    if value is None and column.nullable:
        return value
    if isinstance(column.type, UtcDateTime):
        return datetime.fromisoformat(value)
    if type(value) not in _python_types(column.type) or (isinstance(value, int) and abs(value) > MAX_INT):
        raise ValueError(f"{name} cannot be {value!r}")
    return value


def _python_types(kind: TypeEngine[Any]) -> tuple[type, ...]:
    """Of what a column of this type holds; every JSON column holds objects."""
    if isinstance(kind, JSON):
        return (dict,)
    return (int, float) if isinstance(kind, Double) else (kind.python_type,)
