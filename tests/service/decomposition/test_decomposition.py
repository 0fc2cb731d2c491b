"""Structure: known, inferred, as it is and as it was."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.app import SPACE, Api

PAIRS = {
    "mode": "known",
    "factors": [{"name": "f", "parameters": ["x", "n"]}, {"name": "g", "parameters": ["n", "kind"]}],
}


def _fill(api: Api, study: str, asks: int) -> None:
    """Tell some points, then ask the model several times."""
    points = [{"x": i - 2.5, "n": 1 + 7 * i, "kind": "abc"[i % 3]} for i in range(6)]
    api.tell(study, results=[{"parameters": p, "value": p["x"] ** 2 + p["n"]} for p in points])
    for _ in range(asks):
        [trial] = api.ask(study)
        api.tell(study, trial=trial["number"], value=trial["parameters"]["x"] ** 2)


def test_known_factors_are_the_one_sample(api: Api) -> None:
    """Before any data, `known` answers with its factors."""
    study = api.study(decomposition=PAIRS)
    shown = api.get(f"{study}/decomposition").json()
    assert shown["mode"] == "known"
    assert [s["factors"] for s in shown["samples"]] == [[["x", "n"], ["n", "kind"]]]
    assert shown["map"] == [["x", "n"], ["n", "kind"]]
    assert shown["co_occurrence"] == {"parameters": ["x", "n", "kind"], "matrix": [[1, 1, 0], [1, 1, 1], [0, 1, 1]]}


@pytest.mark.parametrize("mode", ["infer", "random", "none"])
def test_samples_are_partitions_and_agree_with_the_matrix(api: Api, mode: str) -> None:
    """Each sample covers every parameter; the matrix is the weighted share of samples that join two of them."""
    study = api.study(decomposition={"mode": mode}, algorithm={"seed": 3, "initial_trials": 3})
    _fill(api, study, 2)
    shown = api.get(f"{study}/decomposition").json()
    names = shown["co_occurrence"]["parameters"]
    together = np.zeros((3, 3))
    for sample in shown["samples"]:
        assert {name for factor in sample["factors"] for name in factor} == set(names)
        for i, a in enumerate(names):
            for j, b in enumerate(names):
                joined = any(a in factor and b in factor for factor in sample["factors"])
                together[i, j] += sample["weight"] * joined
    np.testing.assert_allclose(shown["co_occurrence"]["matrix"], together, atol=1e-9)


def test_structure_can_be_read_as_it_was(api: Api) -> None:
    """Each model-based ask keeps its samples; `at` gives those of the last ask up to that trial."""
    study = api.study(algorithm={"seed": 3, "initial_trials": 3})
    _fill(api, study, 3)
    history = api.get(f"{study}/decomposition/history").json()["history"]
    assert [entry["trial"] for entry in history] == [8, 7, 6]
    now = api.get(f"{study}/decomposition").json()
    assert now["samples"] == history[0]["samples"]
    for entry in history:
        then = api.get(f"{study}/decomposition", params={"at": entry["trial"]}).json()
        assert (then["samples"], then["map"]) == (entry["samples"], entry["map"])
    assert api.get(f"{study}/decomposition", params={"at": 8}).json() == now
    before = api.get(f"{study}/decomposition", params={"at": 5}).json()
    assert [s["factors"] for s in before["samples"]] == [[["x", "n", "kind"]]]


def test_the_history_is_paged(api: Api) -> None:
    """Cursors lead from the newest ask to the oldest."""
    study = api.study(parameters=SPACE[:2], algorithm={"seed": 3, "initial_trials": 2})
    api.tell(study, results=[{"parameters": {"x": i, "n": 1 + i}, "value": i} for i in range(3)])
    for _ in range(3):
        api.ask(study)
    first = api.get(f"{study}/decomposition/history", params={"limit": 2}).json()
    rest = api.get(f"{study}/decomposition/history", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [e["trial"] for e in first["history"] + rest["history"]] == [5, 4, 3]
    assert rest["next_cursor"] is None
