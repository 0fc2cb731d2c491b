"""Log lines: JSON, joined by request id, and free of secrets."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from service import logs
from service.auth import keys


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where the process logs to during the test."""
    configured = structlog.get_config()
    stream = io.StringIO()
    logs.configure("info", "json", stream)
    yield stream
    structlog.configure(**configured)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_lines_are_json_with_the_request_id(stream: io.StringIO) -> None:
    """Our own and foreign loggers write the same kind of line, with what the context holds."""
    with structlog.contextvars.bound_contextvars(request_id="r-1"):
        structlog.get_logger("dumbo.test").info("asked", count=2)
        logging.getLogger("somebody.else").warning("slow by %s s", 3)
    ours, theirs = lines(stream)
    assert ours | {"timestamp": ""} == {
        "event": "asked",
        "count": 2,
        "request_id": "r-1",
        "level": "info",
        "logger": "dumbo.test",
        "timestamp": "",
    }
    assert (theirs["event"], theirs["level"], theirs["request_id"]) == ("slow by 3 s", "warning", "r-1")


def test_level_is_respected(stream: io.StringIO) -> None:
    """Entries below the level are not written."""
    structlog.get_logger("dumbo.test").debug("detail")
    assert stream.getvalue() == ""


def test_secrets_are_masked_wherever_they_stand(stream: io.StringIO) -> None:
    """Keys, bearer headers and passwords of URLs show neither as values, nor in texts, nor in tracebacks."""
    token = keys.new_token(keys.new_id())
    password = "hunter2-hunter2"
    url = f"postgresql://dumbo:{password}@db.example/dumbo"
    log = structlog.get_logger("dumbo.test")
    log.info("call", authorization=f"Bearer {token}", headers={"Authorization": token, "seen": [token]})
    log.info(f"refused {token} for {url}")
    logging.getLogger("somebody.else").error("cannot connect to %s", url)
    try:
        raise ValueError(f"bad key {token} at {url}")
    except ValueError:
        log.exception("failed")
    text = stream.getvalue()
    assert token not in text
    assert token.rpartition("_")[2] not in text
    assert password not in text
    assert "db.example" in text
    assert "ValueError: bad key ***" in lines(stream)[-1]["exception"]
