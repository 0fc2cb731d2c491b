"""The parsers, with hypothesis: JSON bodies, cursors, and the CSV that spreadsheets will parse."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from service.errors import Invalid, InvalidCursor, MalformedJson
from service.http.strict_json import MAX_INT, parse
from service.paging import Cursors
from service.trials.reading import FORMULA, _cell, _csv
from tests.chaos.properties import cut, cuts, json_texts, tried
from tests.chaos.report import Finding

EXAMPLES = 5_000  # of each property, at scale 1
DEPTH = 32

fragments = st.lists(
    st.sampled_from(
        [
            *(b"{", b"}", b"[", b"]", b'"a":', b'"a"', b",", b"1", b"-0", b"1e999", b"NaN", b'"\\ud800"', b'"\\u0000"'),
            *(
                b"9" * 25,
                b"9" * 400,
                b"true",
                b"null",
                b" ",
                b"\xff",
                b"\xef\xbb\xbf",
                b"\x00",
                b"18446744073709551615",
            ),
        ]
    ),
    max_size=14,
).map(b"".join)


mutations = st.builds(cut, json_texts, *cuts)
bodies = st.one_of(st.binary(max_size=60), json_texts, fragments, mutations)


@given(bodies)
def json_is_read_strictly(body: bytes) -> None:
    """What is taken means the same to Python's parser and can be stored; what Python cannot read is refused."""
    try:
        value = parse(body, max_depth=DEPTH)
    except (MalformedJson, Invalid):
        return
    assert _same(value, json.loads(body, object_pairs_hook=_distinct))
    assert orjson.loads(orjson.dumps(value)) == value
    for leaf in _leaves(value):
        assert not isinstance(leaf, str) or "\0" not in leaf
        assert not isinstance(leaf, float) or math.isfinite(leaf)
        assert not isinstance(leaf, int) or -MAX_INT - 1 <= leaf <= MAX_INT


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs)
    return dict(pairs)


def _same(ours: Any, theirs: Any) -> bool:
    """Equal, where an integer beyond 64 bits may have become the nearest float."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(_same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    return bool(ours == (float(theirs) if isinstance(ours, float) else theirs))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield key
            yield from _leaves(child)
    elif isinstance(value, list):
        for child in value:
            yield from _leaves(child)
    else:
        yield value


class _Secret:
    value = b"0123456789abcdef0123456789abcdef"


cursors = Cursors(_Secret())  # type: ignore[arg-type]
scopes = st.lists(st.text(max_size=4) | st.none() | st.booleans(), min_size=1, max_size=3)
positions = st.lists(st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"]), max_size=9))


@given(scopes, scopes, positions, st.integers(0, 200), st.text(max_size=2), st.integers(0, 2))
def cursors_cannot_be_made_or_changed(
    scope: list[Any], other: list[Any], position: list[Any], at: int, inserted: str, dropped: int
) -> None:
    """A cursor leads where it was made for; another listing's, or one changed anywhere, is refused."""
    made = cursors.make(scope, position)
    assert cursors.read(scope, made) == position
    changed = made[: at % len(made)] + inserted + made[at % len(made) + dropped :]
    for wrong_scope, cursor in ((other, made), (scope, changed)):
        if (wrong_scope, cursor) != (scope, made):
            _refuses(lambda wrong_scope=wrong_scope, cursor=cursor: cursors.read(wrong_scope, cursor))


@given(scopes, st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def text_is_no_cursor(scope: list[Any], text: str) -> None:
    """Whatever somebody types."""
    _refuses(lambda: cursors.read(scope, text))


def _refuses(read: Callable[[], object]) -> None:
    try:
        found = read()
    except InvalidCursor:
        return
    raise AssertionError(f"read as {found!r}")


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.lists(st.lists(cells | st.floats(allow_nan=False) | st.booleans() | st.none(), min_size=1), max_size=4))
def csv_reads_as_it_was_written(rows: list[list[Any]]) -> None:
    """A reader finds the cells that were written, and a spreadsheet finds no formula among the texts."""
    written = [[_cell(value) for value in row] for row in rows]
    read = list(csv.reader(io.StringIO(_csv(written).decode(), newline="")))
    assert [row for row in read if row] == [[str(cell) for cell in row] for row in written]
    for row, source in zip(read, rows, strict=True):
        assert not any(isinstance(v, str) and cell.startswith(FORMULA) for cell, v in zip(row, source, strict=True))


PURE = [json_is_read_strictly, cursors_cannot_be_made_or_changed, text_is_no_cursor, csv_reads_as_it_was_written]


def findings(scale: float) -> Iterator[Finding]:
    for test in PURE:
        yield tried(test.__name__.replace("_", " "), "none", test, max(10, int(EXAMPLES * scale)))
