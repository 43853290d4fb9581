"""`/papers/ID`: one paper with all that is known of it; `/saved`: the papers that were saved."""

from __future__ import annotations

from itertools import islice

from starlette.responses import Response

from monitor.commands.explain import explain, known_from
from monitor.commands.identity import merge, split, unmark
from monitor.commands.look_up import NO_SERVICE, of_paper, unfill
from monitor.commands.paper_search import load_page
from monitor.commands.ratings import (
    VERDICTS,
    RaterScope,
    answers_of,
    followed_by_paper,
    follows,
    matches_any,
    rate_any,
    remove_saved,
    saved,
    saves,
)
from monitor.commands.shown_papers import describe_revisions, show_paper, show_papers
from monitor.commands.subscriptions import subscriptions_of
from monitor.digest.citation_tags import citation_tags
from monitor.digest.look_up_words import describe_followed, describe_look_up
from monitor.digest.page_paths import path_to
from monitor.errors import UsageError
from monitor.identity.reasons import describe
from monitor.pipeline.look_up import ask_about
from monitor.store.papers import withdrawals, write_papers
from monitor.text import whole_number
from monitor.web.access import Role
from monitor.web.pages.exports import stream
from monitor.web.pages.feeds import (
    NEWEST,
    SAVED,
    feed_path,
    refuse_feed,
    show_feed,
    signed_names,
)
from monitor.web.routes import Form, Routes
from monitor.web.site import PAGES, Visit, go, with_query

# Saved papers on a page, and for each of them the last times that it was saved.
PAGE = 20
SHOWN_SAVES = 3

routes = Routes()


@routes.page("/papers/{id}", Role.READER)
def one_paper(visit: Visit) -> Response:
    """Show one paper: text, links, where it was seen, what it was recognised by, who got it."""
    runtime = visit.runtime
    known = explain(runtime, visit.path_params["id"], visit.libraries)
    stored = known.origin.stored
    with runtime.database.reading() as tx:
        texts = write_papers.earlier_texts(tx, stored.id)
        marks = withdrawals.of_paper(tx, stored.id)
        matching = matches_any(tx, stored.id, visit.subscriptions)
    topics = {match.topic for match in known.topics}
    titles = runtime.service_titles
    answers = answers_of(runtime, stored.id, visit.viewer.name)
    shown = {s.name for s in visit.subscriptions}
    with_topics = [s.name for s in visit.subscriptions if s.topics]
    own = _own(visit)
    # Nothing of the viewer's own matches: one answer for all of it.
    unmatched = own if own and matching.isdisjoint(own) else ()
    asked = [name for name in with_topics if name in matching or name in answers]
    if not (unmatched or matching):
        asked = with_topics
    return visit.show(
        "one_paper",
        looked_up=[(one, describe_look_up(one, titles)) for one in known.look_ups],
        # It shows that a reader follows the paper: to others than that one only the operator.
        followed=[
            (one, describe_followed(one, titles))
            for one in known.followed
            if visit.viewer.is_operator or follows(answers)
        ],
        services=list(titles.values()),
        known=known,
        seen=[(sighting, describe(sighting.recognised)) for sighting in known.origin.sightings],
        known_from=known_from(known, visit.zone, shown),
        citation_tags=list(citation_tags(stored.paper)),
        entry=show_paper(runtime, stored, known.origin.sightings, topics, visit.libraries),
        marks=marks,
        revisions=describe_revisions(texts, stored),
        answers=answers,
        matching=matching,
        unmatched=unmatched,
        given_to_all={verdict for name in unmatched for verdict in answers.get(name, ())},
        asked=sorted(
            (name for name in asked if name not in unmatched),
            key=lambda name: (name not in own, name not in answers),
        ),
        digests=[sent for sent in known.digests if sent.subscription in shown],
    )


@routes.form("/papers/{id}/merge", Role.OPERATOR)
def merge_papers(visit: Visit, fields: Form) -> Response:
    """Join this paper and another one, permanently."""
    paper = visit.path_params["id"]
    other = fields.get("other", "").strip()
    if not other:
        raise UsageError("no other paper was named", "give its number, identifier, link or title")
    merged = merge(visit.runtime, [paper, other])
    return go(path_to("papers", merged.stored.id))


@routes.form("/papers/{id}/split", Role.OPERATOR)
def split_paper(visit: Visit, fields: Form) -> Response:
    """Make a paper of its own of a record of this one, permanently."""
    record = fields.get("record", "")
    if not record:
        raise UsageError("no record was chosen", "choose the record that is another paper")
    _, other = split(visit.runtime, visit.path_params["id"], [record])
    return go(path_to("papers", other.stored.id))


@routes.form("/papers/{id}/unmark", Role.OPERATOR)
def unmark_paper(visit: Visit, fields: Form) -> Response:
    """Take the mark off a paper that was withdrawn by mistake, permanently."""
    done = unmark(visit.runtime, visit.path_params["id"])
    return go(path_to("papers", done.paper.stored.id))


@routes.form("/papers/{id}/look-up", Role.OPERATOR)
def look_up_paper(visit: Visit, fields: Form) -> Response:
    """Let services be asked about a paper: the service that runs does it."""
    if not visit.runtime.services:
        raise UsageError(*NO_SERVICE)
    stored = of_paper(visit.runtime, visit.path_params["id"]).stored
    ask_about(visit.runtime, [stored.id])
    return go(path_to("papers", stored.id))


@routes.form("/papers/{id}/unfill", Role.OPERATOR)
def unfill_paper(visit: Visit, fields: Form) -> Response:
    """Take out what services, or one, filled in of a paper."""
    done = unfill(visit.runtime, visit.path_params["id"], fields.get("service", ""))
    return go(path_to("papers", done.stored.id))


@routes.form("/papers/{id}/rate", Role.READER)
def rate_paper(visit: Visit, fields: Form) -> Response:
    """Store an answer for a subscription that the viewer may see, or take it back.

    Without one it is for all of the viewer's own.
    """
    name = fields.get("subscription", "")
    verdict = fields.get("verdict", "")
    names = () if name else _own(visit)
    names = names or (visit.require_subscription(name),)
    if verdict not in VERDICTS:
        raise UsageError("nothing was chosen", "choose one of the buttons")
    paper = visit.path_params["id"]
    rate_any(visit.runtime, paper, verdict, names, visit.viewer.name)
    return go(path_to("papers", paper))


def _own(visit: Visit) -> tuple[str, ...]:
    """Return the subscriptions with topics of which the viewer is a recipient."""
    own = subscriptions_of(visit.runtime, visit.viewer.address)
    return tuple(subscription.name for subscription in own if subscription.topics)


@routes.page("/saved", Role.READER, takes=("after",))
def saved_papers(visit: Visit) -> Response:
    """List the papers that the viewer saved; an operator sees those of all."""
    runtime = visit.runtime
    who = visit.viewer.author
    by_paper = saves(runtime, who)
    papers = visit.slice([*by_paper], PAGE)
    with runtime.database.reading() as tx:
        entries = show_papers(runtime, tx, load_page(tx, papers.shown), libraries=visit.libraries)
        followed = followed_by_paper(tx, papers.shown)
    titles = runtime.service_titles
    return visit.show(
        "saved",
        followed={
            id: [(one, describe_followed(one, titles)) for one in answers]
            for id, answers in followed.items()
        },
        entries=entries,
        papers=papers,
        saves=by_paper,
        shown_saves=SHOWN_SAVES,
        after=visit.number("after") or "",
        feed=feed_path(visit, SAVED, who.casefold()),
    )


@routes.form("/saved/remove", Role.READER)
def remove_from_saved(visit: Visit, fields: Form) -> Response:
    """Remove a paper from those that the viewer saved, or an operator from anybody's."""
    who = visit.viewer.author or fields.get("who") or visit.viewer.name
    paper = whole_number(fields.get("paper", ""))
    after = whole_number(fields.get("after", ""))
    if paper is None:
        raise UsageError("no paper was chosen", "use the button of a paper")
    remove_saved(visit.runtime, paper, RaterScope(fields.get("subscription", ""), who=who))
    return go(with_query("/saved", {"after": after or ""}))


@routes.page("/feed/papers/saved.atom", Role.NOBODY, PAGES)
def saved_feed(visit: Visit) -> Response:
    """Return the papers that the person in the token saved, or the viewer; "" stands for all."""
    names = signed_names(visit)
    if not (names[0] == SAVED or visit.viewer.is_known):
        return refuse_feed(visit)
    who = names[1] if names[0] == SAVED else visit.viewer.author.casefold()
    by_paper = dict(islice(saves(visit.runtime, who).items(), NEWEST))
    with visit.runtime.database.reading() as tx:
        news = [(stored, by_paper[stored.id][0].at) for stored in load_page(tx, by_paper)]
    return show_feed(visit, "Saved papers", (SAVED, who), news, "/saved")


@routes.page("/saved.bib", Role.READER, is_stream=True)
def export_saved(visit: Visit) -> Response:
    papers = (one.found for one in saved(visit.runtime, who=visit.viewer.author))
    return stream(papers, "bibtex", "saved")
