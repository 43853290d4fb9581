"""`/papers`: the search, and one paper with all that is known of it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.commands.explain import explain, find_paper
from monitor.commands.identity import merge, split
from monitor.commands.paper_search import PapersPage, find_page
from monitor.commands.ratings import answers_of
from monitor.commands.shown_papers import describe_revisions, show_paper, show_papers
from monitor.config.messages import pointed
from monitor.errors import QueryError, TooWideError, UsageError
from monitor.match import parse_query
from monitor.model import DigestPaper
from monitor.store.papers import write_papers
from monitor.web.forms import form, operator_only, who
from monitor.web.search_form import KINDS, read_search, wanted_by
from monitor.web.site import (
    SEARCHES,
    Form,
    go,
    one_at_a_time,
    path_to,
    show,
    site_of,
    subscriptions_of,
    viewer_of,
)

# A list of more topics would be longer than the page.
MOST_LISTED = 200
# Subscriptions with buttons of their own on the page of a paper; of others one is chosen.
APART = 5


def search_papers(request: Request) -> Response:
    """Search in the language of topics, newest first, page by page."""
    site, search = site_of(request), read_search(request)
    runtime, fault, status = site.runtime, "", 200
    page = PapersPage(())
    entries: list[DigestPaper] = []
    try:
        parsed = parse_query(search.q, runtime.synonyms) if search.q else None
        page = find_page(runtime, search.q, wanted_by(request, search), search.cursor)
        stored = [hit.found.stored for hit in page.hits]
        with runtime.database.reading() as tx:
            entries = show_papers(runtime, tx, stored, parsed)
    except QueryError as error:
        fault = pointed(search.q, error)
        status = 400 if isinstance(error, TooWideError) else 200
    except UsageError as error:
        fault = f"{error.message}; {error.hint}"
    return show(
        request,
        "papers",
        status,
        search=search,
        entries=entries,
        page=page,
        fault=fault,
        sources=site.source_titles,
        topics=[topic.name for topic in runtime.topics[: MOST_LISTED + 1]],
        most_listed=MOST_LISTED,
        kinds=KINDS,
    )


def one_paper(request: Request) -> Response:
    """Show one paper: text, links, where it was seen, what it was recognised by, who got it."""
    runtime = site_of(request).runtime
    known = explain(runtime, request.path_params["id"])
    with runtime.database.reading() as tx:
        stored = find_paper(tx, str(known.id))
        texts = write_papers.earlier_texts(tx, known.id)
    sources = tuple(sorted({sighting.source for sighting in known.sources}))
    shown = {subscription.name: subscription for subscription in subscriptions_of(request)}
    topics = {match.topic for match in known.topics}
    answers = answers_of(runtime, known.id, who(viewer_of(request)))
    matching = {
        name for name, subscription in shown.items() if topics.intersection(subscription.topics)
    }
    asked = [name for name in shown if name in answers or name in matching]
    return show(
        request,
        "one_paper",
        known=known,
        entry=show_paper(runtime, stored, sources, (match.topic for match in known.topics)),
        revisions=describe_revisions(texts, stored),
        answers=answers,
        matching=matching,
        asked=sorted(asked, key=lambda name: name not in answers),
        apart=APART,
        most_listed=MOST_LISTED,
        titles=site_of(request).titles,
        digests=[sent for sent in known.digests if sent.subscription in shown],
    )


def merge_papers(request: Request, fields: Form) -> Response:
    """Join this paper and another one, permanently."""
    paper, other = request.path_params["id"], fields.get("other", "").strip()
    if not other:
        raise UsageError("no other paper was named", "give its number, identifier, link or title")
    merged = merge(site_of(request).runtime, [paper, other])
    return go(path_to("papers", merged.stored.id))


def split_paper(request: Request, fields: Form) -> Response:
    """Make a paper of its own of a record of this one, permanently."""
    record = fields.get("record", "")
    if not record:
        raise UsageError("no record was chosen", "choose the record that is another paper")
    _, other = split(site_of(request).runtime, request.path_params["id"], [record])
    return go(path_to("papers", other.stored.id))


ROUTES = [
    Route("/papers", one_at_a_time(search_papers, SEARCHES)),
    Route("/papers/{id}", one_paper),
    Route("/papers/{id}/merge", form(operator_only(merge_papers)), methods=["POST"]),
    Route("/papers/{id}/split", form(operator_only(split_paper)), methods=["POST"]),
]
