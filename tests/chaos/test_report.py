"""The report of the chaos suite: what is kept, what is shown, and that a loss is never silent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.chaos import __main__ as chaos
from tests.chaos.report import Finding, append, newest, summary, table, took, write_readme


def test_the_newest_finding_of_each_kind_is_kept(tmp_path: Path) -> None:
    """A later run replaces what an earlier one found of the same thing on the same database, and nothing else."""
    results = tmp_path / "results.jsonl"
    first = Finding("kill", "sqlite", "3 kills", 1, 2.0)
    other = Finding("kill", "postgres", "3 kills", 0, 2.0)
    again = Finding("kill", "sqlite", "200 kills", 0, 600.0, "5 restarts")
    for finding in (first, other, again):
        append(finding, results)
    assert [record.finding for record in newest(results)] == [again, other]
    assert newest(tmp_path / "absent.jsonl") == []


def test_the_table_stands_between_the_markers(tmp_path: Path) -> None:
    """One row a finding, a bar inside a text cannot break it, and the rest of the page stays as it was."""
    results, page = tmp_path / "results.jsonl", tmp_path / "README.md"
    append(Finding("kill", "sqlite", "a|b", 0, 120.0, "quick"), results)
    page.write_text("before\n<!-- begin chaos -->\nold\n<!-- end chaos -->\nafter\n")
    write_readme(newest(results), page)
    text = page.read_text()
    assert text.startswith("before\n<!-- begin chaos -->\n| what")
    assert text.endswith("<!-- end chaos -->\nafter\n")
    assert "| kill | sqlite | a/b; quick | 0 | 2 min |" in text
    assert "old" not in text


def test_durations_are_readable() -> None:
    """Seconds while they are few, then minutes."""
    assert (took(7.4), took(601)) == ("7 s", "10 min")


@pytest.mark.parametrize(("lost", "code"), [(0, 0), (2, 1)])
def test_whatever_is_lost_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lost: int, code: int
) -> None:
    """The exit code is 1 if anything was lost in this run; the table has it either way."""
    results = tmp_path / "results.jsonl"
    monkeypatch.setattr(chaos, "faults", lambda: {"kill": lambda scale: iter([Finding("k", "d", f"{scale}", lost, 1)])})
    monkeypatch.setattr(sys, "argv", ["chaos", "--scale", "0.5", "--results", str(results)])
    assert chaos.main() == code
    assert f"| k | d | 0.5 | {lost} |" in capsys.readouterr().out


def test_a_part_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A misspelt name runs nothing."""
    monkeypatch.setattr(sys, "argv", ["chaos", "--only", "no-such", "--results", str(tmp_path / "r")])
    assert chaos.main() == 2
    assert table([]).count("\n") == 1


def test_losses_of_one_kind_are_counted_together() -> None:
    """However many trials are gone, the reader learns how many and of what kind."""
    assert summary([]) == ""
    assert summary(["trial 1 is gone", "trial 27 is gone", "no answer"]) == "; 2 x trial # is gone; 1 x no answer"
