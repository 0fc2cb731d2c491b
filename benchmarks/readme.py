"""Fills the delimited sections of the READMEs, so that no number in them is typed by hand."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
OWN_README = Path(__file__).parent / "README.md"
PLOTS = Path(__file__).parent / "plots"  # those that the README shows


def fill(section: str, text: str, readme: Path = README) -> None:
    """Put the text between `<!-- begin section -->` and `<!-- end section -->`."""
    begin, end = f"<!-- begin {section} -->", f"<!-- end {section} -->"
    page = readme.read_text()
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"{readme.name} must have the section {section!r} once")
    pattern = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    readme.write_text(pattern.sub(lambda _: f"{begin}\n{text.strip()}\n{end}", page))
