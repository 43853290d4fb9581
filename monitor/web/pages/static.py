"""`/static/`: the style and the script of all pages, from the package itself."""

from __future__ import annotations

import hashlib
from functools import cache

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.resources import resource

_DAY = "public, max-age=86400"
FILES = {
    "style.css": ("text/css; charset=utf-8", ("web/style.css", "pages/style.css")),
    "pages.js": ("text/javascript; charset=utf-8", ("pages/pages.js",)),
}


@cache
def _content(name: str) -> bytes:
    parts = (resource("templates") / part for part in FILES[name][1])
    return b"\n".join(part.read_bytes() for part in parts)


def mark(name: str) -> str:
    """Return what the address of a file ends with, so that another version is another address."""
    return hashlib.sha256(_content(name)).hexdigest()[:8]


def file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        return Response("not found", 404)
    return Response(_content(name), media_type=FILES[name][0], headers={"cache-control": _DAY})


ROUTES = [Route("/static/{name}", file)]
