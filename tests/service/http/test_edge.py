"""The edge: problems for everything, request ids, limits of size and time, headers, and foreign web pages."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from service.compute.jobs import AskJob, AskResult, ComputeFailed, Overloaded, PredictJob
from tests.support.app import Api, InlineCompute, running_app


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "not_found"),
        ("GET", "/v1/studies/", 404, "not_found"),
        ("PUT", "/v1/studies", 405, "method_not_allowed"),
        ("POST", "/healthz", 405, "method_not_allowed"),
        ("GET", "/docs/../../etc/passwd", 404, "not_found"),
        ("GET", "/docs/secret.txt", 404, "not_found"),
        ("GET", "/v1/studies/%00", 404, "not_found"),
        ("GET", "/v1/studies/%F0%9F%90%98", 404, "study_not_found"),
    ],
)
def test_errors_of_the_framework_are_problems_too(api: Api, method: str, path: str, status: int, code: str) -> None:
    """Unknown paths and methods answer in the same form as everything else."""
    answer = api.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail"} <= answer.json().keys()
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


def test_the_callers_request_id_is_kept_if_harmless(sqlite_api: Api) -> None:
    """An id that could break a log line is replaced."""
    assert sqlite_api.get("/healthz", headers={"x-request-id": "abc-1"}).headers["x-request-id"] == "abc-1"
    for bad in ("a b", "x" * 65, '"'):
        assert sqlite_api.get("/healthz", headers={"x-request-id": bad}).headers["x-request-id"] != bad


def test_every_answer_has_the_security_headers(sqlite_api: Api) -> None:
    """Whatever the status, nothing may sniff, frame or cache it."""
    for path in ("/healthz", "/v1/studies", "/v1/nothing"):
        headers = sqlite_api.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_must_be_declared_as_json(sqlite_api: Api, kind: str) -> None:
    """A form of a web page, which needs no permission to be sent, does not reach the API."""
    before = sqlite_api.dump()
    body = b'{"name": "form", "direction": "minimize", "parameters": []}'
    answer = sqlite_api.post("/v1/studies", content=body, headers={"content-type": kind})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert sqlite_api.dump() == before


def test_json_with_a_charset_or_suffix_is_json(sqlite_api: Api) -> None:
    """Both `application/json; charset=utf-8` and `application/vnd.x+json` are taken."""
    study = sqlite_api.study()
    for kind in ("application/json; charset=utf-8", "application/vnd.dumbo+json", "Application/JSON"):
        answer = sqlite_api.post(f"{study}/ask", content=b'{"count": 2}', headers={"content-type": kind})
        assert len(answer.json()["trials"]) == 2


def test_pages_of_other_origins_are_refused(sqlite_api: Api) -> None:
    """Without keys, a browser that visits another site must not be made to call this server."""
    own = str(sqlite_api.base_url).rstrip("/")
    assert sqlite_api.get("/v1/studies", headers={"origin": own}).status_code == 200
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        answer = sqlite_api.get("/v1/studies", headers={"origin": origin})
        assert (answer.status_code, answer.json()["code"]) == (403, "cross_origin")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """An application that takes small bodies only, and soon loses patience."""
    from service.storage.schema import upgrade

    url = f"sqlite:///{tmp_path_factory.mktemp('small')}/small.db"
    upgrade(url)
    with running_app(url, max_body_bytes=1000, body_timeout=0.2, max_nesting=8) as api:
        yield api


def test_a_body_too_large_is_413(small: Api) -> None:
    """Announced or not, more bytes than allowed are refused."""
    announced = small.post("/v1/studies", json={"name": "n" * 2000})
    chunks = (b'{"name": "', b"n" * 2000, b'"}')
    chunked = small.post("/v1/studies", content=iter(chunks), headers={"content-type": "application/json"})
    for answer in (announced, chunked):
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        assert "1000" in answer.json()["detail"]


def test_a_body_that_does_not_arrive_is_408(small: Api) -> None:
    """A client that sends half a body and waits is told so, and the connection ends."""
    answer = _raw(small, b"POST /v1/studies HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert answer.startswith(b"HTTP/1.1 408")
    assert json.loads(answer.split(b"\r\n\r\n")[1])["code"] == "body_timeout"


def test_nesting_has_a_limit(small: Api) -> None:
    """Metadata may be nested, but not without end."""
    deep: object = 1
    for _ in range(9):
        deep = [deep]
    answer = small.post("/v1/studies", json={"metadata": deep})
    assert (answer.status_code, "8 levels" in answer.json()["detail"]) == (422, True)


def test_a_large_body_is_parsed_as_strictly(sqlite_api: Api) -> None:
    """Bodies parsed off the event loop pass the same checks, and arrive whole."""
    study = sqlite_api.study()
    point = {"x": 0.5, "n": 3, "kind": "a"}
    results = [{"parameters": point, "value": i + 0.125} for i in range(1000)]
    body = json.dumps({"results": results}).encode()
    assert len(body) > 64 * 1024
    assert len(sqlite_api.tell(study, results=results)["trials"]) == 1000
    broken = body[:-2] + b', {"value": NaN}]}'
    answer = sqlite_api.post(f"{study}/tell", content=broken, headers={"content-type": "application/json"})
    assert answer.status_code == 422


class Failing(InlineCompute):
    """A worker pool in trouble."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def ask(self, job: AskJob) -> AskResult:
        raise self.error

    def predict(self, job: PredictJob) -> list[dict[str, object]]:
        raise self.error


def test_an_unexpected_error_is_a_500_without_details(sqlite_url: str) -> None:
    """The answer holds a request id and neither the message nor a trace; the service goes on."""
    with running_app(sqlite_url, compute=Failing(RuntimeError("secret in /some/path"))) as api:
        study = api.study()
        answer = api.post(f"{study}/ask")
        assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
        assert "secret" not in answer.text
        assert answer.json()["request_id"] == answer.headers["x-request-id"]
        assert api.get(study).json()["trial_counts"]["running"] == 0


def test_overload_is_503_with_retry_after(sqlite_url: str) -> None:
    """A full queue says when to come back, and nothing was handed out."""
    with running_app(sqlite_url, compute=Failing(Overloaded(7))) as api:
        study = api.study()
        answer = api.post(f"{study}/ask")
        assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
        assert answer.headers["retry-after"] == "7"


def test_a_failed_prediction_is_503(sqlite_url: str) -> None:
    """A prediction has no fallback; it says that the model could not be computed."""
    with running_app(sqlite_url, compute=Failing(ComputeFailed("the worker died twice"))) as api:
        study = api.study()
        api.tell(study, parameters={"x": 0, "n": 1, "kind": "a"}, value=1)
        answer = api.post(f"{study}/predict", json={"points": [{"x": 0, "n": 1, "kind": "a"}]})
        assert (answer.status_code, answer.json()["code"]) == (503, "model_failed")


def _raw(api: Api, request: bytes) -> bytes:
    """Send bytes as they are, and read until the server ends the connection."""
    address = urlsplit(str(api.base_url))
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer
