"""What the rivals built on BoTorch share: its standard model, and the maximization of an acquisition."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.exceptions.warnings import BadInitialCandidatesWarning, InputDataWarning, OptimizationWarning
from botorch.fit import fit_gpytorch_mll
from botorch.models.gp_regression import SingleTaskGP
from botorch.optim.optimize import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.warnings import NumericalWarning

from benchmarks.problems import Array

NUM_RESTARTS = 10
RAW_SAMPLES = 512

# BoTorch retries by itself after these; its user sees the answer, not the attempts.
_RETRIED = (
    BadInitialCandidatesWarning,
    InputDataWarning,
    OptimizationWarning,
    NumericalWarning,
    RuntimeWarning,
)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """BoTorch draws from torch's global generator: seed it inside, and leave it outside as it was."""
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        for category in _RETRIED:
            warnings.simplefilter("ignore", category)
        torch.manual_seed(seed)
        yield


def tensors(U: Array, y: Array) -> tuple[torch.Tensor, torch.Tensor]:
    """t x d and t x 1, in double precision."""
    return torch.as_tensor(U, dtype=torch.double), torch.as_tensor(y, dtype=torch.double)[:, None]


def fit_standard_model(U: Array, y: Array, **model: Any) -> SingleTaskGP:
    """BoTorch's default model, priors and standardization, fitted by its default routine."""
    X, Y = tensors(U, y)
    gp = SingleTaskGP(X, Y, **model)
    # Points on top of each other can defeat every attempt; the priors' own values still make a model.
    with suppress(ModelFittingError):
        fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
    return gp


def maximize(acquisition: Any, bounds: Array) -> Array:
    """The best of BoTorch's multi-start L-BFGS-B inside the bounds (2 x d)."""
    point, _ = optimize_acqf(
        acquisition,
        bounds=torch.as_tensor(bounds, dtype=torch.double),
        q=1,
        num_restarts=NUM_RESTARTS,
        raw_samples=RAW_SAMPLES,
    )
    return np.asarray(point.detach().numpy()[0], dtype=float)


def unit_bounds(n_dims: int) -> Array:
    """2 x d"""
    return np.stack([np.zeros(n_dims), np.ones(n_dims)])
