"""`/papers`: the search, and one paper with all that is known of it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.commands.explain import Explanation, explain, find_paper
from monitor.commands.identity import merge, split
from monitor.commands.search import search
from monitor.commands.shown_papers import describe_revisions, show_paper, show_papers
from monitor.config.messages import pointed
from monitor.errors import QueryError, UsageError
from monitor.match import parse_query
from monitor.model import DigestPaper, TopicWhy
from monitor.pipeline.runtime import Runtime
from monitor.store import earlier_texts
from monitor.web.forms import form, operator_only
from monitor.web.site import Form, go, path_to, show, show_problem, site_of, subscriptions_of

PAGE = 25


def find_papers(request: Request) -> Response:
    """Search in the language of topics, newest first."""
    runtime, query = site_of(request).runtime, request.query_params.get("q", "").strip()
    fault = ""
    more = False
    entries: list[DigestPaper] = []
    try:
        parsed = parse_query(query, runtime.synonyms) if query else None
        result = search(runtime, query, PAGE)
        more = result.more
        with runtime.database.reading() as tx:
            entries = show_papers(runtime, tx, [one.stored for one in result.papers], parsed)
    except QueryError as error:
        fault = pointed(query, error)
    return show(request, "papers", query=query, entries=entries, more=more, fault=fault)


def one_paper(request: Request) -> Response:
    """Show one paper: text, links, where it was seen, what it was recognised by, who got it."""
    runtime = site_of(request).runtime
    try:
        known = explain(runtime, request.path_params["id"])
    except UsageError as error:
        return show_problem(request, 404, error.message, error.hint)
    with runtime.database.reading() as tx:
        stored = find_paper(tx, str(known.id))
        texts = earlier_texts.of_paper(tx, known.id)
    sources = tuple(sorted({sighting.source for sighting in known.sources}))
    shown = {one.name for one in subscriptions_of(request)}
    return show(
        request,
        "one_paper",
        known=known,
        entry=show_paper(runtime, stored, sources, _why(runtime, known)),
        revisions=describe_revisions(texts, stored),
        digests=[one for one in known.digests if one.subscription in shown],
    )


def _why(runtime: Runtime, known: Explanation) -> list[TopicWhy]:
    """Return why topics match a paper as it is now, each by what people call it."""
    newest = {one.topic: one for one in known.topics}
    return [
        TopicWhy(name, one.why, runtime.sections[name].title if name in runtime.sections else name)
        for name, one in newest.items()
    ]


def merge_papers(request: Request, fields: Form) -> Response:
    """Join this paper and another one, permanently."""
    paper, other = request.path_params["id"], fields.get("other", "").strip()
    if not other:
        raise UsageError("no other paper was named", "give its number, identifier, link or title")
    one = merge(site_of(request).runtime, [paper, other])
    return go(path_to("papers", one.stored.id))


def split_paper(request: Request, fields: Form) -> Response:
    """Make a paper of its own of a record of this one, permanently."""
    record = fields.get("record", "")
    if not record:
        raise UsageError("no record was chosen", "choose the record that is another paper")
    _, other = split(site_of(request).runtime, request.path_params["id"], [record])
    return go(path_to("papers", other.stored.id))


ROUTES = [
    Route("/papers", find_papers),
    Route("/papers/{id}", one_paper),
    Route("/papers/{id}/merge", form(operator_only(merge_papers)), methods=["POST"]),
    Route("/papers/{id}/split", form(operator_only(split_paper)), methods=["POST"]),
]
