"""/openapi.json and /docs"""

from __future__ import annotations

from importlib.resources import files

from fastapi import Request, Response

from service.errors import NotFound
from service.http.responses import json_response
from service.http.routing import router
from service.openapi import spec

routes = router("docs", prefix="")
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'"
PAGES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "docs.js": ("docs.js", "text/javascript; charset=utf-8"),
    "docs.css": ("docs.css", "text/css; charset=utf-8"),
}


@routes.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    return json_response(spec(request.app))


@routes.get("/docs", include_in_schema=False)
async def docs() -> Response:
    return _page("")


@routes.get("/docs/{file}", include_in_schema=False)
async def docs_file(file: str) -> Response:
    return _page(file)


def _page(name: str) -> Response:
    if name not in PAGES:
        raise NotFound("the documentation has no such page")
    file, media_type = PAGES[name]
    content = files("service.docs").joinpath(file).read_bytes()
    return Response(content, media_type=media_type, headers={"content-security-policy": POLICY})
