"""Names that people give: short, visible, and the same however they were typed."""

from __future__ import annotations

import unicodedata

from service.errors import Invalid

MAX_LENGTH = 100
INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # Unicode categories
# Letters and signs that nobody can see, whatever their category says.
BLANK = set("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# Normalizing takes time that grows with the square of the length, and makes no text more than so many times shorter.
MAX_SHRINKAGE = 4


def check_name(name: str, *loc: str | int, max_length: int = MAX_LENGTH) -> str:
    """The name in Unicode normal form C, or `Invalid` at `loc` saying what to change."""
    normal = name if len(name) > MAX_SHRINKAGE * max_length else unicodedata.normalize("NFC", name)
    if (msg := name_fault(normal, max_length)) is not None:
        raise Invalid.at(*loc, msg=msg)
    return normal


def name_fault(name: str, max_length: int = MAX_LENGTH) -> str | None:
    """What is wrong with a name, if anything."""
    if not 1 <= len(name) <= max_length:
        return f"expected 1 to {max_length} characters, got {len(name)}"
    if name != name.strip():
        return "must not begin or end with whitespace"
    if any(unicodedata.category(c) in INVISIBLE or c in BLANK for c in name):
        return "must not hold control characters or others that cannot be seen"
    if any(unicodedata.category(c) == "Zs" and c != " " for c in name):
        return "must not hold blanks other than the plain space"
    return None
