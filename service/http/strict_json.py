"""JSON in, strictly: what two parsers could read differently, or a database could not hold, is refused here.

`orjson` refuses NaN, Infinity, numbers that overflow, lone surrogates and broken UTF-8. Beyond that:
duplicate keys, NUL characters (Postgres cannot store them), integers beyond 64 bits and deep nesting.
"""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

from core.errors import Fault
from service.errors import Invalid, MalformedJson

MAX_INT = 2**63 - 1


def parse(body: bytes, *, max_depth: int) -> Any:
    """The parsed body, or `MalformedJson` (400) or `Invalid` (422)."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _reason(body, error) from None
    if faults := _faults(value, max_depth):
        raise Invalid.of(faults, "body")
    if repeated := _repeated_key(body):
        raise Invalid.at("body", msg=f"the key {repeated!r} appears twice in one object")
    return value


def _reason(body: bytes, error: orjson.JSONDecodeError) -> MalformedJson | Invalid:
    """Invalid where a lenient parser finds JSON that only strictness refuses, else malformed."""
    try:
        value = json.loads(body)
    except RecursionError:
        return Invalid.at("body", msg="nested too deeply")
    except ValueError:
        return MalformedJson(f"the body is not JSON: {error.msg} at character {error.pos}")
    if _has_non_finite(value):
        return Invalid.at("body", msg="numbers must be finite: NaN, Infinity and overflowing ones are refused")
    return Invalid.at("body", msg=f"refused: {error.msg} at character {error.pos}")


def _has_non_finite(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif (isinstance(item, float) and not math.isfinite(item)) or (
            isinstance(item, int) and item.bit_length() > 1023
        ):
            return True
    return False


def _faults(value: Any, max_depth: int) -> list[Fault]:
    """The first thing wrong, if any. Iterative: the input decides how deep it goes."""
    stack: list[tuple[Any, int]] = [(value, 1)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, dict | list):
            if depth > max_depth:
                return [Fault((), f"nested too deeply: at most {max_depth} levels are allowed")]
            if isinstance(item, dict):
                stack.extend((key, depth) for key in item)
                item = item.values()
            stack.extend((child, depth + 1) for child in item)
        elif isinstance(item, str):
            if "\0" in item:
                return [Fault((), "strings must not hold NUL characters")]
        elif isinstance(item, int) and not -MAX_INT - 1 <= item <= MAX_INT:
            return [Fault((), f"the integer {item} is beyond 64 bits")]
    return []


class _Repeated(Exception):
    def __init__(self, key: str) -> None:
        self.key = key


def _repeated_key(body: bytes) -> str | None:
    try:
        json.loads(body, object_pairs_hook=_once)
    except _Repeated as repeated:
        return repeated.key
    return None


def _once(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _Repeated(key)
        seen.add(key)
