"""When an ask is hopeful: made by a model that takes unknown places to be as good as those told.

A fitted mean says what the objective is like where nobody looked, and as a rule that is poor. With most observations on
one peak, the model is that peak in a wide plain: it promises nothing elsewhere, and the search polishes what it has.
Held at the middle of the outputs, which rises with the search, the mean explains the same data by long slopes, and the
more of them lie on one peak, the more is hoped of other places. Too much where a decomposition is found: factors of few
variables have been seen all over, and need no hope; and too much where the search gains with every other step. So half
of the asks are hopeful, as long as no decomposition explains the sums clearly better than one factor of all variables
does, and few of the latest observations were new best ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.space import Array
from core.state import State

EVERY = 4  # asks, of which two are hopeful: one of each of the two kinds that take turns
FROM = 10  # asks
CLEAR = 10.0  # nats
LATEST = 12  # observations ...
MOST = 3  # ... of which at most so many were the best when they were told


def is_hopeful(state: State, y: Array) -> bool:
    """Whether the next ask is, given the outputs in the order they were told."""
    due = state.asks >= FROM and state.asks % EVERY >= EVERY // 2
    return due and state.structured < CLEAR and int(records(y)[-LATEST:].sum()) <= MOST


def records(y: Array) -> NDArray[np.bool_]:
    """t: where an output was larger than all before it."""
    return np.asarray(y > np.concatenate([[-np.inf], np.maximum.accumulate(y)[:-1]]))


def gain_of_structure(log_posteriors: Sequence[float], whole: int | None) -> float:
    """By how many nats the best of these models beats one factor of all variables (the one at `whole`, if any).

    A fit that failed (minus infinity) says nothing of structure.
    """
    if whole is None or not math.isfinite(log_posteriors[whole]):
        return 0.0
    return max(log_posteriors) - log_posteriors[whole]
