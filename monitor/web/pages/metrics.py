"""`/metrics`: what Prometheus reads."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.commands.metrics import CONTENT_TYPE, metrics
from monitor.web.site import one_at_a_time, site_of


def show_metrics(request: Request) -> Response:
    """Return all metrics in Prometheus' text format."""
    content = metrics(site_of(request).runtime)
    return Response(content, headers={"content-type": CONTENT_TYPE})


ROUTES = [Route("/metrics", one_at_a_time(show_metrics))]
