"""The command that says what each kind of ask found, in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import diagnose


def test_tables_and_pictures_of_every_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two algorithms on a problem with known factors give a table and a picture each; the README has them, too."""
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- begin asks -->\nstale\n<!-- end asks -->\nafter\n")
    monkeypatch.setattr(diagnose, "OWN_README", page)
    monkeypatch.setattr(diagnose, "PLOTS", tmp_path / "plots")
    arguments = ["--problems", "camel-shifted", "--algorithms", "dumbo,add-dumbo-y", "--seeds", "2", "--budget", "13"]
    assert diagnose.main([*arguments, "--jobs", "2", "--out", str(tmp_path), "--readme"]) == 0
    printed = capsys.readouterr().out
    first = printed.index("### DuMBO on camel-shifted: 2 runs of 13 evaluations")
    assert first < printed.index("### ADD-DuMBO, factor values on camel-shifted: 2 runs of 13 evaluations")
    assert (tmp_path / "diagnosis.md").read_text() == printed
    for name in ("dumbo", "add-dumbo-y"):
        assert (tmp_path / f"camel-shifted-{name}-asks.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"camel-shifted-{name}-asks.svg").read_text()
    shown = page.read_text()
    assert shown.startswith("before\n<!-- begin asks -->\n`python -m benchmarks.diagnose --problems camel-shifted")
    assert printed.strip() in shown
    assert "![What asks found](plots/camel-shifted-dumbo-asks.png)" in shown
    assert (tmp_path / "plots" / "camel-shifted-dumbo-asks.png").exists()
    assert diagnose.main([*arguments, "--out", str(tmp_path)]) == 0
    again = capsys.readouterr()
    assert (again.out, again.err) == (printed, "")  # nothing was left to run
    assert diagnose.main([*arguments, "--budget", "11", "--out", str(tmp_path)]) == 0
    shorter = capsys.readouterr()
    assert shorter.err == ""  # a longer run answers for a shorter one, and is shown as long as was asked for
    assert "### DuMBO on camel-shifted: 2 runs of 11 evaluations" in shorter.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--algorithms", "optuna-gp"], "optuna-gp does not say of each point how it was made"),
        (["--algorithms", "dumbo-by-5"], "dumbo-by-5 does not say of each point how it was made"),
        (["--problems", "rover", "--algorithms", "add-dumbo"], "add-dumbo needs known factors, which rover has not"),
        (["--algorithms", "dumbo2"], "unknown algorithm 'dumbo2'"),
    ],
)
def test_what_cannot_be_followed_is_said_at_once(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is run."""
    with pytest.raises(SystemExit, match="2"):
        diagnose.main(arguments)
    assert said in capsys.readouterr().err
