"""WLAN: transmission powers of twelve access points that maximize the Shannon capacity of their 36 users.

Node i serves its users with capacity log2(1 + SINR) each; nodes within radio range of i interfere. A node's
factor is itself and those neighbours. Propagation is ns-3's log-distance model with its default reference
loss.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from benchmarks.problems.base import Array, BenchmarkProblem, Scale

REFERENCE_LOSS_DB = 46.6777  # at one metre
EXPONENT = 3.0
BANDWIDTH_HZ = 20e6
NOISE_FIGURE_DB = 7.0
TEMPERATURE_K = 290.0
BOLTZMANN = 1.380649e-23
LARGEST_POWER_DBM = 25.0
SENSITIVITY_DBM = -82.0

# Nodes that send at full power in the best configuration known; the others send at the least. It is the best
# corner of the box, and the best end of 300 L-BFGS-B starts.
LOUD_NODES = (1, 3, 4, 6, 9, 11)
BEST_KNOWN = 147.73768314365705

NOISE_MW = BOLTZMANN * TEMPERATURE_K * BANDWIDTH_HZ * 10 ** (NOISE_FIGURE_DB / 10) * 1e3


def load_topology() -> tuple[Array, Array, Array]:
    """Positions of the nodes (12 x 2), of the users (36 x 2), and the node of each user (36), in metres."""
    data = files("benchmarks.problems") / "data"
    nodes = np.loadtxt((data / "wlan_nodes.csv").read_text().splitlines(), delimiter=",")
    users = np.loadtxt((data / "wlan_users.csv").read_text().splitlines(), delimiter=",")
    return nodes, users[:, 1:], users[:, 0]


def path_loss_db(distance: Array) -> Array:
    """Loss in dB over a distance in metres."""
    return np.asarray(REFERENCE_LOSS_DB + 10 * EXPONENT * np.log10(np.maximum(distance, 1.0)))


def radio_neighbors(nodes: Array) -> list[list[int]]:
    """For each node the others that it hears, and that hear it, at the largest power."""
    distance = np.linalg.norm(nodes[:, None] - nodes[None], axis=-1)
    in_range = LARGEST_POWER_DBM - path_loss_db(distance) >= SENSITIVITY_DBM
    np.fill_diagonal(in_range, False)
    return [np.flatnonzero(row).tolist() for row in in_range]


def wlan(scale: Scale = "linear") -> BenchmarkProblem:
    """Powers in mW; the paper searches them on a linear scale, `scale="log"` in decibels."""
    nodes, users, owner = load_topology()
    n_nodes = len(nodes)
    neighbors = radio_neighbors(nodes)
    gain = 10 ** (-path_loss_db(np.linalg.norm(users[:, None] - nodes[None], axis=-1)) / 10)  # users x nodes
    serves = owner[:, None] == np.arange(n_nodes)  # users x nodes
    interferes = np.array([[k in neighbors[int(i)] for k in range(n_nodes)] for i in owner])

    def terms(x: Array) -> Array:
        received = gain * x  # users x nodes, mW
        sinr = (received * serves).sum(1) / (NOISE_MW + (received * interferes).sum(1))
        return np.asarray(np.log2(1 + sinr) @ serves)

    low, high = 10**0.1, 10**2.5
    return BenchmarkProblem(
        name="wlan" if scale == "linear" else "wlan-log",
        bounds=((low, high),) * n_nodes,
        terms=terms,
        factors=tuple(tuple(sorted([i, *neighbors[i]])) for i in range(n_nodes)),
        optimum=BEST_KNOWN,
        optimizer=tuple(high if i in LOUD_NODES else low for i in range(n_nodes)),
        scales=(scale,) * n_nodes,
    )
