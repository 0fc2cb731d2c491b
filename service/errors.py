"""What the service answers when it cannot do what was asked. Each class owns its status, code and title.

ServiceError
├── MalformedJson          400  the body is no JSON
├── InvalidCursor          400  a cursor that this listing did not give out
├── Unauthorized           401  no key, or none that is valid
├── Forbidden              403  the key's role does not allow it
│   └── CrossOrigin        403  a web page of another site calls a server that asks for no key
├── NotFound               404  no such page
├── StudyNotFound          404
├── TrialNotFound          404
├── NoCompletedTrial       404
├── NoDiagnostics          404  the trial was told, not asked
├── KeyNotFound            404
├── BodyTimeout            408  the body did not arrive in time
├── Conflict
│   ├── NameTaken          409
│   ├── StudyStopped       409
│   ├── TrialFinished      409  another result was told before
│   ├── TooManyTrials      409
│   ├── NothingToPredict   409  no trial is completed yet
│   ├── SpaceIsExhausted   409  no new point is left
│   └── IdempotencyReused  409  the same Idempotency-Key with another request
├── BodyTooLarge           413
├── NotJson                415
├── Invalid                422  well-formed, and wrong; `errors` says where
└── Unavailable            503  with Retry-After
    ├── StorageUnavailable 503  the database is busy or gone
    ├── Busy               503  too many asks wait
    ├── ModelFailed        503  a prediction that the workers could not compute
    └── NotReady           503  the schema is not the one this version needs

Everything else is an `internal_error` (500) with a request id and no details.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from core.errors import Fault


class ServiceError(Exception):
    """Any error that the service answers with on purpose."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "Internal error"

    def __init__(self, detail: str, *, faults: Iterable[Fault] = (), retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.faults = list(faults)
        self.retry_after = retry_after

    def problem(self) -> dict[str, Any]:
        """As RFC 9457 problem details."""
        return problem(self.status, self.code, self.title, self.detail, self.faults)


def problem(status: int, code: str, title: str, detail: str, faults: Iterable[Fault] = ()) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": f"urn:dumbo:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
    }
    if errors := [{"loc": list(fault.loc), "msg": fault.msg} for fault in faults]:
        body["errors"] = errors
    return body


class MalformedJson(ServiceError):
    status, code, title = 400, "malformed_json", "The body is not JSON"


class InvalidCursor(ServiceError):
    status, code, title = 400, "invalid_cursor", "Not a cursor of this listing"


class Unauthorized(ServiceError):
    status, code, title = 401, "unauthorized", "A valid API key is needed"


class Forbidden(ServiceError):
    status, code, title = 403, "forbidden", "The API key does not allow this"


class CrossOrigin(Forbidden):
    code, title = "cross_origin", "Calls from web pages of other sites are refused"


class NotFound(ServiceError):
    status, code, title = 404, "not_found", "Not Found"


class StudyNotFound(ServiceError):
    status, code, title = 404, "study_not_found", "No such study"


class TrialNotFound(ServiceError):
    status, code, title = 404, "trial_not_found", "No such trial"


class NoCompletedTrial(ServiceError):
    status, code, title = 404, "no_completed_trial", "No trial is completed yet"


class NoDiagnostics(ServiceError):
    status, code, title = 404, "no_diagnostics", "The trial was not asked for"


class KeyNotFound(ServiceError):
    status, code, title = 404, "key_not_found", "No such API key"


class BodyTimeout(ServiceError):
    status, code, title = 408, "body_timeout", "The body did not arrive in time"


class Conflict(ServiceError):
    status = 409


class NameTaken(Conflict):
    code, title = "name_taken", "A study of this name exists"


class StudyStopped(Conflict):
    code, title = "study_stopped", "The study is stopped"


class TrialFinished(Conflict):
    code, title = "trial_finished", "The trial has another result already"


class TooManyTrials(Conflict):
    code, title = "too_many_trials", "The study is full"


class NothingToPredict(Conflict):
    code, title = "no_completed_trial", "No trial is completed yet"


class SpaceIsExhausted(Conflict):
    code, title = "space_exhausted", "No new point is left to propose"


class IdempotencyReused(Conflict):
    code, title = "idempotency_key_reused", "The Idempotency-Key was used for another request"


class BodyTooLarge(ServiceError):
    status, code, title = 413, "body_too_large", "The body is too large"


class NotJson(ServiceError):
    status, code, title = 415, "unsupported_media_type", "The body must be JSON"


class Invalid(ServiceError):
    status, code, title = 422, "invalid", "The request is well-formed but wrong"

    @classmethod
    def at(cls, *loc: str | int, msg: str) -> Invalid:
        return cls.of([Fault(loc, msg)])

    @classmethod
    def of(cls, faults: Iterable[Fault], *prefix: str | int) -> Invalid:
        """Invalid for these faults, each located below `prefix`."""
        located = [Fault((*prefix, *fault.loc), fault.msg) for fault in faults]
        shown = "; ".join(map(str, located[:3])) + ("; ..." if len(located) > 3 else "")
        return cls(shown, faults=located)


class Unavailable(ServiceError):
    """Try again after `retry_after` seconds."""

    status = 503

    def __init__(self, detail: str, *, retry_after: int = 1) -> None:
        super().__init__(detail, retry_after=retry_after)


class StorageUnavailable(Unavailable):
    code, title = "storage_unavailable", "The database is busy or cannot be reached"


class Busy(Unavailable):
    code, title = "overloaded", "Too many asks are waiting"


class ModelFailed(Unavailable):
    code, title = "model_failed", "The model could not be computed"


class NotReady(Unavailable):
    code, title = "not_ready", "The service is not ready"
