"""Properties that must hold for any input, and how each is tried: by hypothesis, on as many inputs as are wanted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tests.chaos.report import Finding

Property = Callable[[], None]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)
# `json` writes NaN, Infinity, lone surrogates and integers of any length, too.
json_texts = st.builds(lambda value: json.dumps(value).encode(), json_values)


def cut(body: bytes, at: int, inserted: bytes, dropped: int) -> bytes:
    """The body with some bytes put in, and others left out, at one place."""
    at %= len(body) + 1
    return body[:at] + inserted + body[at + dropped :]


cuts = (st.integers(0, 2000), st.binary(max_size=3), st.integers(0, 3))


def tried(what: str, database: str, test: Property, examples: int) -> Finding:
    """Run a property on so many examples."""
    chosen = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        print_blob=True,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    started = time.perf_counter()
    fault = ""
    try:
        chosen(test)()
    except Exception as error:  # whatever it is, it is the finding
        notes = getattr(error, "__notes__", [])
        fault = f"{type(error).__name__}: {error} {' '.join(notes)}"[:500]
    return Finding(what, database, f"{examples:,} inputs", int(bool(fault)), time.perf_counter() - started, fault)
