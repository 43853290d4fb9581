"""`/digests`: the archive, and one digest as a page, as mail and as text."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from monitor.channels.email.render import render_digest
from monitor.commands.preview import past_digest
from monitor.digest.wording import format_count
from monitor.errors import UsageError
from monitor.model import Digest
from monitor.store import digests
from monitor.web.digest_pages import cut_into_pages
from monitor.web.guard import POLICY_OF_DOCUMENTS
from monitor.web.pages.feeds import SUBSCRIPTION, feed_path
from monitor.web.paging import parameter
from monitor.web.site import show, show_problem, site_of, subscriptions_of

PAGE = 50
# A list of more subscriptions would be longer than the page.
MOST_LISTED = 200


def archive(request: Request) -> Response:
    """List the digests, newest first."""
    names = [one.name for one in subscriptions_of(request)]
    chosen = request.query_params.get("subscription", "")
    before = parameter(request, "before")
    wanted = [chosen] if chosen in names else names
    feed = feed_path(request, SUBSCRIPTION, wanted[0]) if len(wanted) == 1 else ""
    with site_of(request).runtime.database.reading() as tx:
        found = digests.newest(tx, wanted, PAGE + 1, before)
    return show(
        request,
        "digests",
        found=found[:PAGE],
        older=found[PAGE - 1].id if len(found) > PAGE else None,
        names=names,
        most_listed=MOST_LISTED,
        chosen=chosen,
        feed=feed,
        titles=site_of(request).titles,
    )


def one_digest(request: Request) -> Response:
    """Show a digest as a page, with the ones before and after it; or as the mail it was."""
    name, period = request.path_params["subscription"], request.path_params["period"]
    if name not in {one.name for one in subscriptions_of(request)}:
        return show_problem(request, 404, f"There is no subscription “{name}”.")
    runtime = site_of(request).runtime
    try:
        digest = past_digest(runtime, name, period)
    except UsageError as error:
        return show_problem(request, 404, error.message)
    form = request.query_params.get("as", "page")
    if form in ("mail", "text"):
        return _as_mail(request, digest, form)
    pages = cut_into_pages(digest, runtime.fallback_templates)
    page = parameter(request, "page") or 1
    if page > len(pages):
        message = f"This digest has {format_count(len(pages), 'page')}."
        return show_problem(request, 404, message)
    with runtime.database.reading() as tx:
        older, newer = digests.neighbours(tx, name, period)
    return show(
        request, "digest", digest=digest, pages=pages, number=page, older=older, newer=newer
    )


def _as_mail(request: Request, digest: Digest, form: str) -> Response:
    """Return a digest as mail programs show it, or its plain text."""
    mail = render_digest(digest, site_of(request).runtime.templates)[0].body
    if form == "text":
        return PlainTextResponse(mail["text"])
    headers = {"content-security-policy": POLICY_OF_DOCUMENTS}
    return HTMLResponse(mail["html"], headers=headers)


ROUTES = [
    Route("/digests", archive),
    Route("/digests/{subscription}/{period}", one_digest),
]
