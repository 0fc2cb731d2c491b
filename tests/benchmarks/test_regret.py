"""The arena's command in miniature: real processes, real records, tables and plots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import regret

MINIATURE = ["--problems", "camel-shifted,rover", "--algorithms", "random,sobol,add-dumbo", "--seeds", "1"]


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]


def test_arena_runs_records_resumes_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A first start runs everything, a second with more seeds runs only what is new, and both report."""
    arguments = [*MINIATURE, "--budget", "4", "--jobs", "2", "--out", str(tmp_path)]
    assert regret.main(arguments) == 0
    first = lines(tmp_path)
    # Rover has no factors, so the algorithm that needs them is left out there.
    done = {(line["problem"], line["algorithm"]) for line in first}
    assert done == {("camel-shifted", name) for name in ("random", "sobol", "add-dumbo")} | {
        ("rover", "random"),
        ("rover", "sobol"),
    }
    assert regret.main([*arguments, "--seeds", "2", "--at", "2"]) == 0
    assert lines(tmp_path)[:5] == first
    assert len(lines(tmp_path)) == 10
    printed = capsys.readouterr()
    assert "5 runs on record, 5 to go, 2 at a time" in printed.err
    assert "20/20 evaluations, 5/5 runs" in printed.err
    assert "### camel-shifted after 2 evaluations" in printed.out
    assert "### rover after 4 evaluations" in printed.out
    assert printed.out.endswith((tmp_path / "summary.md").read_text())
    for stem in ("overview", "camel-shifted", "rover"):
        assert (tmp_path / "plots" / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / "plots" / f"{stem}.svg").read_text()
    assert {row["at"] for row in json.loads((tmp_path / "summary.json").read_text())} == {2, 4}


def test_tables_go_into_the_readmes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of a section of the benchmarks' README is that of the first checkpoint; the text around it stays."""
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- begin families -->\nstale\n<!-- end families -->\nafter\n")
    monkeypatch.setattr(regret, "OWN_README", page)
    arguments = ["--problems", "camel", "--algorithms", "random", "--seeds", "1", "--budget", "3", "--jobs", "1"]
    assert regret.main([*arguments, "--at", "2", "--out", str(tmp_path), "--readme", "families"]) == 0
    text = page.read_text()
    assert text.startswith("before\n<!-- begin families -->\n`python -m benchmarks.regret --problems camel")
    assert "| algorithm | camel (2) | mean rank |" in text
    assert "stale" not in text
    assert text.endswith("<!-- end families -->\nafter\n")


def test_a_failing_run_is_told_and_the_others_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An algorithm that cannot run makes the exit status 1 and leaves the other runs on record."""
    nowhere = "http://127.0.0.1:9"
    arguments = ["--problems", "camel", "--algorithms", "random,dumbo-http", "--seeds", "1", "--budget", "2"]
    assert regret.main([*arguments, "--jobs", "1", "--out", str(tmp_path), "--url", nowhere]) == 1
    assert "failed: camel, dumbo-http, seed 0" in capsys.readouterr().err
    assert [line["algorithm"] for line in lines(tmp_path)] == ["random"]


@pytest.mark.parametrize("wrong", [["--problems", "nonsense"], ["--algorithms", "nonsense"], ["--at", "soon"]])
def test_unknown_names_are_refused_before_anything_runs(wrong: list[str], tmp_path: Path) -> None:
    """A misspelt name ends the command with its usage and nothing is written."""
    with pytest.raises(SystemExit) as stopped:
        regret.main([*MINIATURE, "--out", str(tmp_path), *wrong])
    assert stopped.value.code == 2
    assert not list(tmp_path.iterdir())


def test_algorithms_that_know_floats_only_are_left_out_of_mixed_problems() -> None:
    """A trust region has no choices, and would only be told of rounded ones."""
    options = regret.parser().parse_args(["--problems", "branches,wind-12", "--algorithms", "turbo,dumbo,add-dumbo"])
    planned = {(task.problem, task.algorithm) for task in regret.plan(options)}
    assert planned == {("branches", "dumbo"), ("wind-12", "turbo"), ("wind-12", "dumbo")}


def test_quick_may_be_narrowed_further() -> None:
    """`--quick` only changes defaults: what is said beside it holds."""
    p = regret.parser()
    options = p.parse_args(["--quick", "--seeds", "1"])
    assert options.quick
    assert regret.chosen("quick,random,cosmo", {"quick": ["camel", "random"]}) == ["camel", "random", "cosmo"]


def test_a_tuple_among_names_is_one_name() -> None:
    """Commas in brackets belong to the value of a constant."""
    text = "dumbo@improvement.KAPPAS=(0.1, 1.0)@hope.CLEAR=0,random"
    assert regret.chosen(text, {}) == ["dumbo@improvement.KAPPAS=(0.1, 1.0)@hope.CLEAR=0", "random"]
