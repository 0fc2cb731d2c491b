"""The yardstick: a FastAPI endpoint that does one one-row transaction and nothing else.

It uses the same driver, the same connections and the same durability as the service, so that what it is faster by
is what the service does beyond the bare minimum. Run as `python -m benchmarks.load.bare DATABASE_URL ROWS`.
"""

from __future__ import annotations

import sys

import sqlalchemy as sa
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from service.server import address, listen
from service.storage.database import Database

TABLE = sa.Table(
    "bare",
    sa.MetaData(),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("value", sa.Double),
)


class Told(BaseModel):
    trial: int
    value: float


def create_app(url: str, rows: int) -> FastAPI:
    """The application, on a table of its own with that many rows."""
    database = Database(url)
    with database.write() as tx:
        TABLE.create(tx)
        tx.execute(sa.insert(TABLE), [{"number": number} for number in range(rows)])
    app = FastAPI(openapi_url=None)

    @app.post("/tell")
    def tell(told: Told) -> dict[str, int]:
        with database.write() as tx:
            tx.execute(sa.update(TABLE).where(TABLE.c.number == told.trial).values(value=told.value))
        return {"trial": told.trial}

    @app.get("/readyz")
    def readyz() -> dict[str, str]:
        return {"status": "ready"}

    return app


def main(url: str, rows: str) -> None:
    app = create_app(url, int(rows))
    with listen("127.0.0.1", 0) as listener:
        print(f"listens on {address(listener)}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
