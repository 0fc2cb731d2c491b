"""Structured logs: one JSON object a line on stderr, with the request's id, and never a secret.

Everything is logged through structlog or the standard library; both end in the same lines. A value under a
telling name (`authorization`, `password`, ...) is masked, and so is whatever inside a text looks like an API
key or like the password of a URL, tracebacks included.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Literal, TextIO

import orjson
import structlog
from structlog.typing import EventDict, Processor

MASK = "***"
SECRET_NAMES = {"authorization", "api_key", "key", "password", "secret", "token", "cookie"}
SECRET_TEXTS = [
    (re.compile(r"\bdumbo_[a-z2-7]+_[\w-]+"), MASK),
    (re.compile(r"(?i)\bbearer\s+\S+"), f"Bearer {MASK}"),
    # Of a bounded length: a text as long as a request may have, searched anew from each of its letters, is a trap.
    (re.compile(r"(\w{1,32}://[^/\s:@]*):[^@/\s]+@"), rf"\1:{MASK}@"),
]
# What each of them holds: one search tells that a text needs none, and few texts do.
SUSPECT = re.compile(r"(?i)dumbo_|bearer|://")


def configure(level: str = "info", style: Literal["json", "console"] = "json", stream: TextIO | None = None) -> None:
    """Send every log line of this process to the stream (stderr unless told), in one style."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        mask_secrets,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _renderer(style)],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    quieten_libraries()


def _renderer(style: Literal["json", "console"]) -> Processor:
    if style == "console":
        return structlog.dev.ConsoleRenderer(colors=False)
    return structlog.processors.JSONRenderer(serializer=_dumps)


def _dumps(event: MutableMapping[str, Any], **_: Any) -> str:
    return orjson.dumps(event, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()


def quieten_libraries() -> None:
    """Our own access log replaces uvicorn's, and a routine step of a library is no news."""
    logging.getLogger("uvicorn.access").disabled = True
    # What it warns of, a pipeline that ends after an error, has been raised as that error.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    for name in ("alembic", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = []
        logger.propagate = True
        logger.setLevel(logging.WARNING)


def mask_secrets(_: Any, __: str, event: EventDict) -> EventDict:
    """Mask what must not stand in a log, wherever it stands in the event."""
    return {name: MASK if name.lower() in SECRET_NAMES else _masked(value) for name, value in event.items()}


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        if not SUSPECT.search(value):
            return value
        for pattern, replacement in SECRET_TEXTS:
            value = pattern.sub(replacement, value)
        return value
    if isinstance(value, dict):
        return {k: MASK if str(k).lower() in SECRET_NAMES else _masked(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item) for item in value]
    return value
