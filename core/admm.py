"""Message passing between factor nodes and variable nodes (Alg. 1, eqs. 15 to 18), for all factors and starts at once.

Factor node i maximises its own part of the augmented Lagrangian,

    L_i = phi_i(x^(i)) - duals_i . (x^(i) - consensus_i) - penalty/2 |x^(i) - consensus_i|^2        (eq. 15)

by projected gradient ascent, and sends its point and its variance. Variable node j averages what its factors sent
(eq. 16), the duals follow (eq. 17), and the variances go on to the neighbours as their c_i. A variable that only one
factor has is nothing to agree on, and bears no penalty. The penalty is balanced between the residuals (Boyd et al.
2011, 3.4.1). The method is anytime: the consensus with the best true value of phi is kept for every start, whatever
ends the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from core.layout import Layout

BALANCE_RATIO = 10.0
BALANCE_STEP = 2.0


class Objective(Protocol):
    """A sum of local functions of a factor graph's factors, such as `core.acquisition.Acquisition`."""

    @property
    def layout(self) -> Layout: ...
    def value(self, x: Tensor) -> Tensor: ...
    def local(self, x_local: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]: ...
    def messages(self, var: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class AdmmResult:
    """Best consensus of each start, its value, and how the loop went."""

    consensus: Tensor  # S x n_columns
    value: Tensor  # S
    duals: Tensor  # n x S x m, at the last iteration
    iterations: int
    primal_residuals: list[float]  # per iteration, the largest over starts
    dual_residuals: list[float]
    stopped_by: str  # "residuals", "iterations" or "deadline"


@dataclass(frozen=True)
class _Messages:
    """What a variable node knows: how many factors use each column, which may move, and which are to be agreed on."""

    layout: Layout
    degree: Tensor  # n_columns
    free: Tensor  # n x m: 1 where a factor's column may move
    shared: Tensor  # n x m: 1 where another factor has a copy of the column, 0 where there is nothing to agree on

    def average(self, x_local: Tensor, consensus: Tensor) -> Tensor:
        """Eq. 16: S x n_columns, the mean of the factors' copies; a fixed column stays where it is."""
        total = torch.zeros_like(consensus.T)  # n_columns x S
        weighted = x_local * self.layout.mask[:, None, :]
        total.index_add_(0, self.layout.columns.flatten(), weighted.transpose(1, 2).reshape(-1, len(consensus)))
        return (total / self.degree[:, None]).T


def admm(
    objective: Objective,
    starts: Tensor,
    *,
    free: Tensor | None = None,
    x_local: Tensor | None = None,
    max_iterations: int = 30,
    local_steps: int = 6,
    penalty: float = 1.0,
    tolerance: float = 1e-3,
    expired: Callable[[], bool] = lambda: False,
) -> AdmmResult:
    """Maximise from several starts (S x n_columns) in the unit cube.

    `free` marks the columns that may move; `x_local` (n x S x m) starts the factors elsewhere than at the consensus.
    """
    layout = objective.layout
    free = torch.ones(starts.shape[1], dtype=torch.float64) if free is None else free.double()
    degree = torch.zeros_like(free).index_add_(0, layout.columns.flatten(), layout.mask.flatten())
    shared = (degree > 1.0).double()[layout.columns] * layout.mask
    node = _Messages(layout, degree.clamp(min=1.0), free[layout.columns] * layout.mask, shared)

    consensus = starts.clone()
    local = layout.gather(consensus) if x_local is None else x_local
    duals = torch.zeros_like(local)
    eta = torch.full((len(starts),), penalty, dtype=torch.float64)  # one penalty per start
    no_message = torch.zeros(local.shape[:2], dtype=torch.float64)
    if not bool(shared.any()):  # plain ascent of every factor
        steps = max_iterations * local_steps
        local, value, _ = _ascend(objective, local, no_message, local, duals, eta, node, steps)
        return AdmmResult(node.average(local, consensus), value.sum(0), duals, 1, [0.0], [0.0], "residuals")
    best, best_value = consensus.clone(), objective.value(consensus)
    c = objective.messages(objective.local(local, no_message)[2])
    primal, dual = [], []
    stopped_by = "iterations"
    for _ in range(max_iterations):
        anchor = layout.gather(consensus)
        local, _, var = _ascend(objective, local, c, anchor, duals, eta, node, local_steps)
        c = objective.messages(var)
        previous, consensus = consensus, node.average(local, consensus)
        gap = (local - layout.gather(consensus)) * layout.mask[:, None, :]
        duals = duals + eta[None, :, None] * gap
        value = objective.value(consensus)
        better = value > best_value
        best[better], best_value = consensus[better], torch.maximum(value, best_value)

        r = gap.square().sum((0, 2)).sqrt()  # S
        s = eta * ((consensus - previous).square() * degree).sum(1).sqrt()
        primal.append(float(r.max()))
        dual.append(float(s.max()))
        if bool((r <= tolerance).all() and (s <= tolerance).all()):
            stopped_by = "residuals"
            break
        if expired():
            stopped_by = "deadline"
            break
        eta = torch.where(r > BALANCE_RATIO * s, eta * BALANCE_STEP, eta)
        eta = torch.where(s > BALANCE_RATIO * r, eta / BALANCE_STEP, eta)
    return AdmmResult(best, best_value, duals, len(primal), primal, dual, stopped_by)


def _ascend(
    objective: Objective,
    x: Tensor,
    c: Tensor,
    anchor: Tensor,
    duals: Tensor,
    eta: Tensor,
    node: _Messages,
    steps: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Local ascent of eq. 15 inside the unit cube; returns the points, and the values and variances there.

    Barzilai and Borwein's step, halved twice for every factor and start whose value would fall.
    """

    def lagrangian(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        value, gradient, var = objective.local(x, c)
        gap = (x - anchor) * node.shared[:, None, :]
        value = value - (duals * gap).sum(-1) - 0.5 * eta * gap.square().sum(-1)
        gradient = (gradient - duals - eta[None, :, None] * gap) * node.free[:, None, :]
        return value, gradient, var

    value, gradient, var = lagrangian(x)
    # A first step that moves no coordinate by more than a tenth of the cube, nor beyond the penalty's own scale.
    step = torch.minimum(0.1 / gradient.abs().amax(-1).clamp(min=1e-12), 1.0 / eta.expand_as(value))
    for _ in range(steps):
        trial = (x + step[..., None] * gradient).clamp(0.0, 1.0)
        new_value, new_gradient, new_var = lagrangian(trial)
        up = new_value >= value
        moved, bent = trial - x, gradient - new_gradient
        curvature = (moved * bent).sum(-1)
        secant = moved.square().sum(-1) / curvature.clamp(min=1e-16)
        grown = torch.where(curvature > 0, secant.clamp(max=1e3), 2.0 * step)
        step = torch.where(up, grown, 0.25 * step)
        keep = up[..., None]
        x, gradient = torch.where(keep, trial, x), torch.where(keep, new_gradient, gradient)
        value, var = torch.where(up, new_value, value), torch.where(up, new_var, var)
    return x, value, var
