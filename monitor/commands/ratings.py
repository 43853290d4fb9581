"""Readers' answers from the command line: given one by one or from a file, listed, forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from monitor.commands.explain import find_paper
from monitor.commands.rating_files import VERDICTS, read_ratings
from monitor.commands.search import FoundPaper
from monitor.errors import UsageError
from monitor.model import SAVED, Judgement
from monitor.pipeline.runtime import Runtime
from monitor.store import judgements, papers
from monitor.store.database import Transaction

# Ratings stored in one transaction: nobody else can write meanwhile.
_TOGETHER = 500
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
        name = _store(runtime, tx, paper.id, verdict, whose, how)
        return tuple(
            Rated(one, paper.paper.title)
            for one in judgements.of_paper(tx, paper.id)
            if one.subscription == name
        )


def rate_file(runtime: Runtime, file: Path, whose: Whose) -> RatedFile:
    """Store the answers of a CSV file, or "up" for each paper of a BibTeX library.

    A line of CSV has a verdict ("up" where it has none), and a `topic` if it is to be another.
    Raises UsageError for a file that cannot be read, and then stores nothing of it.
    """
    given = read_ratings(file)
    ratings = [(one, replace(whose, topic=one.topic or whose.topic)) for one in given.ratings]
    for own in {whose, *(own for _, own in ratings)}:
        _topics_of(runtime, own)
    left_out = list(given.unread)
    for start in range(0, len(ratings), _TOGETHER):
        with runtime.database.writing() as tx:
            for one, own in ratings[start : start + _TOGETHER]:
                try:
                    paper_id = _find_stored(tx, one.references)
                    _store(runtime, tx, paper_id, one.verdict, own, "file")
                except UsageError as fault:
                    left_out.append((one.references[-1], str(fault)))
    failed = len(left_out) - len(given.unread)
    return RatedFile(len(ratings) - failed, tuple(left_out))


def is_of(one: Judgement, who: str) -> bool:
    """Whether an answer is of a person: addresses are compared without case."""
    return one.who.casefold() == who.casefold()


def _store(
    runtime: Runtime, tx: Transaction, paper_id: int, verdict: str, whose: Whose, how: str
) -> str:
    """Store an answer, or take it back; return the subscription. Raises UsageError."""
    own = [one for one in judgements.of_paper(tx, paper_id) if is_of(one, whose.who)]
    if verdict == "none":
        given = _given(own, whose)
        if not given:
            _topics_of(runtime, whose)
        judgements.take_back(tx, given)
        return given[0].subscription if given else whose.subscription
    name, topics = _addressed(runtime, tx, paper_id, whose)
    now = runtime.clock.now()
    answers = [
        Judgement(name, topic, paper_id, whose.who, VERDICTS[verdict], now, how) for topic in topics
    ]
    # What the same person answered under another spelling of the address is replaced.
    said = {(name, topic, verdict == "save") for topic in topics}
    other = [
        one
        for one in own
        if one.who != whose.who and (one.subscription, one.topic, one.verdict == SAVED) in said
    ]
    judgements.take_back(tx, other)
    judgements.judge(tx, answers)
    return name


def _given(own: Sequence[Judgement], whose: Whose) -> list[Judgement]:
    """Return those of a person's answers to a paper that are meant, whatever matches it today.

    Raises UsageError if they are of several subscriptions.
    """
    found = [
        one
        for one in own
        if whose.subscription in ("", one.subscription) and whose.topic in ("", one.topic)
    ]
    names = list(dict.fromkeys(one.subscription for one in found))
    if len(names) > 1:
        raise UsageError(
            "more than one subscription has an answer to this paper",
            f"choose one with --subscription: {', '.join(names)}",
        )
    return found


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
        for one in judgements.of_paper(tx, paper_id):
            if is_of(one, who):
                found.setdefault(one.subscription, []).append(one.verdict)
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
            if one.verdict == SAVED and (not who or is_of(one, who))
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
