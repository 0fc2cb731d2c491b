"""/v1/studies/{study}/decomposition"""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from service.auth.dependencies import Reader
from service.decomposition.schemas import StructureHistory, StructureOut
from service.http.responses import conditional
from service.http.routing import Cursor, Limit, StudyRef, Using, router
from service.studies.views import etag

routes = router("decomposition")


@routes.get("/studies/{study}/decomposition", response_model=StructureOut, responses={304: {}, 404: {}})
def get_decomposition(
    request: Request,
    ref: StudyRef,
    who: Reader,
    use: Using,
    at: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="As it was when this trial was asked for.")] = None,
) -> Response:
    """The additive structure: sampled decompositions, and how often two parameters share a factor."""
    study = use.studies.get(who.workspace, ref)
    return conditional(request, etag(study), lambda: use.decompositions.view(study, at))


@routes.get("/studies/{study}/decomposition/history", response_model=StructureHistory, responses={304: {}, 404: {}})
def get_decomposition_history(
    request: Request, ref: StudyRef, who: Reader, use: Using, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """The samples that each ask drew, the newest first."""
    study = use.studies.get(who.workspace, ref)
    return conditional(request, etag(study), lambda: use.decompositions.history(study, limit, cursor))
