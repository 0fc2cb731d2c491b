"""Try the best point off a bound that all good points share.

Where every good point has a parameter at the same end of its range, nothing near them says what it is like inside: the
model may take it to be poor for want of data, and then no acquisition looks there. One evaluation in a few tells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.history import History
from core.space import Array

EVERY = 7  # asks; odd, so that it meets all turns of the others
FROM = 20  # observations
BEST = 5  # points that must agree on the bound ...
RECENT = 20  # ... and so many of the latest: a parameter just tried is left alone for a while
STEP = (0.05, 0.3)  # of the range


def released(
    history: History, free: NDArray[np.bool_], asks: int, rng: np.random.Generator
) -> tuple[Array, int] | None:
    """The best point (n_columns) with one such parameter moved inside, and its column, if it is time and there is one.

    `free` marks the columns that may move continuously.
    """
    if asks % EVERY or history.n_obs < FROM:
        return None
    best = np.argsort(-history.y, kind="stable")[:BEST]
    X = np.concatenate([history.X[best], history.X[-RECENT:]])
    stuck = np.flatnonzero(((X <= 0.0).all(0) | (X >= 1.0).all(0)) & free)
    if not len(stuck):
        return None
    x = history.X[best[0]].copy()
    j = int(rng.choice(stuck))
    x[j] = abs(x[j] - rng.uniform(*STEP))
    return x, j
