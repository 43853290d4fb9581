"""`/topics` and `/try`: what topics find, and what a new one would have found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple

from msgspec import structs
from starlette.exceptions import HTTPException
from starlette.responses import Response

from monitor.commands.like_trial import (
    LOOKED_AT_ON_PAGE,
    relearn,
    try_like,
    with_bar,
    words_of_topic,
)
from monitor.commands.paper_search import load_page
from monitor.commands.query_bounds import is_too_long
from monitor.commands.shown_papers import show_papers
from monitor.commands.subscriptions import report_topics
from monitor.commands.topic_trial import (
    NEWEST,
    count_parts,
    find_topic,
    too_wide,
    try_topic,
    unnamed_topic,
)
from monitor.config.yaml_positions import quote_yaml
from monitor.digest.page_paths import path_to
from monitor.digest.wording import format_rate
from monitor.errors import QueryError
from monitor.match import meant_by, parse_query, parse_topic
from monitor.match.like import MAX_TEXT
from monitor.model import DayCount, DigestPaper, LikeText, Topic, fill_days
from monitor.pipeline import like_topics
from monitor.pipeline.runtime import Runtime
from monitor.store.papers import papers
from monitor.store.topics import matches
from monitor.text.new_names import NewNames
from monitor.web.access import Role
from monitor.web.pages.feeds import TOPIC, feed_path
from monitor.web.plots import DAYS, plot_days
from monitor.web.routes import Form, Routes
from monitor.web.site import BAR_WITHOUT_TEXT, PAGES, SEARCHES, Visit, fault_of, go

# Topics on a page: a list of more would be slow to load.
LISTED = 250

routes = Routes()


@routes.page("/topics", Role.READER, PAGES, takes=("after",))
def all_topics(visit: Visit) -> Response:
    """List the topics, page by page, with how many papers each matched lately."""
    runtime = visit.runtime
    topics = visit.slice(visit.runtime.topics, LISTED)
    faults = runtime.active.errors(like_topics.find_current(runtime))
    return visit.show(
        "topics",
        topics=topics,
        reports=report_topics(runtime, topics.shown, visit.subscriptions),
        faults={name: fault.message for name, fault in faults.items()},
    )


@routes.page("/topics/{name}", Role.READER, SEARCHES)
def one_topic(visit: Visit) -> Response:
    """Show what a topic finds: papers a day, how wide it and its parts are, the newest matches."""
    runtime = visit.runtime
    name = visit.path_params["name"]
    topic = find_topic(runtime, name)
    if topic is None:
        return visit.show_problem(404, f"There is no topic “{name}”.")
    heading = runtime.group_rules[name].title
    try:
        parsed = parse_topic(topic)
    except QueryError as error:
        return visit.show("topic", topic=topic, heading=heading, fault=fault_of(error))
    parts = count_parts(runtime, parsed)
    # Answers are shown to their author and to operators alone.
    asks_answers = topic.like is not None and visit.viewer.is_operator
    with runtime.database.reading() as tx:
        newest = load_page(tx, matches.newest_ids(tx, name, NEWEST))
        entries = show_papers(runtime, tx, newest, parsed, visit.libraries)
    return visit.show(
        "topic",
        topic=topic,
        heading=heading,
        fault="",
        plot=plot_days(count_of_topic(runtime, name), "Matches per day"),
        entries=entries,
        subscribers=[s.name for s in visit.subscriptions if name in s.topics],
        parts=parts,
        warnings=[*map(str, parsed.warnings)],
        meant=meant_by(topic.query),
        width=too_wide(parts.papers, parts.looked_at),
        changes=words_of_topic(runtime, name).changes if asks_answers else (),
        feed=feed_path(visit, TOPIC, name),
    )


@routes.form("/topics/{name}/relearn", Role.OPERATOR)
def relearn_topic(visit: Visit, fields: Form) -> Response:
    """Learn the words of a topic again, for papers that come from now on."""
    name = visit.path_params["name"]
    relearn(visit.runtime, name)
    return go(path_to("topics", name))


def count_of_topic(runtime: Runtime, topic: str) -> tuple[DayCount, ...]:
    """Return how many papers were news for a topic on each UTC day since its first match."""
    today = runtime.clock.now().astimezone(UTC).date()
    begin = datetime.combine(today - timedelta(days=DAYS - 1), time(), UTC)
    with runtime.database.reading() as tx:
        moments = matches.moments(tx, topic, begin)
    counts = Counter(day for _, day in {(paper_id, at.date()) for paper_id, at in moments})
    return fill_days(counts, today)


@routes.page("/try", Role.READER, SEARCHES, takes=("q", "like", "paper", "at_least", "part"))
def try_query(visit: Visit) -> Response:
    """Show what a query or a text would have found, and the lines that make a topic of it."""
    runtime = visit.runtime
    query = visit.parameter("q")
    if visit.parameter("like") or visit.query_params.get("paper"):
        return _try_text(visit)
    if visit.bar("at_least") is not None:
        raise HTTPException(400, BAR_WITHOUT_TEXT)
    fault = trial = parts = None
    entries: list[DigestPaper] = []
    too_long = is_too_long(query)
    try:
        if too_long:
            raise too_long
        if query:
            parsed = parse_query(query, runtime.synonyms)
            trial = try_topic(runtime, unnamed_topic(runtime, query), bounded=True)
            parts = count_parts(runtime, parsed)
            with runtime.database.reading() as tx:
                newest = load_page(tx, trial.newest)
                entries = show_papers(runtime, tx, newest, parsed, visit.libraries)
    except QueryError as error:
        fault = fault_of(error)
    return visit.show(
        "try_results" if visit.choice("part", ("results",)) else "try",
        413 if too_long else 400 if fault else 200,
        query=query,
        fault=fault,
        text="",
        like=None,
        like_fault=None,
        trial=trial,
        meant=meant_by(query) if trial else "",
        plot=plot_days(trial.days, "What it would have found") if trial else None,
        entries=entries,
        parts=parts,
        yaml=topic_yaml(query, runtime.topics) if trial else "",
    )


def _try_text(visit: Visit) -> Response:
    """Show the papers that are nearest to a text, or to a stored paper, and where the bar lies."""
    runtime = visit.runtime
    text = visit.parameter("like")
    number = visit.number("paper")
    at_least = visit.bar("at_least")
    like = LikeText(text)
    fault = None
    trial = None
    yaml = ""
    like_paper: _TitledPaper | None = None
    entries: list[DigestPaper] = []
    too_long = is_too_long(text)
    try:
        if too_long:
            raise too_long
        if number is not None:
            like_paper = _titled(runtime, number)
            like = like_paper.like
        topic = with_bar(Topic("", "", like=like), at_least)
        trial = try_like(runtime, topic, LOOKED_AT_ON_PAGE)
        yaml = like_yaml(like, trial.words.bar, runtime.topics)
        near = structs.replace(topic, words=structs.replace(trial.words, bar=0.0))
        with runtime.database.reading() as tx:
            listed = load_page(tx, [paper.id for paper in trial.listed])
            entries = show_papers(runtime, tx, listed, parse_topic(near), visit.libraries)
    except QueryError as error:
        fault = fault_of(error)
    shown = {entry.paper_id: entry for entry in entries}
    return visit.show(
        "try",
        413 if too_long else 400 if fault else 200,
        query="",
        text=like.text or text,
        like=trial,
        like_paper=like_paper,
        like_fault=fault,
        at_least=at_least,
        rate=format_rate(trial.a_day) if trial else "",
        listed=[(near, shown[near.id]) for near in trial.listed if near.id in shown]
        if trial
        else [],
        plot=plot_days(trial.days, "What it would have found") if trial and trial.papers else None,
        yaml=yaml,
    )


class _TitledPaper(NamedTuple):
    """A stored paper with its title, and what is like it."""

    id: int
    title: str
    like: LikeText


def _titled(runtime: Runtime, number: int) -> _TitledPaper:
    """Return a stored paper: it is named by an identifier if it has one, else by its text."""
    with runtime.database.reading() as tx:
        stored = papers.get(tx, number)
    if stored is None or stored.purged:
        raise QueryError(f"there is no paper {number}", 0, "search for it on /papers")
    title = stored.paper.title
    for scheme in ("arxiv", "doi", "pmid"):
        for value in stored.paper.identifiers(scheme):
            return _TitledPaper(number, title, LikeText(papers=(f"{scheme}:{value}",)))
    return _TitledPaper(number, title, LikeText(f"{title}. {stored.paper.abstract}"[:MAX_TEXT]))


def like_yaml(like: LikeText, bar: float, topics: Iterable[Topic]) -> str:
    """Return a text or an example as a topic of monitor.yaml, with the bar to change."""
    name = _new_name(like.text or "like-a-paper", topics)
    named = ", ".join(map(quote_yaml, like.papers))
    given = f"      papers: [{named}]\n" if like.papers else ""
    text = f"      text: {quote_yaml(' '.join(like.text.split()))}\n" if like.text else ""
    return f"topics:\n  {name}:\n    like:\n{text}{given}      at_least: {bar:g}\n"


def topic_yaml(query: str, topics: Iterable[Topic]) -> str:
    """Return a query as a topic of monitor.yaml."""
    name = _new_name(re.sub(r"\b(?:AND|OR|NOT|[a-z]+:)", " ", query), topics)
    return f"topics:\n  {name}:\n    query: {quote_yaml(query)}\n"


def _new_name(words: str, topics: Iterable[Topic]) -> str:
    """Return a name made of words that no other topic has."""
    return NewNames({topic.name for topic in topics}).make_for_topic(words)
