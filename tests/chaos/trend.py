"""Whether what was measured over a long time stays what it was: memory, descriptors, latency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

WARMUP = 0.2  # of the time: caches fill, workers start
MAX_GROWTH = 0.1  # of the memory, over the whole time
MAX_DESCRIPTORS = 5.0  # more at the end than at the beginning
MAX_SLOWDOWN = 2.0  # times, beside that of a request that does nothing: the machine may have others to serve


@dataclass(frozen=True)
class Sample:
    """One look at the server: seconds since the start, megabytes, open descriptors, median milliseconds of late."""

    at: float
    server_mb: float
    workers_mb: float
    descriptors: int
    tell_ms: float
    health_ms: float


def slope(samples: Sequence[Sample], name: str) -> float:
    """Growth by the hour: a straight line through what was measured."""
    x, y = ([getattr(sample, field) for sample in samples] for field in ("at", name))
    return float(np.polyfit(x, y, 1)[0]) * 3600


def warm(samples: Sequence[Sample]) -> list[Sample]:
    """Without the beginning."""
    return list(samples[int(WARMUP * len(samples)) :])


def growing(samples: Sequence[Sample]) -> Iterator[str]:
    """What is not flat."""
    hours = (samples[-1].at - samples[0].at) / 3600
    for name in ("server_mb", "workers_mb"):
        mean = float(np.mean([getattr(sample, name) for sample in samples]))
        if (growth := slope(samples, name) * hours) > MAX_GROWTH * mean:
            yield f"{name} grew by {growth:.0f} of {mean:.0f}"
    if (more := slope(samples, "descriptors") * hours) > MAX_DESCRIPTORS:
        yield f"{more:.0f} descriptors more at the end"
    third = len(samples) // 3
    before, after = (_relative_latency(part) for part in (samples[:third], samples[-third:]))
    if after > MAX_SLOWDOWN * before:
        yield f"tells became {after / before:.1f} times slower"


def _relative_latency(samples: Sequence[Sample]) -> float:
    return float(np.median([sample.tell_ms / sample.health_ms for sample in samples]))


def draw(samples: Sequence[Sample], path: Path) -> None:
    """Memory, descriptors and latency over time, as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    minutes = [sample.at / 60 for sample in samples]
    figure, (memory, descriptors, latency) = plt.subplots(3, 1, figsize=(8, 7), sharex=True, layout="constrained")
    memory.plot(minutes, [sample.server_mb for sample in samples], label="server")
    memory.plot(minutes, [sample.workers_mb for sample in samples], label="workers")
    memory.set(ylabel="resident memory, MB", ylim=(0, None))
    descriptors.plot(minutes, [sample.descriptors for sample in samples])
    descriptors.set(ylabel="open descriptors", ylim=(0, None))
    latency.plot(minutes, [sample.tell_ms for sample in samples], label="tell")
    latency.plot(minutes, [sample.health_ms for sample in samples], label="healthz")
    latency.set(ylabel="median latency, ms", xlabel="minutes", yscale="log")
    for axes in (memory, latency):
        axes.legend(fontsize="small")
    for axes in (memory, descriptors, latency):
        axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
