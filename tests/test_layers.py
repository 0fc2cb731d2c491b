"""The layers: routes over use cases over storage and compute over the core. Held by import-linter."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[1]


def test_the_import_contracts_hold(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Every contract in pyproject.toml is kept."""
    monkeypatch.chdir(ROOT)
    status = lint_imports(no_cache=True)
    assert status == 0, capfd.readouterr().out


def test_sql_is_written_only_in_storage_and_repositories() -> None:
    """SQLAlchemy is imported nowhere else, not even under another name."""
    allowed = {"repository.py"}
    for path in (ROOT / "service").rglob("*.py"):
        if "storage" in path.parts or path.name in allowed:
            continue
        assert "sqlalchemy" not in _imported(path), path


def test_fastapi_stays_at_the_edge() -> None:
    """Only the application, the routes and what they are made of import the web framework."""
    edge = {"endpoints.py", "dependencies.py", "app.py", "openapi.py"}
    for path in (ROOT / "service").rglob("*.py"):
        if path.name in edge or path.parent.name in ("http", "dashboard"):
            continue
        assert not _imported(path) & {"fastapi"}, path


def test_the_web_process_does_not_load_torch() -> None:
    """Importing and building the application, command line included, leaves torch alone."""
    program = (
        "import sys; from service.app import create_app; import service.cli; create_app().openapi();"
        "print(sorted(set(sys.modules) & {'torch', 'gpytorch', 'botorch'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def _imported(path: Path) -> set[str]:
    """Top-level packages that a module imports, at its top or inside a function."""
    packages: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            packages.add(node.module.split(".")[0])
    return packages
