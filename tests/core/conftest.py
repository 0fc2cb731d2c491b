"""Hypothesis draws the same examples every time, without deadlines: the suite runs on busy machines."""

from __future__ import annotations

import warnings

import hypothesis
import torch

with warnings.catch_warnings():
    # gpytorch's own import uses a deprecated part of torch; a warning of ours would still be an error.
    warnings.simplefilter("ignore", DeprecationWarning)
    import gpytorch  # noqa: F401

hypothesis.settings.register_profile("core", deadline=None, derandomize=True, max_examples=30, database=None)
hypothesis.settings.load_profile("core")
torch.set_num_threads(1)  # the tests already run in as many processes as there are cores
