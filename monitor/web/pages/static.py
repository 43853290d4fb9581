"""`/static/`: the style, the script and the icon of all pages."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.web.site import ASSETS, asset_content

_DAY = "public, max-age=86400"


def file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        return Response("not found", 404)
    return Response(
        asset_content(name), media_type=ASSETS[name][0], headers={"cache-control": _DAY}
    )


ROUTES = [Route("/static/{name}", file)]
