"""`/digests`: the archive, and one digest as a page, as mail and as text."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from markupsafe import Markup
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from monitor.channels.email.render import render_digest
from monitor.commands.shown_papers import past_digest
from monitor.digest.layout import batches, byte_count
from monitor.digest.said_once import said_once
from monitor.digest.sections.lead import leading
from monitor.digest.sections.references import hide_others
from monitor.digest.wording import format_count
from monitor.model import Digest, DigestGroup, DigestPaper, Templates
from monitor.store.digests import digests
from monitor.web.access import Role
from monitor.web.guard import POLICY_OF_DOCUMENTS
from monitor.web.pages.feeds import SUBSCRIPTION, feed_path
from monitor.web.routes import Routes
from monitor.web.site import Visit, name_of, told_apart

PAGE = 50
# The forms in which a digest is shown.
FORMS = ("page", "mail", "text")
# Bytes of the papers on a page: with what is around them it stays below 100 KB.
PAGE_SIZE = 80_000

routes = Routes()


@routes.page("/digests", Role.READER, takes=("subscription", "before"))
def archive(visit: Visit) -> Response:
    titles = {s.name: visit.runtime.titles[s.name] for s in visit.subscriptions}
    names = [*titles]
    before = visit.number("before")
    chosen = name_of(visit.parameter("subscription"), titles)
    is_known = not chosen or chosen in names
    shown = [chosen] if chosen else names
    with visit.runtime.database.reading() as tx:
        newest = digests.newest(tx, shown if is_known else (), PAGE + 1, before)
        listed = digests.with_notices(tx, newest[:PAGE])
    return visit.show(
        "digests",
        200 if is_known else 404,
        fault="" if is_known else f"There is no subscription “{chosen}”.",
        digests=listed,
        older=newest[PAGE - 1].id if len(newest) > PAGE else None,
        names=told_apart(titles),
        chosen=chosen,
        feed=feed_path(visit, SUBSCRIPTION, shown[0]) if is_known and len(shown) == 1 else "",
    )


def digest_of(visit: Visit) -> Digest:
    """Return the digest that an address names, if the viewer may see its subscription.

    Without changes of papers that other readers saved.
    """
    name = visit.require_subscription(visit.path_params["subscription"])
    digest = past_digest(visit.runtime, name, visit.path_params["period"])
    return digest if visit.viewer.is_operator else hide_others(digest, visit.viewer.address)


@routes.page("/digests/{subscription}/{period}", Role.READER, takes=("as", "page"))
def one_digest(visit: Visit) -> Response:
    """Show a digest as a page, with the ones before and after it; or as the mail it was."""
    runtime = visit.runtime
    digest = digest_of(visit)
    form = visit.choice("as", FORMS)
    page = visit.number("page")
    if form in ("mail", "text"):
        mail = render_digest(digest, runtime.templates)[0].body
        if form == "text":
            return PlainTextResponse(mail["text"])
        headers = {"content-security-policy": POLICY_OF_DOCUMENTS}
        return HTMLResponse(mail["html"], headers=headers)
    pages = cut_into_pages(digest, runtime.fallback_templates)
    page = 1 if page is None else page
    if not 1 <= page <= len(pages):
        return visit.show_problem(404, f"This digest has {format_count(len(pages), 'page')}.")
    with runtime.database.reading() as tx:
        older, newer = digests.neighbours(tx, digest.subscription, digest.period)
    return visit.show("digest", digest=digest, pages=pages, number=page, older=older, newer=newer)


class ShownPaper(NamedTuple):
    """A paper in full or in a line, as HTML, in a group with its number in the digest.

    In the lead of the digest `number` is 0, and `group` None. In its group, a paper `is_above` that
    the lead has; its title is enough there.
    """

    number: int
    group: DigestGroup | None
    entry: DigestPaper
    is_full: bool
    is_above: bool
    html: Markup


def cut_into_pages(digest: Digest, templates: Templates) -> list[list[ShownPaper]]:
    """Return what each page shows; a digest without papers has one page."""
    digest = replace(digest, about=replace(digest.about, papers_url="/papers"))
    in_full = {entry.paper_id for entry in digest.best(digest.full)}
    lead = leading(digest, in_full)
    said = said_once(digest, digest.timezone)
    above = {first.paper_id for first in lead}

    def html(name: str, entry: DigestPaper, **values: object) -> Markup:
        # A template of ours made it, which escapes what it is given.
        return Markup(
            templates.render(f"web/{name}", entry=entry, digest=digest, said=said, **values)
        )

    papers = [
        ShownPaper(
            0, None, first.entry, True, False, html("first.html.j2", first.entry, first=first)
        )
        for first in lead
    ]
    for number, group in enumerate(digest.groups, 1):
        for entry in sorted(group.entries, key=lambda entry: entry.paper_id not in in_full):
            is_full = entry.paper_id in in_full
            is_above = entry.paper_id in above
            name = "paper" if is_full and not is_above else "title_line"
            written = html(f"{name}.html.j2", entry)
            papers.append(ShownPaper(number, group, entry, is_full, is_above, written))
    return list(batches(papers, PAGE_SIZE, lambda paper: byte_count(paper.html))) or [[]]
