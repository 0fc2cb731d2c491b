"""/ and what its page loads: files of `static/`, read as they are, under a policy that lets nothing else in.

Styles and scripts come from this server only, none is written into the page, and no script may turn a string
into markup (trusted types): a study's name can be shown, never run.
"""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files

from fastapi import Request, Response

from service.errors import NotFound
from service.http.routing import router

routes = router("dashboard", prefix="")
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
# No dots but the one before the suffix, so no path leads out of the folder.
SHAPE = re.compile(rf"(?:[a-z-]+/)*[a-z-]+\.({'|'.join(TYPES)})")


@routes.get("/", include_in_schema=False)
async def dashboard(request: Request) -> Response:
    return _file(request, "index.html")


@routes.get("/dashboard/{path:path}", include_in_schema=False)
async def dashboard_file(request: Request, path: str) -> Response:
    return _file(request, path)


def _file(request: Request, path: str) -> Response:
    shape = SHAPE.fullmatch(path)
    file = files("service.dashboard").joinpath("static", path)
    if shape is None or not file.is_file():
        raise NotFound("the dashboard has no such file")
    content = file.read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"content-security-policy": POLICY, "cache-control": "no-cache", "etag": etag}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=TYPES[shape[1]], headers=headers)
