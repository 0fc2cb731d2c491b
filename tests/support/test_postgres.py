"""The Postgres that the other tests stand on."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg

from tests.support.postgres import PostgresServer, postgres_cluster

OWNER = """
import psycopg, time
from tests.support.postgres import postgres_server
with postgres_server() as server:
    with psycopg.connect(server.url("postgres")) as connection:
        print(connection.execute("SHOW data_directory").fetchone()[0], flush=True)
    time.sleep(600)
"""


def test_copies_of_a_template_are_independent(postgres: PostgresServer) -> None:
    """A database made from a template has its rows, and writes to one do not show in the other."""
    template = postgres.create()
    with psycopg.connect(postgres.url(template)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    copy = postgres.create(template)
    with psycopg.connect(postgres.url(copy)) as connection:
        connection.execute("INSERT INTO t VALUES (2)")
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (2,)
    with psycopg.connect(postgres.url(template)) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (1,)
    postgres.drop(copy)
    postgres.drop(template)


def test_server_dies_with_the_process_that_started_it() -> None:
    """Killing the test process leaves no Postgres behind."""
    environment = {name: value for name, value in os.environ.items() if name != "TEST_DATABASE_URL"}
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, env=environment) as owner:
        assert owner.stdout is not None
        data = Path(owner.stdout.readline().decode().strip())
        postmaster = os.pidfd_open(int((data / "postmaster.pid").read_text().split()[0]))
        owner.kill()
    ended, _, _ = select.select([postmaster], [], [], 20)
    os.close(postmaster)
    shutil.rmtree(data.parent)
    assert ended


def test_a_killed_cluster_starts_again_with_what_was_committed() -> None:
    """Kill -9 of every process of it, in the middle of a transaction: what was committed is there, the rest is not."""
    with postgres_cluster(durable=True) as cluster:
        url = cluster.server.url("postgres")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS x")
        open_one = psycopg.connect(url)
        open_one.execute("INSERT INTO t VALUES (2)")
        cluster.kill()
        cluster.start()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT x FROM t").fetchall() == [(1,)]
        open_one.close()
