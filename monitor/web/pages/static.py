"""`/static/`: the style, the script and the icon of all pages."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.web.assets import FILES, content

_DAY = "public, max-age=86400"


def file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        return Response("not found", 404)
    return Response(content(name), media_type=FILES[name][0], headers={"cache-control": _DAY})


ROUTES = [Route("/static/{name}", file)]
