"""Output transforms: raw values to numbers a Gaussian process can live with, and back.

First the values are centred and divided by their spread, then bent, then standardised. Two families bend them:

- Yeo and Johnson's powers (2000), centred on the median; 1 is the identity. Those above 1 compress a long lower tail;
  those below 1, which would flatten the best values, are not offered.
- The logarithm of the gap to the best value, where the good values themselves are of many orders of magnitude. It
  takes over from the identity at a quantile of the earlier gaps, and goes by that quantile with a minus sign.

Which one is chosen by the model's evidence with the Jacobian (see `core.sums`).
Values of any finite magnitude are welcome: everything is first divided by the largest one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.space import Array

POWERS = (1.0, 1.5, 2.0, 2.5)
LOGS = (-0.5, -0.25, -0.1, -0.02)
BENDS = POWERS + LOGS


@dataclass(frozen=True)
class OutputTransform:
    """y -> (bent((y / unit - center) / spread) - shift) / scale; increasing."""

    unit: float = 1.0
    center: float = 0.0
    spread: float = 1.0
    power: float = 1.0  # one of BENDS
    shift: float = 0.0
    scale: float = 1.0
    low: float = -np.inf  # the values it was fitted on reach from here ...
    high: float = np.inf  # ... to here

    @classmethod
    def fit(cls, y: Array, power: float = 1.0) -> OutputTransform:
        """Standardise these values, bent by the given power, or by the logarithm from a quantile on."""
        unit = float(np.abs(y).max(initial=0.0)) or 1.0
        v = y / unit
        center, spread = _middle(v) if power > 0.0 else _top(v, -power)
        z = _bent(torch.as_tensor((v - center) / spread), *_exponents(power)).numpy()
        shift = float(z.mean()) if z.size else 0.0
        scale = float(z.std()) if z.size else 1.0
        # Rounding alone makes the spread of a constant tell-tale tiny: treat it as no spread at all.
        if scale <= 1e-12 * max(1.0, abs(shift)):
            scale = 1.0
        low, high = (float(y.min()), float(y.max())) if y.size else (-np.inf, np.inf)
        return cls(unit, center, spread, power, shift, scale, low, high)

    @property
    def is_affine(self) -> bool:
        return self.power == 1.0

    def forward(self, y: Tensor) -> Tensor:
        return (_bent(self._standard(y), *_exponents(self.power)) - self.shift) / self.scale

    def inverse(self, z: Tensor) -> Tensor:
        v = _straight(z * self.scale + self.shift, *_exponents(self.power))
        return (v * self.spread + self.center) * self.unit

    def inverse_slope(self, z: Tensor) -> Tensor:
        """d inverse / dz, positive."""
        v = _straight(z * self.scale + self.shift, *_exponents(self.power))
        return self.scale * self.spread * self.unit * torch.exp(-_log_slope(v, self.power))

    def sd_forward(self, y: Tensor, sd: Tensor) -> Tensor:
        """A standard deviation at y carried over to model units (first order)."""
        slope = torch.exp(_log_slope(self._standard(y), self.power))
        return sd / self.unit / self.spread * slope / self.scale

    def log_jacobian(self, y: Tensor) -> float:
        """sum of log dz/dy, with y in its unit."""
        return float(_log_slope(self._standard(y), self.power).sum()) - y.numel() * float(
            np.log(self.scale) + np.log(self.spread)
        )

    def _standard(self, y: Tensor) -> Tensor:
        return (y / self.unit - self.center) / self.spread

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def _middle(v: Array) -> tuple[float, float]:
    """The median, and the spread of the middle half."""
    low, center, high = _quartiles(v)
    # Where most values are all but equal, the far ones set the scale: nothing may overflow.
    return center, max(high - low, 1e-6 * float(np.abs(v - center).max(initial=0.0))) or 1.0


def _top(v: Array, quantile: float) -> tuple[float, float]:
    """The best value, and how far below it this share of the others lies, by those told first.

    The latter half of a search may lie all but on its optimum: by it, the logarithm would make ever more of ever less.
    """
    best = float(v.max(initial=-np.inf)) if v.size else 0.0
    early = v[: -(-v.size // 2)]
    others = early[early < best] if (early < best).any() else v[v < best]
    if not others.size:
        return best, 1.0
    gaps = np.sort(best - others)
    return best, max(float(gaps[int(quantile * (gaps.size - 1))]), 1e-12 * float(gaps[-1]))


def _quartiles(v: Array) -> tuple[float, float, float]:
    """By linear interpolation, as numpy's `quantile`, which takes many times as long for a short history."""
    if not v.size:
        return 0.0, 0.0, 0.0
    places = (v.size - 1) * np.array([0.25, 0.5, 0.75])
    below = places.astype(np.int64)
    s = np.sort(v)
    lower, upper = s[below], s[np.minimum(below + 1, v.size - 1)]
    low, middle, high = lower + (places - below) * (upper - lower)
    return float(low), float(middle), float(high)


def _exponents(power: float) -> tuple[float, float]:
    """Of values above the centre and below it: Yeo and Johnson's, or a line and a logarithm."""
    return (power, 2.0 - power) if power > 0.0 else (1.0, 0.0)


def _bent(v: Tensor, above: float, below: float) -> Tensor:
    """Increasing in v, 0 and of slope 1 at 0."""
    if above == below == 1.0:
        return v
    return _bend(v.clamp(min=0.0), above) - _bend((-v).clamp(min=0.0), below)


def _straight(z: Tensor, above: float, below: float) -> Tensor:
    """The inverse of `_bent`."""
    if above == below == 1.0:
        return z
    return _unbend(z.clamp(min=0.0), above) - _unbend((-z).clamp(min=0.0), below)


def _bend(v: Tensor, power: float) -> Tensor:
    """((1 + v)^power - 1) / power for v >= 0."""
    if power == 0.0:
        return torch.log1p(v)
    return torch.expm1(power * torch.log1p(v)) / power


def _unbend(z: Tensor, power: float) -> Tensor:
    if power == 0.0:
        return torch.expm1(z.clamp(max=600.0))
    # A negative power bends towards an asymptote at -1/power that no value reaches: stop just short of it.
    base = torch.log1p((power * z).clamp(min=-1 + 1e-9)) / power
    return torch.expm1(base.clamp(max=600.0))


def _log_slope(v: Tensor, power: float) -> Tensor:
    """log d bent / dv = (exponent - 1) log(1 + |v|)"""
    above, below = _exponents(power)
    return torch.where(v > 0.0, above - 1.0, below - 1.0) * torch.log1p(v.abs())
