"""A plain client that knows the difference between an answer and none."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

TIMEOUT = 600.0  # longer than the service itself lets anyone wait
PATIENCE = 900.0  # seconds within which a service must answer again, though it may be killed again meanwhile
PAUSE = 0.05
UNAVAILABLE = 503
PAGE = 1000

Found = TypeVar("Found")


def patiently(attempt: Callable[[], Found], *errors: type[Exception]) -> Found:
    """What the attempt gives, once it does not raise one of these errors; the error, if it goes on raising it."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return attempt()
        except errors:
            if time.monotonic() > until:
                raise
            time.sleep(PAUSE)


class NoAnswer(Exception):
    """The connection broke, or there was none, or the service cannot answer now: it may have done it, or not."""


@dataclass(frozen=True)
class Reply:
    """An answer, whatever it says."""

    status: int
    content: bytes
    etag: str | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def body(self) -> Any:
        return json.loads(self.content)


class Caller:
    """One connection that is made anew when it is broken, or for each call: one that is kept but not used for long is
    closed by the other side, perhaps at the very moment of the next call. Used by one thread at a time.
    """

    def __init__(self, url: str, *, keep: bool = True) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT)
        self._keep = keep

    def call(self, method: str, path: str, body: Any = None, key: str | None = None, **others: str) -> Reply:
        """The answer, or `NoAnswer`; also for 503. The others are headers."""
        headers = {} if body is None else {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        headers |= {name.replace("_", "-"): value for name, value in others.items()}
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            reply = Reply(answer.status, answer.read(), answer.getheader("ETag"))
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise NoAnswer(repr(error)) from error
        if not self._keep:
            self._connection.close()
        if reply.status == UNAVAILABLE:
            raise NoAnswer(reply.content.decode())
        return reply

    def get(self, path: str) -> Any:
        """What a GET gives, which must succeed sooner or later."""
        reply = patiently(lambda: self.call("GET", path), NoAnswer)
        if not reply.ok:
            raise RuntimeError(f"GET {path}: {reply.status} {reply.content!r}")
        return reply.body

    def trials(self, study: str) -> Iterator[dict[str, Any]]:
        """Every trial of a study, by number."""
        path = f"{study}/trials?limit={PAGE}"
        page = self.get(path)
        yield from page["trials"]
        while page["next_cursor"]:
            page = self.get(f"{path}&cursor={page['next_cursor']}")
            yield from page["trials"]

    def close(self) -> None:
        self._connection.close()
