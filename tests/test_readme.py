"""The README's blocks are run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from service.settings import Settings
from tests.support.postgres import PostgresServer
from tests.support.readme import README, SERVE, blocks, run
from tests.support.server import ROOT, running_server

PROMISED = re.compile(r"\(`(tests/[\w/]+\.py)::(test_\w+)`\)$")


def test_readme_begins_with_one_sentence_and_one_command() -> None:
    """A title, a sentence, and soon what to type."""
    title, sentence, *_ = README.read_text().split("\n\n")
    assert title == "# DuMBO"
    assert sentence.count(". ") == 0
    assert blocks()[0].text == SERVE


def test_limits_are_those_of_the_settings() -> None:
    """What the page says of limits is what the code has by default."""
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    limits = README.read_text().partition("## Limits")[2].partition("## ")[0]
    assert f"{defaults['max_parameters']:,} parameters a study" in limits
    assert f"{defaults['max_trials']:,} trials a study" in limits
    assert f"{defaults['max_count']} trials an ask" in limits
    assert f"bodies of {defaults['max_body_bytes'] // 2**20} MB" in limits
    assert defaults["queue_size"] >= 64


def test_every_promise_names_a_test_that_exists() -> None:
    """A dozen promises, each with the test that holds it."""
    promises = README.read_text().partition("## What it promises")[2].partition("## ")[0]
    lines = [line for line in promises.splitlines() if line.startswith("- ")]
    assert len(lines) >= 12
    for line in lines:
        named = PROMISED.search(line)
        assert named is not None, line
        assert f"\ndef {named[2]}(" in (ROOT / named[1]).read_text(), line


def test_blocks_run_in_the_order_of_the_page(tmp_path: Path, postgres: PostgresServer) -> None:
    """Pasted one after the other against the server they speak of, they do what the page says."""
    name = postgres.create()
    with running_server("sqlite:///dumbo.db", cwd=tmp_path) as server:
        printed = [run(block, server.url, tmp_path, postgres.url(name)) for block in blocks()[1:]]
        counts = {
            study["name"]: study["trial_counts"]["completed"]
            for study in httpx.get(f"{server.url}/v1/studies").json()["studies"]
        }
    postgres.drop(name)
    assert counts == {"parabola": 10, "parallel": 20, "press-line": 1}
    loop, parallel, structure, known, upgrade, keys, _, metrics = printed
    assert '"state":"completed"' in loop
    assert "'state': 'completed'" in parallel
    assert '"co_occurrence"' in structure
    assert '"predictions"' in known
    assert "needs" in upgrade
    assert "night-shift" in keys
    assert 'dumbo_trials{state="completed"} 31.0' in metrics
    assert (tmp_path / "restored.db").exists()
