"""Prediction over HTTP: in the objective's units, with factors that add up."""

from __future__ import annotations

import math

import pytest

from tests.support.app import Api

KNOWN = {"mode": "known", "factors": [{"name": "f", "parameters": ["x"]}, {"name": "g", "parameters": ["n", "kind"]}]}


def test_factors_add_up_to_the_mean(api: Api) -> None:
    """Of known factors told one by one, each has its own mean and sd, and they sum as `scale` says."""
    study = api.study(decomposition=KNOWN)
    points = [{"x": i - 4.5, "n": 1 + 9 * i, "kind": "abc"[i % 3]} for i in range(10)]
    results = [{"parameters": p, "factor_values": {"f": p["x"] ** 2, "g": math.log(p["n"])}} for p in points]
    api.tell(study, results=results)
    answer = api.post(f"{study}/predict", json={"points": points[:3]}).json()["predictions"]
    for prediction, point in zip(answer, points, strict=False):
        assert prediction["factors"].keys() == {"f", "g"}
        total = math.fsum(factor["mean"] for factor in prediction["factors"].values())
        expected = prediction["mean"] if prediction["scale"] == "objective" else prediction["model_mean"]
        assert total == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert prediction["sd"] >= 0
        assert prediction["mean"] == pytest.approx(point["x"] ** 2 + math.log(point["n"]), abs=3)


def test_predicting_stores_nothing(api: Api) -> None:
    """A prediction leaves no trace, and the study as it was."""
    study = api.study()
    api.tell(study, results=[{"parameters": {"x": i, "n": 1 + i, "kind": "a"}, "value": i} for i in range(3)])
    before = api.dump()
    assert api.post(f"{study}/predict", json={"points": [{"x": 0, "n": 1, "kind": "b"}]}).status_code == 200
    assert api.dump() == before


def test_a_study_without_results_has_nothing_to_predict_from(api: Api) -> None:
    """Before the first completed trial a prediction is 409, also when trials have failed."""
    study = api.study()
    api.ask(study)
    api.tell(study, trial=0, state="failed")
    answer = api.post(f"{study}/predict", json={"points": [{"x": 0, "n": 1, "kind": "b"}]})
    assert (answer.status_code, answer.json()["code"]) == (409, "no_completed_trial")
