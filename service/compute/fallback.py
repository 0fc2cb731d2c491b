"""The answer to an ask when the model could not give one: random points, labelled so.

It is a function of the job alone, so that a repeated ask falls back to the same points, and needs no torch.
"""

from __future__ import annotations

import numpy as np

from core.errors import SpaceExhausted
from core.problem import Problem
from core.space import random_points
from service.compute.jobs import AskJob, AskResult

# Random numbers of the fallback are kept apart from those the core draws with the same seed.
STREAM = 0xFA11BACC


def fallback(job: AskJob, reason: str, detail: str) -> AskResult:
    """Random points, new where any are left. The reason is a stable word, the detail a sentence."""
    problem = Problem.from_dict(job.problem)
    rng = np.random.default_rng([STREAM, problem.algorithm.seed, len(job.observations), len(job.pending)])
    known = [observation["parameters"] for observation in job.observations]
    try:
        points = random_points(problem, rng, job.count, taken=[*job.pending, *known], fixed=job.fixed)
    except SpaceExhausted:  # then a point may be measured once more, as long as nobody is at it
        given_up = [o["parameters"] for o in job.observations if o.get("state") == "abandoned"]
        points = random_points(problem, rng, job.count, taken=[*job.pending, *given_up], fixed=job.fixed)
    diagnostics = {
        "seconds": {},
        "fallbacks": [f"random: {detail}"],
        "fallback": {"reason": reason, "detail": detail},
    }
    return AskResult(points, ["random"] * job.count, None, diagnostics)
