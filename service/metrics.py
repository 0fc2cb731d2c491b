"""What Prometheus can scrape. One `Metrics` per application, with a registry of its own.

Routes are labelled by their template (`/v1/studies/{study}/ask`), so that the number of series stays bounded.
Gauges of things that live elsewhere (the queue, the trials in the database) are read when a scrape comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_LATEST
REQUEST_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
ASK_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """Counts and times. Thread-safe."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "dumbo_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self._request_seconds = Histogram(
            "dumbo_request_seconds",
            "Time to answer a request.",
            ["method", "route"],
            buckets=REQUEST_SECONDS,
            registry=self.registry,
        )
        self._asked = Counter("dumbo_asked_trials", "Trials proposed.", ["origin"], registry=self.registry)
        self._ask_seconds = Histogram(
            "dumbo_ask_seconds",
            "Time an ask spent in each of its phases.",
            ["phase"],
            buckets=ASK_SECONDS,
            registry=self.registry,
        )

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    def asked(self, origins: Iterable[str]) -> None:
        """New trials by origin: `initial`, `dumbo`, or a fallback."""
        for origin in origins:
            self._asked.labels(origin).inc()

    def ask_phase(self, phase: str, seconds: float) -> None:
        self._ask_seconds.labels(phase).observe(seconds)

    def watch_queue(self, length: Callable[[], int]) -> None:
        """Report how many jobs wait for a worker."""
        self._watch("dumbo_queue_length", "Jobs that wait for a worker.", None, lambda: {"": length()})

    def watch_trials(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """Report the trials of all studies by state."""
        self._watch("dumbo_trials", "Trials by state, of all studies.", "state", counts)

    def render(self) -> bytes:
        """The text of a scrape, of type `CONTENT_TYPE`."""
        return generate_latest(self.registry)

    def _watch(self, name: str, text: str, label: str | None, read: Callable[[], Mapping[str, int]]) -> None:
        self.registry.register(_Watched(name, text, label, read))


class _Watched(Collector):
    """A gauge that is read when a scrape comes."""

    def __init__(self, name: str, text: str, label: str | None, read: Callable[[], Mapping[str, int]]) -> None:
        self._name, self._text, self._label, self._read = name, text, label, read

    def describe(self) -> Iterator[Metric]:
        yield self._family()

    def collect(self) -> Iterator[Metric]:
        family = self._family()
        for value, count in self._read().items():
            family.add_metric([value] if self._label else [], count)
        yield family

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self._name, self._text, labels=[self._label] if self._label else [])
