"""All that is known of a stored paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.markup import escape

from monitor.cli.opening import open_to_read
from monitor.cli.options import PAPER, Call, argument
from monitor.cli.references import show_references
from monitor.cli.terminal import at, console, facts, list_words
from monitor.commands.explain import Explanation, known_from
from monitor.commands.json_output import explanation_json, references_json
from monitor.commands.references import Reference, explain_or_find
from monitor.digest.look_up_words import describe_followed, describe_look_up
from monitor.digest.wording import format_ordinal
from monitor.identity.reasons import describe
from monitor.store.papers.papers import Origin


def explain(call: Call, paper: str = argument("PAPER", PAPER)) -> None:
    with open_to_read(call) as app:
        explanation = explain_or_find(app.runtime, paper)
        titles = app.runtime.service_titles
    if isinstance(explanation, list):
        call.answer(references_json(explanation), _show_references, explanation)
        return
    known = known_from(explanation, "UTC")
    call.answer(explanation_json(explanation), _show, explanation, known, titles)


def _show_references(listed: Sequence[Reference]) -> None:
    console.print("Only libraries have this paper; no source of news has brought it.")
    show_references(listed)


def _show(explanation: Explanation, known: str, titles: Mapping[str, str]) -> None:
    console.print(f"[bold]{escape(explanation.origin.stored.paper.title)}[/]\n")
    console.print(facts([*([("Known", known)] if known else []), *_facts(explanation, titles)]))


def _facts(explanation: Explanation, titles: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    origin = explanation.origin
    stored = explanation.origin.stored
    withdrawn = ", withdrawn" if stored.paper.withdrawn else ""
    yield "Paper", f"{stored.id}, first seen {at(stored.first_seen)}{withdrawn}"
    if stored.paper.affiliations:
        yield "Affiliations", "; ".join(stored.paper.affiliations)
    for scheme in stored.paper.keys:
        for value in stored.paper.identifiers(scheme):
            key = f"{scheme}:{value}"
            others = [shared for shared in explanation.shared_keys if shared.key == key]
            also = "".join(f"; also of paper {o.paper}, “{o.title}”" for o in others)
            yield "Identifier", f"{key}{also}"
    for seen in origin.sightings:
        document = f", {seen.document}" if seen.document else ""
        title = f", “{seen.text.title}”" if seen.text else ""
        why = f": {describe(seen.recognised)}" if seen.recognised else ""
        yield "Source", f"{seen.source}{document}, {at(seen.first_seen)}{title}{why}"
    for one in explanation.look_ups:
        when = f", {at(one.asked_at)}" if one.asked_at else ""
        yield "Looked up", f"{describe_look_up(one, titles)}{when}"
    for answer in explanation.followed:
        yield "Since saved", f"{describe_followed(answer, titles)}, asked {at(answer.asked)}"
    for joined in explanation.joined:
        yield "Joined", f"paper {joined.id}, {at(joined.at)}: {joined.why}"
    for ruling in explanation.rulings:
        yield "Ruling", f"{ruling.one} and {ruling.other} are {ruling.verdict}, {at(ruling.at)}"
    yield from _news(origin)
    yield from _topics(explanation)
    if not explanation.digests:
        yield "Digests", "not in any digest yet"
    for digest in explanation.digests:
        number = f", {format_ordinal(digest.place)} in its topic" if digest.place else ""
        reason = f": {digest.reason}" if digest.reason else ""
        left = ", left to the archive" if digest.left_to_archive else ""
        names = ", ".join(digest.may_repeat)
        twice = f" ({names} may get a message twice)" if names else ""
        yield "Digest", f"{digest.subscription}, {digest.period}{number}{left}{reason}{twice}"


def _topics(explanation: Explanation) -> Iterator[tuple[str, str]]:
    if not explanation.topics:
        is_news = explanation.origin.stored.news_at
        yield "Topics", "no topic matched" if is_news else "not matched, since it is not news"
    for topic in explanation.topics:
        # A topic that matched an earlier text of the paper may match no words of today's.
        words = f", {list_words(topic.why)}" if topic.why else ""
        yield "Topic", f"{topic.topic} (score {topic.score:.2f}){words}"
    for missed in explanation.near:
        yield "Nearly", f"{missed.topic} (nearness {missed.score:.2f}, bar {missed.line:.2f})"


def _news(origin: Origin) -> Iterator[tuple[str, str]]:
    news_at = origin.stored.news_at
    if not news_at:
        yield "News", f"none: {_why_silent(origin)}"
    elif not origin.changes:
        yield "News", f"{at(news_at)}; the details were removed (see retention)"
    for change in origin.changes:
        yield "News", f"{change.kind}, {at(change.at)}" + (f": {change.why}" if change.why else "")


def _why_silent(origin: Origin) -> str:
    """Say why a paper was stored without being news."""
    if origin.stored.paper.withdrawn and not origin.changes:
        return "withdrawn before it was seen"
    first = min(origin.sightings, key=lambda seen: seen.first_seen, default=None)
    if first is None:
        return "stored silently"
    if any(seen.source != first.source for seen in origin.sightings):
        return f"already known from {first.source}, {at(first.first_seen)}"
    return f"from the first reading of {first.source} (see first_run), or accepted with --silently"
