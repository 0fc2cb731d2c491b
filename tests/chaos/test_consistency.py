"""The rules that the rows of a database must follow."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from service.storage.database import Database, Transaction
from service.storage.tables import asks, idempotency_keys, model_states, studies, trials
from tests.chaos.consistency import broken
from tests.support.app import running_app

BREAKS: dict[str, tuple[Callable[[Transaction], Any], str]] = {
    "a trial is missing": (lambda tx: tx.execute(sa.delete(trials).where(trials.c.number == 0)), "numbered"),
    "a count is wrong": (lambda tx: tx.execute(sa.update(studies).values(running=7)), "counts"),
    "the best is another": (lambda tx: tx.execute(sa.update(studies).values(best_number=1)), "best"),
    "an ask is gone": (lambda tx: tx.execute(sa.delete(asks)), "asks"),
    "a trial came from nowhere": (lambda tx: tx.execute(sa.update(trials).values(origin="told")), "asked for"),
    "the chain is torn": (lambda tx: tx.execute(sa.update(model_states).values(state={"version": 1})), "chain"),
    "a key has no answer": (lambda tx: tx.execute(sa.update(idempotency_keys).values(status=0)), "no answer"),
}


@pytest.fixture(scope="module")
def written_once(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a study that has been asked with its model, and told."""
    path = Path(shutil.copy(sqlite_template, tmp_path_factory.mktemp("written") / "written.db"))
    with running_app(f"sqlite:///{path}") as api:
        study = api.study(algorithm={"seed": 1, "initial_trials": 1})
        api.post(f"{study}/ask", headers={"idempotency-key": "k"}).raise_for_status()
        api.tell(study, trial=0, value=1)
        api.ask(study)
    return path


@pytest.fixture
def written(written_once: Path, tmp_path: Path) -> str:
    """A copy of it."""
    return f"sqlite:///{shutil.copy(written_once, tmp_path / 'copy.db')}"


def test_what_the_service_writes_follows_the_rules(written: str) -> None:
    """A database that nobody has tampered with is whole."""
    assert broken(written) == []


@pytest.mark.parametrize("breaks", BREAKS.values(), ids=BREAKS)
def test_every_rule_can_be_broken(written: str, breaks: tuple[Callable[[Transaction], Any], str]) -> None:
    """And then it is named."""
    tamper, named = breaks
    database = Database(written)
    with database.write() as tx:
        tamper(tx)
    database.close()
    assert named in "; ".join(broken(written))
