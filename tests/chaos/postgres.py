"""Postgres in trouble: restarted, refusing connections, or holding what every connection of ours waits for."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg

from service.storage.database import READERS
from service.storage.schema import upgrade
from tests.chaos.outage import Witness, finding, witness
from tests.chaos.report import Finding
from tests.support.postgres import Cluster, postgres_cluster
from tests.support.server import running_server

TIMES = {"Postgres restarted": 20, "Postgres refuses connections": 20, "connection pool exhausted": 4}
Fault = Callable[[Cluster, str, Witness], None]


def findings(scale: float) -> Iterator[Finding]:
    for what, fault in FAULTS.items():
        yield suffered(what, fault, max(1, round(TIMES[what] * scale)))


def suffered(what: str, fault: Fault, times: int) -> Finding:
    """Let a server live through the fault so many times."""
    started = time.monotonic()
    with postgres_cluster(durable=True) as cluster:
        name = cluster.server.create()
        upgrade(cluster.server.url(name))
        with running_server(cluster.server.url(name)) as server, witness(server.url) as client:
            for _ in range(times):
                client.until("a tell before", client.tell)
                fault(cluster, name, client)
                client.recovers()
    return finding(what, "postgres", times, started, client)


def restarted(cluster: Cluster, name: str, client: Witness) -> None:
    cluster.stop(signal.SIGINT)  # a fast shutdown: whoever is connected is thrown out
    _is_honest(client)
    cluster.start()


def refusing(cluster: Cluster, name: str, client: Witness) -> None:
    with _administering(cluster) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        _is_honest(client)
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


def exhausted(cluster: Cluster, name: str, client: Witness) -> None:
    """Somebody holds the table of trials; twice as many tells as there are connections wait for it in vain."""
    with psycopg.connect(cluster.server.url(name)) as holder, ThreadPoolExecutor(2 * READERS) as pool:
        holder.execute("LOCK TABLE trials IN ACCESS EXCLUSIVE MODE")
        tells = [pool.submit(client.tell) for _ in range(2 * READERS)]
        acknowledged = sum(tell.result() for tell in tells)
        client.expect(f"{acknowledged} tells were acknowledged that could not be stored", not acknowledged)
        client.expect("the process seems dead", client.call("GET", "/healthz") is not None)


FAULTS: dict[str, Fault] = {
    "Postgres restarted": restarted,
    "Postgres refuses connections": refusing,
    "connection pool exhausted": exhausted,
}


def _is_honest(client: Witness) -> None:
    """While there is no database nothing is acknowledged, and it says that it is not ready."""
    client.expect("a tell was acknowledged without a database", not client.tell())
    client.expect("ready without a database", not client.ready())
    client.expect("the process seems dead", client.call("GET", "/healthz") is not None)


@contextmanager
def _administering(cluster: Cluster) -> Iterator[psycopg.Connection]:
    with psycopg.connect(cluster.server.url("postgres"), autocommit=True) as connection:
        yield connection
