"""Listening, and serving until a signal says otherwise."""

from __future__ import annotations

import resource
import signal
import socket
import sys

import uvicorn
from starlette.types import ASGIApp

from service.protocol import bounded
from service.settings import Settings

BACKLOG = 2048
# A thread that comes back from the database waits this long before it may interrupt the event loop, where Python's own
# is 5 ms. It comes back after every statement, and holds locks meanwhile.
SWITCH_SECONDS = 0.0005
OWN_FILES = 512  # for the database, the workers and what libraries open
KEEP_ALIVE_SECONDS = 75  # longer than the usual idle timeout of a proxy in front, which should be first to close


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Connections made from now on are answered as soon as the application is up."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    # Accepted connections inherit it. asyncio would set it only on sockets made with an explicit protocol, and
    # without it an answer's body waits 40 ms for the acknowledgement of its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address(listener: socket.socket) -> str:
    """Where the socket can be reached, as a URL."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 (recognized here, not bound)
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _room(connections: int) -> int:
    """How many connections to take: as many as wanted, if the system lets one process open so many files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = connections + OWN_FILES
    if hard != resource.RLIM_INFINITY:
        files = min(files, hard)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return max(files - OWN_FILES, 1)


def run(app: ASGIApp, listener: socket.socket, settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; then finish the requests in flight, within the time they have."""
    config = uvicorn.Config(
        app,
        http=bounded(settings.header_timeout, settings.body_timeout, _room(settings.max_connections)),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.shutdown_timeout,
    )
    # uvicorn raises the signal anew after it has shut down; having obeyed it, we end as a success.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    sys.setswitchinterval(SWITCH_SECONDS)
    uvicorn.Server(config).run(sockets=[listener])
