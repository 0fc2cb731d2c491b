"""Bad input: each gets a 4xx that says what to change, and the database is as it was before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.app import SPACE, Api

FACTORS = [{"name": "f", "parameters": ["x", "n"]}, {"name": "g", "parameters": ["kind"]}]
KNOWN = {"mode": "known", "factors": FACTORS}


def _spec(**changes: Any) -> dict[str, Any]:
    return {"name": "bad", "direction": "minimize", "parameters": SPACE} | changes


def _parameter(**spec: Any) -> dict[str, Any]:
    return _spec(parameters=[{"name": "x", **spec}])


def _known(*factors: dict[str, Any]) -> dict[str, Any]:
    return _spec(decomposition={"mode": "known", "factors": list(factors)})


FLOAT = {"type": "float", "bounds": [0, 1]}
STUDIES: dict[str, tuple[dict[str, Any], list[str | int]]] = {
    "no name": ({"direction": "minimize", "parameters": SPACE}, ["name"]),
    "no direction": ({"name": "bad", "parameters": SPACE}, ["direction"]),
    "unknown direction": (_spec(direction="down"), ["direction"]),
    "no parameters": (_spec(parameters=[]), ["parameters"]),
    "unknown field": (_spec(colour="red"), ["colour"]),
    "unknown field of a parameter": (_parameter(**FLOAT, prior=1), ["parameters", 0, "prior"]),
    "unknown knob": (_spec(algorithm={"speed": 1}), ["algorithm", "speed"]),
    "numeric string as bound": (_parameter(type="float", bounds=["0", 1]), ["parameters", 0, "bounds"]),
    "boolean as bound": (_parameter(type="float", bounds=[False, 1]), ["parameters", 0, "bounds"]),
    "three bounds": (_parameter(type="float", bounds=[0, 1, 2]), ["parameters", 0, "bounds"]),
    "bounds reversed": (_parameter(type="float", bounds=[1, 0]), ["parameters", 0, "bounds"]),
    "bounds too far apart": (_parameter(type="float", bounds=[-1e308, 1e308]), ["parameters", 0, "bounds"]),
    "fractional int bounds": (_parameter(type="int", bounds=[0.5, 3]), ["parameters", 0, "bounds"]),
    "int bounds beyond 2^53": (_parameter(type="int", bounds=[0, 2**60]), ["parameters", 0, "bounds"]),
    "log scale from zero": (_parameter(**FLOAT, scale="log"), ["parameters", 0, "bounds"]),
    "no bounds": (_parameter(type="float"), ["parameters", 0, "bounds"]),
    "no values": (_parameter(type="categorical", values=[]), ["parameters", 0, "values"]),
    "values twice": (_parameter(type="ordinal", values=[1, 2, 1]), ["parameters", 0, "values", 2]),
    "values and bounds": (_parameter(**FLOAT, values=[1]), ["parameters", 0, "values"]),
    "null among the values": (_parameter(type="categorical", values=["a", None]), ["parameters", 0, "values"]),
    "too many values": (_parameter(type="ordinal", values=list(range(1001))), ["parameters", 0, "values"]),
    "duplicate names": (_spec(parameters=[SPACE[0], SPACE[0]]), ["parameters", 1, "name"]),
    "1,001 parameters": (_spec(parameters=[{"name": f"p{i}", **FLOAT} for i in range(1001)]), ["parameters"]),
    "empty name": (_spec(name=""), ["name"]),
    "blank around the name": (_spec(name=" x"), ["name"]),
    "control characters": (_spec(name="a\u0007b"), ["name"]),
    "a name that turns text around": (_spec(name="a\u202eb"), ["name"]),
    "a name of 10 kB": (_spec(name="n" * 10_000), ["name"]),
    "a name like an id": (_spec(name="st_" + "a" * 16), ["name"]),
    "a slash in the name": (_spec(name="a/b"), ["name"]),
    "a newline in a parameter's name": (_spec(parameters=[{"name": "a\nb", **FLOAT}]), ["parameters", 0, "name"]),
    "a parameter's name of 10 kB": (_spec(parameters=[{"name": "n" * 10_000, **FLOAT}]), ["parameters", 0, "name"]),
    "a nameless factor": (_known({"name": "", "parameters": ["x"]}), ["decomposition", "factors", 0, "name"]),
    "factors that miss a parameter": (_known(FACTORS[0]), ["decomposition", "factors"]),
    "factors of an unknown parameter": (
        _known(*FACTORS, {"name": "h", "parameters": ["y"]}),
        ["decomposition", "factors", 2, "parameters", 0],
    ),
    "factors of one name": (_known(*FACTORS, FACTORS[0]), ["decomposition", "factors", 2, "name"]),
    "factors that are not known": (_spec(decomposition={"factors": FACTORS}), ["decomposition", "factors"]),
    "unknown mode": (_spec(decomposition={"mode": "guess"}), ["decomposition", "mode"]),
    "negative seed": (_spec(algorithm={"seed": -1}), ["algorithm", "seed"]),
    "fractional seed": (_spec(algorithm={"seed": 1.5}), ["algorithm", "seed"]),
    "boolean seed": (_spec(algorithm={"seed": True}), ["algorithm", "seed"]),
    "negative beta": (_spec(algorithm={"beta": -1}), ["algorithm", "beta"]),
    "metadata that is a list": (_spec(metadata=[]), ["metadata"]),
    "too much metadata": (_spec(metadata={"k": "v" * 20_000}), ["metadata"]),
}


@pytest.mark.parametrize("case", STUDIES)
def test_a_bad_spec_is_refused(sqlite_api: Api, case: str) -> None:
    """422 at the place that is wrong, and no study is made."""
    spec, loc = STUDIES[case]
    before = sqlite_api.dump()
    answer = sqlite_api.post("/v1/studies", json=spec)
    _assert_refused(answer, ["body", *loc])
    assert sqlite_api.dump() == before


TELLS: dict[str, tuple[dict[str, Any], list[str | int]]] = {
    "no value": ({"trial": 0}, ["value"]),
    "numeric string": ({"trial": 0, "value": "1"}, ["value"]),
    "boolean": ({"trial": 0, "value": True}, ["value"]),
    "null": ({"trial": 0, "value": None}, ["value"]),
    "list": ({"trial": 0, "value": [1]}, ["value"]),
    "unknown field": ({"trial": 0, "value": 1, "loss": 2}, ["loss"]),
    "negative sem": ({"trial": 0, "value": 1, "sem": -1}, ["sem"]),
    "boolean sem": ({"trial": 0, "value": 1, "sem": False}, ["sem"]),
    "boolean trial": ({"trial": False, "value": 1}, ["trial"]),
    "fractional trial": ({"trial": 0.0, "value": 1}, ["trial"]),
    "negative trial": ({"trial": -1, "value": 1}, ["trial"]),
    "trial beyond 32 bits": ({"trial": 2**31, "value": 1}, ["trial"]),
    "neither trial nor point": ({"value": 1}, []),
    "running": ({"trial": 0, "state": "running"}, ["state"]),
    "failed with a value": ({"trial": 0, "state": "failed", "value": 1}, ["value"]),
    "a reason of 10 kB": ({"trial": 0, "state": "failed", "reason": "r" * 10_000}, ["reason"]),
    "no such factor": ({"trial": 0, "factor_values": {"f": 1, "g": 2, "h": 3}}, ["factor_values", "h"]),
    "one factor missing": ({"trial": 0, "factor_values": {"f": 1}}, ["factor_values", "g"]),
    "a factor that is text": ({"trial": 0, "factor_values": {"f": 1, "g": "2"}}, ["factor_values", "g"]),
    "value that is not the sum": ({"trial": 0, "value": 4, "factor_values": {"f": 1, "g": 2}}, ["value"]),
    "factors that overflow": ({"trial": 0, "factor_values": {"f": 1.7e308, "g": 1.7e308}}, ["factor_values"]),
    "unknown parameter": ({"parameters": {"x": 0, "n": 1, "kind": "a", "y": 1}, "value": 1}, ["parameters", "y"]),
    "missing parameter": ({"parameters": {"x": 0, "n": 1}, "value": 1}, ["parameters", "kind"]),
    "out of range": ({"parameters": {"x": 5.1, "n": 1, "kind": "a"}, "value": 1}, ["parameters", "x"]),
    "not whole": ({"parameters": {"x": 0, "n": 1.5, "kind": "a"}, "value": 1}, ["parameters", "n"]),
    "boolean parameter": ({"parameters": {"x": 0, "n": True, "kind": "a"}, "value": 1}, ["parameters", "n"]),
    "no such choice": ({"parameters": {"x": 0, "n": 1, "kind": "d"}, "value": 1}, ["parameters", "kind"]),
    "no results": ({"results": []}, ["results"]),
    "too many results": ({"results": [{"trial": 0, "value": 1}] * 1001}, ["results"]),
    "results and a value": ({"results": [{"trial": 0, "value": 1}], "value": 1}, ["value"]),
}


@pytest.fixture(scope="module")
def study(sqlite_api: Api) -> Iterator[str]:
    """A study with a running trial and known factors."""
    study = sqlite_api.study(decomposition=KNOWN)
    sqlite_api.ask(study)
    yield study
    sqlite_api.delete(study)


@pytest.mark.parametrize("case", TELLS)
def test_a_bad_result_is_refused(sqlite_api: Api, study: str, case: str) -> None:
    """422 at the place that is wrong, and nothing is stored."""
    body, loc = TELLS[case]
    before = sqlite_api.dump()
    _assert_refused(sqlite_api.post(f"{study}/tell", json=body), ["body", *loc])
    assert sqlite_api.dump() == before


ASKS: dict[str, tuple[dict[str, Any], list[str | int]]] = {
    "none": ({"count": 0}, ["count"]),
    "too many": ({"count": 101}, ["count"]),
    "fractional count": ({"count": 1.0}, ["count"]),
    "boolean count": ({"count": True}, ["count"]),
    "no lease": ({"lease_seconds": 0}, ["lease_seconds"]),
    "a lease for ever": ({"lease_seconds": 1e300}, ["lease_seconds"]),
    "empty client": ({"client_id": ""}, ["client_id"]),
    "long client": ({"client_id": "c" * 1000}, ["client_id"]),
    "client that is a number": ({"client_id": 7}, ["client_id"]),
    "unknown field": ({"n": 2}, ["n"]),
    "unknown fixed parameter": ({"fixed": {"y": 1}}, ["fixed", "y"]),
    "fixed out of range": ({"fixed": {"x": 9}}, ["fixed", "x"]),
    "fixed that is a list": ({"fixed": []}, ["fixed"]),
}


@pytest.mark.parametrize("case", ASKS)
def test_a_bad_ask_is_refused(sqlite_api: Api, study: str, case: str) -> None:
    """422 at the place that is wrong, and nothing is handed out."""
    body, loc = ASKS[case]
    before = sqlite_api.dump()
    _assert_refused(sqlite_api.post(f"{study}/ask", json=body), ["body", *loc])
    assert sqlite_api.dump() == before


POINTS: dict[str, tuple[dict[str, Any], list[str | int]]] = {
    "no points": ({"points": []}, ["points"]),
    "too many points": ({"points": [{}] * 1001}, ["points"]),
    "unknown parameter": ({"points": [{"x": 0, "n": 1, "kind": "a", "y": 0}]}, ["points", 0, "y"]),
    "out of range": ({"points": [{"x": 0, "n": 1, "kind": "a"}, {"x": 9, "n": 1, "kind": "a"}]}, ["points", 1, "x"]),
    "not a point": ({"points": [1]}, ["points", 0]),
}


@pytest.mark.parametrize("case", POINTS)
def test_a_bad_prediction_is_refused(sqlite_api: Api, study: str, case: str) -> None:
    """422 at the place that is wrong."""
    body, loc = POINTS[case]
    _assert_refused(sqlite_api.post(f"{study}/predict", json=body), ["body", *loc])


PATCHES: dict[str, tuple[dict[str, Any], list[str | int]]] = {
    "unknown state": ({"state": "paused"}, ["state"]),
    "unknown field": ({"name": "new"}, ["name"]),
    "metadata that is text": ({"metadata": "x"}, ["metadata"]),
    "too much metadata": ({"metadata": {"k": "v" * 20_000}}, ["metadata"]),
}


@pytest.mark.parametrize("case", PATCHES)
def test_a_bad_patch_is_refused(sqlite_api: Api, study: str, case: str) -> None:
    """422 at the place that is wrong, and the study is as it was."""
    body, loc = PATCHES[case]
    before = sqlite_api.dump()
    _assert_refused(sqlite_api.patch(study, json=body), ["body", *loc])
    assert sqlite_api.dump() == before


RAW: dict[str, tuple[bytes, int]] = {
    "NaN": (b'{"trial": 0, "value": NaN}', 422),
    "Infinity": (b'{"trial": 0, "value": Infinity}', 422),
    "minus Infinity": (b'{"trial": 0, "value": -Infinity}', 422),
    "overflow": (b'{"trial": 0, "value": 1e999}', 422),
    "a number of 400 digits": (b'{"trial": 0, "value": ' + b"9" * 400 + b"}", 422),
    "lone surrogate": (b'{"trial": 0, "state": "failed", "reason": "\\ud800"}', 422),
    "NUL in a string": (b'{"trial": 0, "state": "failed", "reason": "a\\u0000b"}', 422),
    "NUL in a key": (b'{"trial": 0, "value": 1, "a\\u0000": 1}', 422),
    "duplicate key": (b'{"trial": 0, "value": 1, "value": 2}', 422),
    "duplicate key deep inside": (b'{"results": [{"trial": 0, "value": 1, "value": 2}]}', 422),
    "64 bits and more": (b'{"trial": 9223372036854775808, "value": 1}', 422),
    "nested 100 deep": (b'{"trial": 0, "value": ' + b"[" * 100 + b"]" * 100 + b"}", 422),
    "nested 500 deep": (b'{"trial": 0, "value": ' + b"[" * 500 + b"]" * 500 + b"}", 422),
    "nested 100,000 deep": (b"[" * 100_000 + b"]" * 100_000, 422),
    "not an object": (b"[1]", 422),
    "a number": (b"1", 422),
    "null": (b"null", 422),
    "empty": (b"", 422),
    "malformed": (b'{"trial": 0, "value": }', 400),
    "cut off": (b'{"trial": 0, "val', 400),
    "not UTF-8": (b'{"trial": 0, "reason": "\xff"}', 400),
    "byte order mark": (b'\xef\xbb\xbf{"trial": 0, "value": 1}', 422),
}


@pytest.mark.parametrize("case", RAW)
def test_json_that_is_not_strict_is_refused(api: Api, case: str) -> None:
    """Never a 500, and nothing is stored, on either database."""
    body, status = RAW[case]
    study = api.study()
    api.ask(study)
    before = api.dump()
    answer = api.post(f"{study}/tell", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert api.dump() == before


def test_unknown_trials_are_404(api: Api) -> None:
    """A trial that does not exist can neither be read nor told."""
    study = api.study()
    answer = api.post(f"{study}/tell", json={"trial": 0, "value": 1})
    assert (answer.status_code, answer.json()["code"]) == (404, "trial_not_found")
    assert api.get(f"{study}/trials/0").json()["code"] == "trial_not_found"


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=1001", "limit=x", "limit=1.5", "state=done", "order=up", "cursor=x", "cursor=%00", "cursor="],
)
def test_a_bad_query_is_refused(sqlite_api: Api, study: str, query: str) -> None:
    """A query that makes no sense is 4xx and names the field."""
    answer = sqlite_api.get(f"{study}/trials?{query}")
    assert answer.status_code in (400, 422)
    assert answer.json()["code"] in ("invalid", "invalid_cursor")


@pytest.mark.parametrize("number", ["-1", "x", "1.5", str(2**31), str(2**70), "9" * 5000])
def test_a_bad_trial_number_is_refused(sqlite_api: Api, study: str, number: str) -> None:
    """A number that no trial can have is 422."""
    assert sqlite_api.get(f"{study}/trials/{number}").status_code == 422


def test_every_fault_is_named_at_once(sqlite_api: Api) -> None:
    """A spec with several faults gets all of them in one answer."""
    spec = _spec(parameters=[{"name": "a", "type": "float", "bounds": [2, 1]}, {"name": "a", "type": "ordinal"}])
    locations = [tuple(e["loc"][1:]) for e in sqlite_api.post("/v1/studies", json=spec).json()["errors"]]
    assert locations == [("parameters", 0, "bounds"), ("parameters", 1, "name"), ("parameters", 1, "values")]


def _assert_refused(answer: Any, loc: list[str | int]) -> None:
    assert answer.status_code == 422, answer.text
    problem = json.loads(answer.content)
    assert problem["code"] == "invalid"
    assert all(error["msg"] for error in problem["errors"])
    assert any(error["loc"][: len(loc)] == loc for error in problem["errors"]), problem["errors"]
