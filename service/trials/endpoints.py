"""/v1/studies/{study}/ask, /tell, /trials, /best"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import Body, Query, Request, Response
from fastapi.responses import StreamingResponse

from service.auth.dependencies import Reader, Writer
from service.http.responses import answered, conditional, json_response
from service.http.routing import (
    Cursor,
    IdempotencyKey,
    Limit,
    StudyRef,
    TrialNumber,
    Using,
    keyed,
    router,
)
from service.studies.views import etag
from service.trials.records import TrialState
from service.trials.schemas import (
    AskDiagnosticsOut,
    AskOut,
    AskRequest,
    Result,
    SeriesOut,
    TellOut,
    TellRequest,
    TrialOut,
    TrialPage,
)
from service.trials.shares import Asking
from service.trials.tell import Telling

routes = router("trials")
CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "All trials."}
}


@routes.post("/studies/{study}/ask", response_model=AskOut, responses={404: {}, 409: {}})
async def ask(
    request: Request,
    ref: StudyRef,
    who: Writer,
    use: Using,
    body: AskRequest | None = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Get trials to evaluate.

    A `client_id` that holds running trials gets those back first; then come trials whose lease has expired;
    then new points, each chosen knowing all that are running.
    """
    key = keyed(request, who.workspace, idempotency_key)
    asking = Asking(who.workspace, ref, body or AskRequest(), key)
    return answered(await use.admission.in_turn((who.workspace, ref), asking, use.asking))


@routes.post("/studies/{study}/tell", response_model=TellOut, responses={404: {}, 409: {}})
async def tell(
    request: Request,
    ref: StudyRef,
    body: Annotated[TellRequest, Body()],
    who: Writer,
    use: Using,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Tell one result, or several as `{"results": [...]}`: all are stored, or none.

    The same result may be told again; another one for a finished trial is refused.
    """
    single = isinstance(body, Result)
    results = [body] if isinstance(body, Result) else body.results
    telling = Telling(who.workspace, ref, results, keyed(request, who.workspace, idempotency_key), single)
    if single and telling.keyed is None and (told := await use.telling.do(telling)) is not None:
        return answered(told)
    return answered(await to_thread.run_sync(use.tells.tell, telling))


@routes.get("/studies/{study}/trials", response_model=TrialPage, responses={304: {}, 404: {}})
def list_trials(
    request: Request,
    ref: StudyRef,
    who: Reader,
    use: Using,
    state: TrialState | None = None,
    order: Annotated[Literal["asc", "desc"], Query(description="By number.")] = "asc",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """List trials by number."""
    study = use.studies.get(who.workspace, ref)
    return conditional(
        request,
        etag(study),
        lambda: use.trials.page(study, limit, cursor, state, descending=order == "desc"),
    )


@routes.get("/studies/{study}/series", response_model=SeriesOut, responses={304: {}, 404: {}})
def get_series(
    request: Request,
    ref: StudyRef,
    who: Reader,
    use: Using,
    improvements: Annotated[bool, Query(description="Only trials better than every one before.")] = False,
) -> Response:
    """Number, state, value and origin of every trial, in columns: what a curve needs."""
    study = use.studies.get(who.workspace, ref)
    return conditional(request, etag(study), lambda: use.trials.series(study, improvements=improvements))


@routes.get("/studies/{study}/trials.csv", response_class=StreamingResponse, responses={**CSV, 404: {}})
def export_trials(ref: StudyRef, who: Reader, use: Using) -> Response:
    """All trials as CSV, one a row, streamed."""
    study = use.studies.get(who.workspace, ref)
    headers = {"content-disposition": f'attachment; filename="{study.id}.csv"'}
    return StreamingResponse(use.trials.csv(study), media_type="text/csv; charset=utf-8", headers=headers)


@routes.get("/studies/{study}/trials/{number}", response_model=TrialOut, responses={304: {}, 404: {}})
def get_trial(request: Request, ref: StudyRef, number: TrialNumber, who: Reader, use: Using) -> Response:
    """One trial."""
    study = use.studies.get(who.workspace, ref)
    return conditional(request, etag(study), lambda: use.trials.get(study, number))


@routes.get("/studies/{study}/trials/{number}/diagnostics", response_model=AskDiagnosticsOut, responses={404: {}})
def get_trial_diagnostics(ref: StudyRef, number: TrialNumber, who: Reader, use: Using) -> Response:
    """How the ask went that made this trial: seconds, evidence, residuals, and the decompositions it used."""
    return json_response(use.trials.diagnostics(use.studies.get(who.workspace, ref), number))


@routes.get("/studies/{study}/best", response_model=TrialOut, responses={304: {}, 404: {}})
def get_best(request: Request, ref: StudyRef, who: Reader, use: Using) -> Response:
    """The best completed trial."""
    study = use.studies.get(who.workspace, ref)
    return conditional(request, etag(study), lambda: use.trials.best(study))
