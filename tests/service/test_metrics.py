"""What a scrape shows."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from service.metrics import Metrics


def samples(metrics: Metrics) -> dict[tuple[str, tuple[str, ...]], float]:
    """Values by name and label values."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {(s.name, tuple(s.labels.values())): s.value for family in families for s in family.samples}


def test_requests_asks_and_phases_are_counted() -> None:
    """Each is counted under its labels, and two applications do not mix."""
    metrics, other = Metrics(), Metrics()
    metrics.request("POST", "/v1/studies/{study}/ask", 200, 0.02)
    metrics.request("POST", "/v1/studies/{study}/ask", 503, 0.01)
    metrics.asked(["dumbo", "dumbo", "random"])
    metrics.ask_phase("compute", 0.5)
    seen = samples(metrics)
    assert seen["dumbo_requests_total", ("POST", "/v1/studies/{study}/ask", "503")] == 1
    assert seen["dumbo_request_seconds_count", ("POST", "/v1/studies/{study}/ask")] == 2
    assert seen["dumbo_asked_trials_total", ("dumbo",)] == 2
    assert seen["dumbo_asked_trials_total", ("random",)] == 1
    assert seen["dumbo_ask_seconds_sum", ("compute",)] == 0.5
    assert ("dumbo_asked_trials_total", ("dumbo",)) not in samples(other)


def test_queue_and_trials_are_read_at_the_scrape() -> None:
    """A scrape shows how things are at that moment."""
    metrics, waiting, trials = Metrics(), [], {"running": 1}
    metrics.watch_queue(lambda: len(waiting))
    metrics.watch_trials(lambda: trials)
    assert samples(metrics)["dumbo_queue_length", ()] == 0
    waiting += [1, 2]
    trials["completed"] = 5
    seen = samples(metrics)
    assert seen["dumbo_queue_length", ()] == 2
    assert seen["dumbo_trials", ("completed",)] == 5
    assert seen["dumbo_trials", ("running",)] == 1
