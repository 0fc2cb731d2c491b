"""Cosmo: nine cosmological constants that explain the clustering of galaxies in BOSS DR9 CMASS.

The log-likelihood of the five quantities measured by Chuang et al. (2013) at redshift 0.57, computed with
CAMB. There is no known decomposition. An inconsistent universe, and any worse than that, has the value -60.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.problems.base import Array, BenchmarkProblem

REDSHIFT = 0.57
FLOOR = -60.0

# H (km/s/Mpc), D_A (Mpc), Omega_m h^2, b sigma8, f sigma8
MEASURED = np.array([87.6, 1396.0, 0.126, 1.19, 0.428])
_UPPER = np.array(
    [
        [0.03850, -0.001141, -13.53, 0.4007, -1.271],
        [0.0, 0.0008662, 3.354, -0.1598, -0.3059],
        [0.0, 0.0, 19370, -987.8, -770.0],
        [0.0, 0.0, 0.0, 110.8, 78.67],
        [0.0, 0.0, 0.0, 0.0, 411.3],
    ]
)
INVERSE_COVARIANCE = _UPPER + np.triu(_UPPER, 1).T

BOUNDS = {
    "h0": (0.55, 0.85),
    "omega_m": (0.10, 0.45),
    "omega_b": (0.01, 0.12),
    "omega_k": (-0.1, 0.1),
    "w": (-1.6, -0.4),
    "n_s": (0.8, 1.1),
    "1e9 A_s": (1.0, 3.5),
    "bias": (1.0, 2.6),
    "sum m_nu": (0.0, 1.0),  # eV
}


def log_likelihood(quantities: Array) -> float:
    """Gaussian, up to its constant: zero at the measured quantities."""
    difference = quantities - MEASURED
    return float(-0.5 * difference @ INVERSE_COVARIANCE @ difference)


def _universe(camb: ModuleType, x: Array) -> Any | None:
    """CAMB's parameters, or None where baryons and neutrinos outweigh all matter."""
    h0, omega_m, omega_b, omega_k, w, n_s, a_s, _, m_nu = x
    universe = camb.CAMBparams()
    universe.WantCls = False
    universe.set_cosmology(H0=100 * h0, ombh2=omega_b * h0**2, omch2=0.1, mnu=m_nu, omk=omega_k)
    cold_dark_matter = (omega_m - omega_b) * h0**2 - universe.omnuh2
    if cold_dark_matter <= 0:
        return None
    universe.omch2 = cold_dark_matter
    universe.set_dark_energy(w=w, dark_energy_model="ppf")
    universe.InitPower.set_params(As=1e-9 * a_s, ns=n_s)
    universe.set_matter_power(redshifts=[REDSHIFT], kmax=2.0)
    return universe


def predicted(x: Array) -> Array | None:
    """The five quantities in this universe; None where it is inconsistent."""
    import camb

    h0, omega_m, bias = x[0], x[1], x[7]
    universe = _universe(camb, x)
    if universe is None:
        return None
    try:
        results = camb.get_results(universe)
        sigma8, f_sigma8 = results.get_sigma8()[0], results.get_fsigma8()[0]
        hubble, distance = results.hubble_parameter(REDSHIFT), results.angular_diameter_distance(REDSHIFT)
    except camb.CAMBError:
        return None
    return np.array([hubble, distance, omega_m * h0**2, bias * sigma8, f_sigma8])


def cosmo() -> BenchmarkProblem:
    """Half a second or so per evaluation."""

    def terms(x: Array) -> Array:
        quantities = predicted(x)
        if quantities is None or not np.isfinite(quantities).all():
            return np.array([FLOOR])
        return np.array([max(FLOOR, log_likelihood(quantities))])

    return BenchmarkProblem(name="cosmo", bounds=tuple(BOUNDS.values()), terms=terms)
