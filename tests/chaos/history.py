"""A checker of histories: could these answers have come from trials that change one call at a time?

For each trial it looks for an order of the calls that respects time (a call that ended before another began comes
first) and in which every answer is right: a trial is handed out only while nobody else's lease holds and before it has
a result; a result is taken if there is none yet or the same one; what is read is what was told. If there is no such
order, something was lost, doubled or given to two.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

CLOCK_TICK = 0.002  # seconds: SQLite's clock has whole milliseconds


@dataclass(frozen=True)
class Call:
    """What one client saw of one trial, and between which moments. A refused tell is one of another result."""

    kind: Literal["handed out", "told", "refused", "read"]
    trial: int
    start: float
    end: float
    client: str | None = None
    lease_from: float = 0.0
    lease_until: float = 0.0
    value: float | None = None  # told, or read; None is a trial that runs


@dataclass(frozen=True)
class _Trial:
    """A trial between two calls."""

    holder: str | None = None
    lease_until: float = -math.inf
    value: float | None = None

    def after(self, call: Call) -> _Trial | None:
        """The trial after this call; None if it cannot have been answered so."""
        match call.kind:
            case "handed out":
                own = call.client is not None and call.client == self.holder
                free = own or self.lease_until <= call.lease_from
                return _Trial(call.client, call.lease_until) if self.value is None and free else None
            case "told":
                return _Trial(value=call.value) if self.value in (None, call.value) else None
            case "refused":
                return self if self.value not in (None, call.value) else None
            case "read":
                return self if self.value == call.value else None


_Place: TypeAlias = tuple[frozenset[int], _Trial]


def explains(calls: Iterable[Call]) -> bool:
    """Whether there is an order in which the calls of one trial make sense.

    A search in depth for one: any call may be next that began before the first end among those that are left.
    """
    ordered = sorted(calls, key=lambda call: call.start)
    places: list[_Place] = [(frozenset(range(len(ordered))), _Trial())]
    seen = set(places)
    while places:
        left, trial = places.pop()
        if not left:
            return True
        first_end = min(ordered[i].end for i in left)
        for i in sorted(left, reverse=True):
            after = trial.after(ordered[i]) if ordered[i].start <= first_end else None
            if after is not None and (place := (left - {i}, after)) not in seen:
                seen.add(place)
                places.append(place)
    return False


def faults(calls: Iterable[Call], final: dict[int, float | None]) -> Iterator[str]:
    """What is wrong with the history of one study, whose trials were found with these values at the end."""
    by_trial: dict[int, list[Call]] = defaultdict(list)
    for call in calls:
        by_trial[call.trial].append(call)
        if call.kind == "handed out" and not call.start - CLOCK_TICK <= call.lease_from <= call.end + CLOCK_TICK:
            yield f"trial {call.trial}: its lease does not begin when it was handed out"
    if sorted(final) != list(range(len(final))):
        yield "the numbers have a gap"
    if unknown := sorted(by_trial.keys() - final.keys()):
        yield f"trials {unknown} were handed out and are gone"
    if nobodys := sorted(final.keys() - by_trial.keys()):
        yield f"trials {nobodys} were handed out to nobody"
    for number, history in sorted(by_trial.items()):
        last = Call("read", number, math.inf, math.inf, value=final.get(number))
        if not explains([*history, last]):
            yield f"trial {number}: no order explains its {_summary(history)}"


def _summary(history: list[Call]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in Counter(call.kind for call in history).items())
