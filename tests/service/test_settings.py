"""Settings from the environment."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from service.settings import Settings, unknown_variables


def test_defaults_serve_a_newcomer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a single variable: this machine only, port 8000, a file in the working directory, no keys."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"DUMBO_{name.upper()}", raising=False)
    settings = Settings()
    assert (settings.host, settings.port, settings.database_url) == ("127.0.0.1", 8000, "sqlite:///dumbo.db")
    assert settings.on_loopback
    assert not settings.auth_required
    assert settings.queue_size >= 64
    assert settings.workers >= 1


def test_variables_are_read_when_settings_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment counts, an empty variable does not, and what is given by hand wins."""
    monkeypatch.setenv("DUMBO_PORT", "9000")
    monkeypatch.setenv("DUMBO_WORKERS", "")
    assert Settings().port == 9000
    assert Settings().workers >= 1
    assert Settings(port=9001).port == 9001


@pytest.mark.parametrize(
    ("host", "auth", "required"),
    [
        ("127.0.0.1", "auto", False),
        ("127.8.8.8", "auto", False),
        ("::1", "auto", False),
        ("localhost", "auto", False),
        ("0.0.0.0", "auto", True),
        ("::", "auto", True),
        ("10.0.0.7", "auto", True),
        ("dumbo.example", "auto", True),
        ("127.0.0.1", "on", True),
        ("0.0.0.0", "off", False),
    ],
)
def test_keys_are_asked_for_off_loopback(host: str, auth: str, required: bool) -> None:
    """Unless said otherwise, whoever can be reached from elsewhere asks for keys."""
    assert Settings.model_validate({"host": host, "auth": auth}).auth_required is required


@pytest.mark.parametrize(
    ("name", "value"), [("PORT", "65536"), ("WORKERS", "0"), ("ASK_DEADLINE", "-1"), ("AUTH", "?")]
)
def test_nonsense_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Each setting has bounds, and the error names it."""
    monkeypatch.setenv(f"DUMBO_{name}", value)
    with pytest.raises(ValidationError, match=name.lower()):
        Settings()


@pytest.mark.parametrize(("limit", "taken"), [(0, True), (1, False), (299, False), (300, True)])
def test_a_worker_has_the_memory_to_start(limit: int, taken: bool) -> None:
    """A limit under which no worker would ever be ready is refused, not found out by asks that wait."""
    if taken:
        assert Settings(worker_memory_mb=limit).worker_memory_mb == limit
    else:
        with pytest.raises(ValidationError, match="no worker could start"):
            Settings(worker_memory_mb=limit)


def test_misspelt_variables_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable with our prefix that is no setting is most likely a slip."""
    monkeypatch.setenv("DUMBO_DATABSE_URL", "sqlite:///x.db")
    monkeypatch.setenv("DUMBO_PORT", "9000")
    assert unknown_variables() == ["DUMBO_DATABSE_URL"]
