"""Answers on pages: more or less like a paper, and the papers that were saved."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.commands.ratings import VERDICTS, Whose, rate, saved
from monitor.commands.shown_papers import show_papers
from monitor.errors import UsageError
from monitor.web.forms import form, who
from monitor.web.pages.exports import stream
from monitor.web.paging import Slice, parameter
from monitor.web.site import (
    Form,
    go,
    path_to,
    require_subscription,
    show,
    site_of,
    viewer_of,
)

PAGE = 20


def rate_paper(request: Request, fields: Form) -> Response:
    """Store an answer for a subscription that the viewer may see, or take it back."""
    name, verdict = fields.get("subscription", ""), fields.get("verdict", "")
    require_subscription(request, name)
    if verdict not in VERDICTS:
        raise UsageError("nothing was chosen", "choose one of the buttons")
    paper = request.path_params["id"]
    whose = Whose(name, who=who(viewer_of(request)))
    rate(site_of(request).runtime, paper, verdict, whose, how="page")
    return go(path_to("papers", paper))


def saved_papers(request: Request) -> Response:
    """List the papers that the viewer saved; an operator sees those of all."""
    runtime = site_of(request).runtime
    start = parameter(request, "after") or 0
    found = Slice.of(saved(runtime, who=_author(request)), start, PAGE)
    with runtime.database.reading() as tx:
        entries = show_papers(runtime, tx, [rating.stored for rating in found.shown])
    return show(request, "saved", entries=entries, found=found)


def export_saved(request: Request) -> Response:
    """Return the saved papers for a reference manager."""
    return stream(iter(saved(site_of(request).runtime, who=_author(request))), "bib", "saved")


def _author(request: Request) -> str:
    """Answers are shown to who gave them, and to operators."""
    viewer = viewer_of(request)
    return "" if viewer.is_operator else viewer.address


ROUTES = [
    Route("/papers/{id}/rate", form(rate_paper), methods=["POST"]),
    Route("/saved", saved_papers),
    Route("/saved.bib", export_saved),
]
