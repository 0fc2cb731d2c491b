"""The OpenAPI document: what is served, what is stored beside the code, and good enough to make a client of."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.parameter import Parameter
from core.problem import Algorithm, Decomposition
from service.app import create_app
from service.errors import ServiceError
from service.openapi import METHODS, spec
from service.settings import Settings
from service.studies.schemas import AlgorithmSpec, DecompositionSpec, ParameterSpec
from tests.support.app import Api

ROOT = Path(__file__).parents[2]


def _operations() -> list[tuple[str, str, dict[str, Any]]]:
    paths = spec(create_app(Settings()))["paths"]
    return [(path, method, ops[method]) for path, ops in paths.items() for method in METHODS & ops.keys()]


def test_the_stored_document_is_the_served_one(sqlite_api: Api) -> None:
    """`openapi.yaml` equals /openapi.json; `make openapi` writes it anew."""
    stored = yaml.safe_load((ROOT / "openapi.yaml").read_text())
    assert sqlite_api.get("/openapi.json").json() == stored


def test_operation_ids_are_unique_names() -> None:
    """A generated client has one well-named function for each operation."""
    ids = [operation["operationId"] for _, _, operation in _operations()]
    assert len(set(ids)) == len(ids)
    assert all(name.isidentifier() for name in ids)


def test_every_operation_says_what_can_go_wrong() -> None:
    """Each documents its success and its errors, and every error as a problem."""
    for path, method, operation in _operations():
        responses = operation["responses"]
        where = f"{method} {path}"
        assert any(status.startswith("2") for status in responses), where
        expected = {"500", "503"}
        if path.startswith("/v1"):
            expected |= {"401", "403"}
        if "{study}" in path:
            expected |= {"404"}
        if "requestBody" in operation:
            expected |= {"400", "408", "413", "415", "422"}
        assert expected <= responses.keys(), where
        for status, answer in responses.items():
            if int(status) >= 400:
                assert list(answer["content"]) == ["application/problem+json"], where


def test_every_error_has_a_code_of_its_own() -> None:
    """A client can tell errors apart by code; two classes share one only where they mean the same."""

    def classes(base: type[ServiceError]) -> list[type[ServiceError]]:
        return [base, *(c for child in base.__subclasses__() for c in classes(child))]

    named = [c for c in classes(ServiceError)[1:] if "code" in vars(c)]
    codes = [c.code for c in named]
    assert len(codes) - len(set(codes)) == 1  # no_completed_trial: 404 for best, 409 for predict
    assert all(c.status >= 400 for c in named)


@pytest.mark.parametrize(
    ("ours", "cores"), [(AlgorithmSpec, Algorithm), (DecompositionSpec, Decomposition), (ParameterSpec, Parameter)]
)
def test_the_spec_takes_every_field_of_the_core(ours: Any, cores: Any) -> None:
    """A knob that the core gains must be offered here too."""
    assert ours.model_fields.keys() == cores.__dataclass_fields__.keys()


def test_examples_are_valid(sqlite_api: Api) -> None:
    """The study of the example can be created, asked and told as the examples say."""
    schemas = spec(create_app(Settings()))["components"]["schemas"]
    [example] = schemas["StudySpec"]["examples"]
    study = sqlite_api.post("/v1/studies", json=example | {"name": "example"}).headers["location"]
    for body in schemas["AskRequest"]["examples"]:
        assert sqlite_api.post(f"{study}/ask", json=body).status_code == 200
    for body in (*schemas["Result"]["examples"][:1], *schemas["Results"]["examples"]):
        assert sqlite_api.post(f"{study}/tell", json=body).status_code == 200
    [body] = schemas["PredictRequest"]["examples"]
    assert sqlite_api.post(f"{study}/predict", json=body).status_code == 200


def test_a_generated_client_optimizes(sqlite_api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client generated from the document creates a study, asks, tells and finds the best."""
    generate = Path(sys.executable).with_name("openapi-python-client")
    command = [
        generate,
        "generate",
        "--path",
        ROOT / "openapi.yaml",
        "--meta",
        "none",
        "--output-path",
        tmp_path / "made",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout
    monkeypatch.syspath_prepend(tmp_path)
    made = {name: importlib.import_module(f"made.{name}") for name in ("client", "models")}
    studies = importlib.import_module("made.api.studies.create_study")
    ask, tell, best = (importlib.import_module(f"made.api.trials.{name}") for name in ("ask", "tell", "get_best"))
    models = made["models"]
    with made["client"].Client(base_url=str(sqlite_api.base_url)) as client:
        bounds = [models.ParameterSpec(name="x", type_=models.ParameterSpecType.FLOAT, bounds=[-5.0, 5.0])]
        body = models.StudySpec(name="generated", direction=models.StudySpecDirection.MINIMIZE, parameters=bounds)
        study = studies.sync(client=client, body=body)
        for _ in range(3):
            [trial] = ask.sync(study.id, client=client, body=models.AskRequest()).trials
            value = trial.parameters["x"] ** 2
            told = tell.sync(study.id, client=client, body=models.Result(trial=trial.number, value=value))
        assert best.sync(study.name, client=client) == told.best
