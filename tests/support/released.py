"""A database as each released schema left it: made once, by the version that had that schema, and kept.

`python -m tests.support.released` makes the file of the newest schema, `tests/service/storage/released/<schema>.db.gz`,
and beside it what the API answered on it. To be run when a migration is added, before its release; never again after.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from service.auth.service import create_key
from service.storage.database import Database
from service.storage.schema import head, upgrade
from tests.support.app import Api, running_app

FOLDER = Path(__file__).parents[1] / "service" / "storage" / "released"
KNOWN = {
    "mode": "known",
    "factors": [{"name": "a", "parameters": ["x", "n"]}, {"name": "b", "parameters": ["n", "kind"]}],
}
POINT = {"x": 1 / 3, "n": 7, "kind": "b"}
REPEATED = {"count": 1, "client_id": "kept"}


def schemas() -> list[str]:
    """Those that there is a file of."""
    return sorted(path.name.removesuffix(".db.gz") for path in FOLDER.glob("*.db.gz"))


def unpack(schema: str, target: Path) -> str:
    """The URL of a copy of the file."""
    target.write_bytes(gzip.decompress((FOLDER / f"{schema}.db.gz").read_bytes()))
    return f"sqlite:///{target}"


def answers(schema: str) -> dict[str, Any]:
    """What the API answered on the file when it was made."""
    read: dict[str, Any] = json.loads((FOLDER / f"{schema}.json").read_text())
    return read


def ask_repeated(api: Api) -> Any:
    """The request whose answer is stored under an Idempotency-Key."""
    return api.post("/v1/studies/kept ✓/ask", json=REPEATED, headers={"idempotency-key": "kept"}).json()


def look(api: Api) -> dict[str, Any]:
    """Everything that a reader can see of the studies."""
    seen: dict[str, Any] = {}
    for study in api.get("/v1/studies").raise_for_status().json()["studies"]:
        seen[study["name"]] = {"study": study} | {
            part: api.get(f"/v1/studies/{study['id']}/{part}").raise_for_status().json()
            for part in ("trials", "decomposition", "decomposition/history", "series", "best")
        }
    return seen


def _fill(api: Api) -> Any:
    inferred = api.study(name="kept ✓", metadata={"deep": [1, {"x": 0.1}]}, algorithm={"seed": 7, "initial_trials": 2})
    for trial in api.ask(inferred, count=3):
        api.tell(inferred, trial=trial["number"], value=0.1 + trial["number"])
    repeated = ask_repeated(api)  # made by the model, so that its state is stored
    api.ask(inferred, count=2)
    api.tell(inferred, trial=4, state="failed", reason="diverged")
    api.tell(inferred, trial=5, state="abandoned")
    known = api.study(name="known", decomposition=KNOWN, direction="maximize", algorithm={"seed": 1})
    api.tell(known, parameters=POINT, factor_values={"a": 1e17, "b": -1.0}, sem=1e-300)
    api.patch(known, json={"state": "stopped"}).raise_for_status()
    api.get(f"{inferred}/trials", params={"limit": 1}).raise_for_status()  # makes the secret of the cursors
    return repeated


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "released.db")
        url = f"sqlite:///{path}"
        upgrade(url)
        with running_app(url) as api:
            repeated = _fill(api)
            seen = look(api)
        database = Database(url)
        _, token = create_key(database, "kept", "default", "read")
        database.close()
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")
        connection.close()
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{head()}.db.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    kept = {"studies": seen, "repeated": repeated, "token": token}
    (FOLDER / f"{head()}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
