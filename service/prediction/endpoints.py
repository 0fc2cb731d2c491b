"""/v1/studies/{study}/predict"""

from __future__ import annotations

from fastapi import Request, Response

from service.auth.dependencies import Reader
from service.http.responses import answered
from service.http.routing import IdempotencyKey, StudyRef, Using, keyed, router
from service.prediction.schemas import PredictOut, PredictRequest

routes = router("prediction")


@routes.post("/studies/{study}/predict", response_model=PredictOut, responses={404: {}, 409: {}})
async def predict(
    request: Request,
    ref: StudyRef,
    body: PredictRequest,
    who: Reader,
    use: Using,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """What the model expects at points, in total and factor by factor."""
    key = keyed(request, who.workspace, idempotency_key)
    return answered(await use.admission.run(lambda: use.predictions.predict(who.workspace, ref, body.points, key)))
