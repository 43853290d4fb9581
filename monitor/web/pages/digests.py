"""`/digests`: the archive, and one digest as a page, as mail and as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from monitor.channels.email.render import render_digest
from monitor.commands.shown_papers import past_digest
from monitor.digest.wording import format_count
from monitor.model import Digest, DigestPaper, DigestSection, Templates
from monitor.store.digests import digests
from monitor.web.guard import POLICY_OF_DOCUMENTS
from monitor.web.pages.feeds import SUBSCRIPTION, feed_path
from monitor.web.paging import parameter
from monitor.web.site import require_subscription, show, show_problem, site_of, subscriptions_of

PAGE = 50
# A list of more subscriptions would be longer than the page.
MOST_LISTED = 200


def archive(request: Request) -> Response:
    """List the digests, newest first."""
    names = [s.name for s in subscriptions_of(request)]
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


def digest_of(request: Request) -> Digest:
    """Return the digest that an address names, if the viewer may see its subscription."""
    name = require_subscription(request, request.path_params["subscription"])
    return past_digest(site_of(request).runtime, name, request.path_params["period"])


def one_digest(request: Request) -> Response:
    """Show a digest as a page, with the ones before and after it; or as the mail it was."""
    runtime, digest = site_of(request).runtime, digest_of(request)
    form = request.query_params.get("as", "page")
    if form in ("mail", "text"):
        return _as_mail(request, digest, form)
    pages = cut_into_pages(digest, runtime.fallback_templates)
    page = parameter(request, "page") or 1
    if page > len(pages):
        message = f"This digest has {format_count(len(pages), 'page')}."
        return show_problem(request, 404, message)
    with runtime.database.reading() as tx:
        older, newer = digests.neighbours(tx, digest.subscription, digest.period)
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


# Bytes of the papers on a page: with what is around them it stays below 100 KB.
PAGE_SIZE = 80_000


@dataclass(slots=True)
class SectionPart:
    """What a page shows of a section: papers in full, then others in a line each, as HTML.

    `number` is that of the section in the digest.
    """

    number: int
    section: DigestSection
    full: list[Markup] = field(default_factory=list)
    titles: list[Markup] = field(default_factory=list)


def cut_into_pages(digest: Digest, templates: Templates) -> list[list[SectionPart]]:
    """Return what each page shows; a digest without papers has one page."""
    digest = replace(digest, about=replace(digest.about, papers_url="/papers"))
    in_full = {entry.paper_id for entry in digest.best(digest.full)}
    pages: list[list[SectionPart]] = [[]]
    size = 0
    for number, section, entry in _in_order(digest, in_full):
        is_full = entry.paper_id in in_full
        name = "paper" if is_full else "title_line"
        html = templates.render(f"web/{name}.html.j2", entry=entry, digest=digest)
        length = len(html.encode("utf-8", "replace"))
        if size and size + length > PAGE_SIZE:
            pages.append([])
            size = 0
        size += length
        if not pages[-1] or pages[-1][-1].number != number:
            pages[-1].append(SectionPart(number, section))
        part = pages[-1][-1]
        # A template of ours made it, which escapes what it is given.
        (part.full if is_full else part.titles).append(Markup(html))
    return pages


def _in_order(
    digest: Digest, in_full: set[int]
) -> Iterator[tuple[int, DigestSection, DigestPaper]]:
    for number, section in enumerate(digest.groups, 1):
        for entry in sorted(section.entries, key=lambda shown: shown.paper_id not in in_full):
            yield number, section, entry
