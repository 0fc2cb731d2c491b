"""/v1/studies"""

from __future__ import annotations

from fastapi import Request, Response

from service.auth.dependencies import Reader, Writer
from service.http.responses import answered, conditional, json_response
from service.http.routing import Cursor, IdempotencyKey, Limit, StudyRef, Using, keyed, router
from service.studies.schemas import StudyOut, StudyPage, StudyPatch, StudySpec
from service.studies.views import etag

routes = router("studies")


@routes.post("/studies", status_code=201, response_model=StudyOut, responses={409: {}})
def create_study(
    request: Request, spec: StudySpec, who: Writer, use: Using, idempotency_key: IdempotencyKey = None
) -> Response:
    """Create a study."""
    return answered(use.studies.create(who.workspace, spec, keyed(request, who.workspace, idempotency_key)))


@routes.get("/studies", response_model=StudyPage)
def list_studies(who: Reader, use: Using, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """List studies, the newest first."""
    return json_response(use.studies.list(who.workspace, limit, cursor))


@routes.get("/studies/{study}", response_model=StudyOut, responses={304: {}, 404: {}})
def get_study(request: Request, ref: StudyRef, who: Reader, use: Using) -> Response:
    """The study: its spec, its state, how many trials it has, and the best of them."""
    study = use.studies.get(who.workspace, ref)
    return conditional(request, etag(study), lambda: use.studies.view(study))


@routes.patch("/studies/{study}", response_model=StudyOut, responses={404: {}})
def update_study(ref: StudyRef, patch: StudyPatch, who: Writer, use: Using) -> Response:
    """Stop or reactivate a study, or replace its metadata. A stopped one takes tells, but no asks."""
    return json_response(use.studies.change(who.workspace, ref, patch))


@routes.delete("/studies/{study}", status_code=204, responses={404: {}})
def delete_study(ref: StudyRef, who: Writer, use: Using) -> Response:
    """Delete a study with all its trials."""
    use.studies.delete(who.workspace, ref)
    return Response(status_code=204)
