"""Look for another optimum once the one at hand has come to its end.

Near its best point a search always sees some improvement left, and where it sees none it has nothing else to go by: it
would evaluate one optimum to its last digit for the rest of the budget. So once the best value no longer grows, every
fourth ask goes elsewhere, and more of them the longer that lasts: the observations in the basin of the best point are
set aside, and the ask is made from the others alone. They are standardised, fitted and sampled afresh, because a fit to
many points on one peak says that everything away from it is flat; the points set aside count as poor, or those on the
way there would lead back. Where the others have come to their end, too, the next basin is set aside as well. Nothing is
remembered from ask to ask: the history says it all.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from core.fit import subset
from core.history import History
from core.kernels import covariance, squared_distances
from core.model import Model
from core.space import Array

PATIENCE = 10  # observations within which the best value must grow ...
LEAST_GAIN = 1e-3  # ... by so much of what it is above the middle of the earlier half
# The basin: how much correlated with the best value, and how many times the patience before that is taken for one. So
# smooth a model that it correlates everything is mostly right to see one basin only, but not for ever.
BASIN = {0.2: 1, 0.5: 2, 0.8: 4}
LEAST = 5  # observations outside, to begin with
MOST = 150  # of them, and of those set aside: a fit from nothing should cost little more than an ask
FIT_EVALUATIONS = 12  # for the same reason
WIDEST = 128  # parameters, likewise


def standstill(y: Array) -> int:
    """For how many of these outputs, in the order they were told, the best has all but stopped growing.

    By the outputs as they were told: a model that bends them makes much of the last digits of an optimum, and to one
    that does not, far values make them look like nothing.
    """
    y = y / (np.abs(y).max() or 1.0)  # differences of the largest numbers there are would overflow
    gained = y.max() - np.median(y[: -(-len(y) // 2)])
    return len(y) - 1 - int((y >= y.max() - LEAST_GAIN * gained).argmax())


def impatience(y: Array, asks: int, basins: int = 0) -> float:
    """How many times the patience is at an end; below 1 the search goes on.

    At most the asks of the model count: what is of a design, or was told from elsewhere, says nothing of it; nor does
    the first half of all. The more `basins` were set aside before, the more patience: what is left is known less, and
    asked less often.
    """
    return min(standstill(y), asks, len(y) // 2) / (PATIENCE * 2**basins)


def outside(history: History, model: Model, impatience: float = 1.0) -> History | None:
    """The history without the basin of its best point; None where that leaves too little to go by.

    The points set aside count as failed: to be kept away from.
    """
    if history.X.shape[1] > WIDEST:
        return None
    X = torch.from_numpy(history.X)
    mean = model.gain @ model.posterior.moments(model.posterior.layout.gather(X)).mean  # up to a constant
    similar = alike(model, X, X[int(mean.argmax())])
    levels = (level for level, needed in BASIN.items() if needed <= max(1.0, impatience))
    level = next((level for level in levels if (similar <= level).sum() >= LEAST), None)
    if level is None:
        return None
    rest, peak = history.take(np.flatnonzero(similar <= level)), history.take(np.flatnonzero(similar > level))
    rest, peak = rest.take(subset(rest.y, MOST)), peak.take(subset(peak.y, MOST))
    return replace(rest, failed=np.concatenate([history.failed, peak.X]))


def alike(model: Model, X: Tensor, peak: Tensor) -> Array:
    """t: how the values at the rows of X (t x n_columns) are correlated with that at the peak (n_columns), a priori."""
    posterior, layout = model.posterior, model.posterior.layout
    z, at = (posterior.scaled(layout.gather(x)) for x in (X, peak[None]))
    by_factor = covariance(posterior.kernel, squared_distances(z, at))[..., 0]  # n x t
    # Factors modelled one by one add up, in common units; decompositions of one sum are averaged.
    share = posterior.scale * (model.gain.square() if model.kind == "separate" else model.gain)
    return (share @ by_factor / share.sum()).numpy()
