"""Whether the time of a refusal tells how much of a key was right.

Tokens that share nothing with the right one, and tokens that share all but the last letter, are checked in turn, many
times. Lost is a difference that stands out of the noise of its own measurement.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from service.auth import keys
from tests.chaos.report import Finding

ROUNDS, CALLS = 2_000, 100
SIGMAS = 6.0


def findings(scale: float) -> Iterator[Finding]:
    yield compared(max(50, round(ROUNDS * scale)))


def compared(rounds: int) -> Finding:
    """The difference in nanoseconds, and how sure it is."""
    started = time.monotonic()
    token = keys.new_token(keys.new_id())
    key = keys.Key("id", "name", "default", "read", keys.digest(token), datetime.now(UTC), None)
    far, near = "x" * len(token), token[:-1] + ("a" if token[-1] != "a" else "b")
    differences = [_nanoseconds(key, near) - _nanoseconds(key, far) for _ in range(rounds)]
    kept = sorted(differences)[rounds // 4 : rounds - rounds // 4]  # without the moments when others had the processor
    difference, error = statistics.mean(kept), statistics.stdev(kept) / len(kept) ** 0.5
    lost = int(abs(difference) > SIGMAS * error and abs(difference) > 0.01 * _nanoseconds(key, far))
    detail = f"{difference:+.1f} ns of {_nanoseconds(key, far):.0f} ns, give or take {error:.1f}"
    tried = f"{2 * rounds * CALLS:,} wrong keys"
    return Finding("timing of key comparison", "none", tried, lost, time.monotonic() - started, detail)


def _nanoseconds(key: keys.Key, token: str) -> float:
    """Of one refusal."""
    begun = time.perf_counter_ns()
    for _ in range(CALLS):
        key.admits(token)
    return (time.perf_counter_ns() - begun) / CALLS
