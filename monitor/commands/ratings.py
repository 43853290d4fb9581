"""Readers' answers from the command line: given one by one or from a file, listed, forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from monitor.commands.explain import find_paper
from monitor.commands.rating_files import read_ratings
from monitor.commands.search import FoundPaper
from monitor.errors import UsageError
from monitor.model import SAVED, UNWANTED, WANTED, Judgement
from monitor.pipeline.runtime import Runtime
from monitor.store import judgements, papers
from monitor.store.database import Transaction

VERDICTS = {"up": WANTED, "down": UNWANTED, "save": SAVED, "none": ""}
# Who answers on the command line, where it has no other name.
OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Rated:
    """An answer with the title of its paper."""

    judgement: Judgement
    title: str


@dataclass(frozen=True, slots=True)
class RatedFile:
    """How many papers of a file were rated; `left_out` says which were not, and why."""

    rated: int
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Whose:
    """Who answers, for which subscription and topic: "" where the paper says it."""

    subscription: str = ""
    topic: str = ""
    who: str = OPERATOR


def rate(
    runtime: Runtime, reference: str, verdict: str, whose: Whose, how: str = "command line"
) -> tuple[Rated, ...]:
    """Store an answer, or take one back; return the answers to the paper. Raises UsageError."""
    with runtime.database.writing() as tx:
        paper = find_paper(tx, reference)
        name, topics = _addressed(runtime, tx, paper.id, whose)
        if verdict == "none":
            judgements.take_back(tx, name, topics, paper.id, whose.who)
        else:
            now = runtime.clock.now()
            judgements.judge(
                tx,
                [
                    Judgement(name, topic, paper.id, whose.who, VERDICTS[verdict], now, how)
                    for topic in topics
                ],
            )
        return tuple(
            Rated(one, paper.paper.title)
            for one in judgements.listing(tx, name)
            if one.paper_id == paper.id
        )


def rate_file(runtime: Runtime, file: Path, whose: Whose) -> RatedFile:
    """Store the answers of a CSV file, or "up" for each paper of a BibTeX library.

    A line of CSV has a verdict ("up" where it has none), and a `topic` if it is to be another.
    Raises UsageError for a file that cannot be read, and then stores nothing of it.
    """
    given = read_ratings(file)
    answers: dict[tuple[str, str, int, bool], Judgement] = {}
    taken_back: dict[tuple[str, str, int], None] = {}
    rated, left_out = 0, list(given.unread)
    with runtime.database.writing() as tx:
        for one in given.ratings:
            try:
                paper_id = _find_stored(tx, one.references)
                own = replace(whose, topic=one.topic or whose.topic)
                name, topics = _addressed(runtime, tx, paper_id, own)
            except UsageError as fault:
                left_out.append((one.references[-1], str(fault)))
                continue
            rated += 1
            for topic in topics:
                key = (name, topic, paper_id)
                if one.verdict == "none":
                    taken_back[key] = None
                    for was_saved in (False, True):
                        answers.pop((*key, was_saved), None)
                else:
                    answers[*key, one.verdict == "save"] = Judgement(
                        *key, whose.who, VERDICTS[one.verdict], runtime.clock.now(), "file"
                    )
        for name, topic, paper_id in taken_back:
            judgements.take_back(tx, name, [topic], paper_id, whose.who)
        judgements.judge(tx, answers.values())
    return RatedFile(rated, tuple(left_out))


def rated(runtime: Runtime, whose: Whose) -> tuple[Rated, ...]:
    """Return the answers of a subscription, or of all, newest first.

    Raises UsageError for a name that no answer has and that is not configured.
    """
    with runtime.database.reading() as tx:
        found = [
            one
            for one in judgements.listing(tx, whose.subscription or None)
            if whose.topic in ("", one.topic)
        ]
        stored = papers.load(tx, {one.paper_id for one in found})
    if not found:
        _topics_of(runtime, whose)
    return tuple(Rated(one, stored[one.paper_id].paper.title) for one in reversed(found))


def answers_of(runtime: Runtime, paper_id: int, who: str) -> dict[str, list[str]]:
    """Return what somebody answered to a paper, by subscription."""
    found: dict[str, list[str]] = {}
    with runtime.database.reading() as tx:
        for subscription, verdict in judgements.of_paper(tx, paper_id, who):
            found.setdefault(subscription, []).append(verdict)
    return found


def forget(runtime: Runtime, whose: Whose) -> int:
    """Delete the answers of a subscription, or of one of its topics. Raises UsageError."""
    if not whose.subscription:
        raise UsageError("--forget needs --subscription")
    with runtime.database.writing() as tx:
        count = judgements.forget(tx, whose.subscription, whose.topic or None)
    if not count:
        _topics_of(runtime, whose)
    return count


def saved(runtime: Runtime, subscription: str = "", who: str = "") -> tuple[FoundPaper, ...]:
    """Return the papers saved for a subscription, or for all, the last saved first.

    With `who`, only those that this person saved. Raises UsageError as `rated` does.
    """
    with runtime.database.reading() as tx:
        found = [
            one
            for one in judgements.listing(tx, subscription or None)
            if one.verdict == SAVED and who in ("", one.who)
        ]
        ids = list(dict.fromkeys(one.paper_id for one in reversed(found)))
        stored, sightings = papers.load(tx, ids), papers.sightings(tx, ids)
    if not ids:
        _topics_of(runtime, Whose(subscription))
    return tuple(FoundPaper(stored[id], sightings.get(id, ())) for id in ids)


def _addressed(
    runtime: Runtime, tx: Transaction, paper_id: int, whose: Whose
) -> tuple[str, Sequence[str]]:
    """Return the subscription and the topics that an answer is for. Raises UsageError."""
    by_name = _topics_of(runtime, whose)
    matching = judgements.topics_of(tx, paper_id)
    candidates = {
        name: [whose.topic] if whose.topic else [t for t in matching.get(name, ()) if t in topics]
        for name, topics in by_name.items()
    }
    found = {name: topics for name, topics in candidates.items() if topics}
    if not found:
        raise UsageError("no topic matches this paper", "choose one with --topic")
    if len(found) > 1:
        has = "has this topic" if whose.topic else "matches this paper"
        names = ", ".join(found)
        raise UsageError(
            f"more than one subscription {has}", f"choose one with --subscription: {names}"
        )
    return next(iter(found.items()))


def _topics_of(runtime: Runtime, whose: Whose) -> dict[str, tuple[str, ...]]:
    """Return the topics of the subscriptions that an answer may be for. Raises UsageError."""
    by_name = {one.name: one.topics for one in runtime.subscriptions}
    if whose.subscription:
        if whose.subscription not in by_name:
            names = ", ".join(by_name)
            raise UsageError(
                f"no subscription is named {whose.subscription!r}", f"there are: {names}"
            )
        by_name = {whose.subscription: by_name[whose.subscription]}
    if whose.topic:
        known = dict.fromkeys(topic for topics in by_name.values() for topic in topics)
        by_name = {name: topics for name, topics in by_name.items() if whose.topic in topics}
        if not by_name:
            of = f"subscription {whose.subscription!r} has no topic"
            raise UsageError(
                f"{of if whose.subscription else 'no subscription has a topic'} {whose.topic!r}",
                f"there are: {', '.join(known)}",
            )
    return by_name


def _find_stored(tx: Transaction, references: Sequence[str]) -> int:
    """Return the id of the first paper that one of some references names. Raises UsageError."""
    for one in references[:-1]:
        with suppress(UsageError):
            return find_paper(tx, one).id
    return find_paper(tx, references[-1]).id
