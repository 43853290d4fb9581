"""Readers' ratings of papers: stored, listed and deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from monitor.commands.explain import UnknownPaperError, find_paper
from monitor.commands.paper_search import FoundPaper, load_found
from monitor.errors import UsageError
from monitor.identity.keys import LINK, identifiers, identifiers_in
from monitor.match import build_index
from monitor.model import OPERATOR_NAME, SAVED, UNWANTED, WANTED, Judgement, Paper, StoredPaper
from monitor.model.look_up import FollowedAt, followed_at
from monitor.pipeline import like_topics
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.store.digests import digests
from monitor.store.engine.database import Transaction
from monitor.store.papers import look_ups, merge_papers, papers
from monitor.store.papers.look_ups import Purpose
from monitor.store.topics import examples, judgements
from monitor.store.topics.examples import TITLE, Example
from monitor.text import title_key

# The words for ratings on the command line, in files and on pages.
VERDICTS = {"up": WANTED, "down": UNWANTED, "save": SAVED, "none": ""}

# An answer with the title of its paper.
Rated = tuple[Judgement, str]


@dataclass(frozen=True, slots=True)
class RaterScope:
    """Who answers, for which subscription and topic: "" where the paper says it."""

    subscription: str = ""
    topic: str = ""
    who: str = OPERATOR_NAME

    def has(self, rating: Judgement) -> bool:
        """Whether an answer is for the subscription and topic, whoever gave it."""
        return self.subscription in ("", rating.subscription) and self.topic in ("", rating.topic)


def rate(
    runtime: Runtime,
    reference: str,
    verdict: str,
    scope: RaterScope,
    how: str = "command line",
    others: Sequence[str] = (),
) -> tuple[Rated, ...]:
    """Store an answer, or take one back; return the answers to the paper. Raises UsageError.

    `others` are further references to the paper, which are tried first.
    """
    with runtime.database.writing() as tx:
        try:
            paper = _find_any(tx, others) or find_paper(tx, reference)
        except UnknownPaperError:
            # An example has one of these names.
            names = (*others, reference)
            keys = [
                key for name in names for key in (*identifiers_in(name), (TITLE, title_key(name)))
            ]
            whose = scope.subscription, scope.topic, scope.who
            if verdict == "none" and examples.forget(tx, keys, *whose):
                return ()
            raise
        name = _store_rating(runtime, tx, paper.id, verdict, scope, how)
        return tuple(
            (rating, paper.paper.title)
            for rating in judgements.of_paper(tx, paper.id)
            if rating.subscription == name
        )


def _find_any(tx: Transaction, references: Sequence[str]) -> StoredPaper | None:
    for reference in references:
        with suppress(UsageError):
            return find_paper(tx, reference)
    return None


def is_of(rating: Judgement, who: str) -> bool:
    """Whether an answer is of a person: addresses are compared without case."""
    return rating.who.casefold() == who.casefold()


def _store_rating(
    runtime: Runtime, tx: Transaction, paper_id: int, verdict: str, scope: RaterScope, how: str
) -> str:
    """Store an answer, or take it back; return the subscription. Raises UsageError."""
    own = [rating for rating in judgements.of_paper(tx, paper_id) if is_of(rating, scope.who)]
    if verdict == "none":
        withdrawn = [rating for rating in own if scope.has(rating)]
        names = {rating.subscription for rating in withdrawn}
        _refuse_several(names, "has an answer to this paper")
        if not withdrawn:
            target_topics(runtime, scope)
        judgements.take_back(tx, withdrawn)
        return withdrawn[0].subscription if withdrawn else scope.subscription
    name, topics = _find_targets(runtime, judgements.topics_of(tx, paper_id), scope)
    now = runtime.clock.now()
    answers = [
        Judgement(name, topic, paper_id, scope.who, VERDICTS[verdict], now, how) for topic in topics
    ]
    _replace_answers(tx, own, answers)
    return name


def _replace_answers(
    tx: Transaction, own: Sequence[Judgement], answers: Sequence[Judgement]
) -> None:
    """Store answers of a person, in place of those under another spelling of the address."""
    new = {(r.subscription, r.topic, r.verdict == SAVED) for r in answers}
    who = {r.who for r in answers}
    other = [r for r in own if (r.subscription, r.topic, r.verdict == SAVED) in new]
    judgements.take_back(tx, [r for r in other if r.who not in who])
    judgements.judge(tx, answers)


def rate_any(
    runtime: Runtime, reference: str, verdict: str, names: Collection[str], who: str
) -> None:
    """Store a person's answer to any paper, or take it back, for some subscriptions.

    It is for those of their topics that match, and for all of them if none does. Raises UsageError.
    """
    now = runtime.clock.now()
    with runtime.database.writing() as tx:
        paper_id = find_paper(tx, reference).id
        own = [rating for rating in judgements.of_paper(tx, paper_id) if is_of(rating, who)]
        if verdict == "none":
            judgements.take_back(tx, [rating for rating in own if rating.subscription in names])
            return
        matching = judgements.topics_of(tx, paper_id)
        every = [(s.name, t) for s in runtime.subscriptions if s.name in names for t in s.topics]
        matched = [(name, topic) for name, topic in every if topic in matching.get(name, ())]
        answers = [
            Judgement(name, topic, paper_id, who, VERDICTS[verdict], now, "page")
            for name, topic in matched or every
        ]
        _replace_answers(tx, own, answers)


def matches_any(tx: Transaction, paper_id: int, subscriptions: Iterable[Subscription]) -> set[str]:
    """Return the subscriptions with a topic for which an answer to a paper counts by itself."""
    matching = judgements.topics_of(tx, paper_id)
    return {s.name for s in subscriptions if not set(matching.get(s.name, ())).isdisjoint(s.topics)}


def keep_example(
    runtime: Runtime, tx: Transaction, paper: Paper, matching: Collection[str], scope: RaterScope
) -> None:
    """Store that a paper which is not stored is wanted, in the topics `matching` it.

    Raises UsageError where it is not clear for which subscription.
    """
    by_name = {s.name: [t for t in s.topics if t in matching] for s in runtime.subscriptions}
    name, topics = _find_targets(runtime, by_name, scope)
    keys = {key for key in identifiers(paper) if key[0] != LINK}
    keys.add((TITLE, title_key(paper.title)))
    now = runtime.clock.now()
    for topic in topics:
        example = Example(name, topic, scope.who, WANTED, now, "file", paper.title, paper.abstract)
        examples.keep(tx, example, keys)


def topics_matching(runtime: Runtime, papers: Sequence[Paper]) -> list[set[str]]:
    """Return the topics that each of some papers matches, whatever sources they ask for."""
    matching: list[set[str]] = [set() for _ in papers]
    index = build_index(like_topics.find_current(runtime))
    for at, number in zip(*(column.tolist() for column in index.pairs(papers)), strict=True):
        matching[at].add(str(index.name(number)))
    return matching


def _refuse_several(names: Collection[str], which: str) -> None:
    if len(names) > 1:
        hint = f"choose one with --subscription: {', '.join(sorted(names))}"
        raise UsageError(f"more than one subscription {which}", hint)


def rated(runtime: Runtime, scope: RaterScope) -> tuple[Rated, ...]:
    """Return answers, newest first. Raises UsageError for a name neither stored nor configured."""
    with runtime.database.reading() as tx:
        listed = judgements.listing(tx, scope.subscription or None)
        ratings = [rating for rating in listed if scope.has(rating)]
        titled = _with_titles(tx, ratings[::-1])
    if not ratings:
        target_topics(runtime, scope)
    return titled


def _with_titles(tx: Transaction, ratings: Sequence[Judgement]) -> tuple[Rated, ...]:
    stored = papers.load(tx, {rating.paper_id for rating in ratings})
    return tuple((rating, stored[rating.paper_id].paper.title) for rating in ratings)


def rated_examples(runtime: Runtime, scope: RaterScope) -> tuple[Example, ...]:
    """Return the ratings of papers that are not stored, newest first."""
    with runtime.database.reading() as tx:
        listed = examples.listing(tx, scope.subscription)
    return tuple(e for e in reversed(listed) if scope.topic in ("", e.topic))


@dataclass(frozen=True, slots=True)
class RatedPaper:
    """All that a person answered to a paper, for any topic, and when last."""

    paper_id: int
    title: str
    verdicts: tuple[str, ...]
    at: datetime


def rated_by(runtime: Runtime, who: str, most: int) -> tuple[int, tuple[RatedPaper, ...]]:
    """Return how many papers a person rated or saved, and the last ones, newest first."""
    answers: dict[int, list[Judgement]] = {}
    with runtime.database.reading() as tx:
        for answer in judgements.of_person(tx, who):  # oldest first
            answers[answer.paper_id] = [*answers.pop(answer.paper_id, ()), answer]
        newest = [*answers][: -most - 1 : -1]
        titles = {id: stored.paper.title for id, stored in papers.load(tx, newest).items()}
    rated_papers = []
    for paper_id in newest:
        given = {answer.verdict for answer in answers[paper_id]}
        verdicts = tuple(verdict for verdict in (WANTED, UNWANTED, SAVED) if verdict in given)
        at = answers[paper_id][-1].at
        rated_papers.append(RatedPaper(paper_id, titles[paper_id], verdicts, at))
    return len(answers), tuple(rated_papers)


def answers_of(runtime: Runtime, paper_id: int, who: str) -> dict[str, list[str]]:
    verdicts: dict[str, list[str]] = {}
    with runtime.database.reading() as tx:
        for rating in judgements.of_paper(tx, paper_id):
            if is_of(rating, who):
                verdicts.setdefault(rating.subscription, []).append(rating.verdict)
    return verdicts


def follows(answers: Mapping[str, Sequence[str]]) -> bool:
    """Whether a person with these answers to a paper, by subscription, learns of its changes."""
    return any(verdict in (SAVED, WANTED) for given in answers.values() for verdict in given)


def forget(runtime: Runtime, scope: RaterScope) -> int:
    """Delete the answers of a subscription, or of one of its topics. Raises UsageError."""
    if not scope.subscription:
        raise UsageError("--forget needs --subscription")
    with runtime.database.writing() as tx:
        count = judgements.forget(tx, scope.subscription, scope.topic or None)
    if not count:
        target_topics(runtime, scope)
    return count


def saves(runtime: Runtime, who: str = "", subscription: str = "") -> dict[int, list[Judgement]]:
    """Return who saved each paper for what and when, with `who` of one person, newest first.

    Of one person and subscription, only the last save: each topic of it has one.
    """
    by_paper: dict[int, list[Judgement]] = {}
    with runtime.database.reading() as tx:
        for rating in reversed(judgements.listing(tx, subscription or None)):
            if rating.verdict == SAVED and (not who or is_of(rating, who)):
                shown = by_paper.setdefault(rating.paper_id, [])
                key = rating.subscription, rating.who
                if key not in {(other.subscription, other.who) for other in shown}:
                    shown.append(rating)
    return by_paper


def remove_saved(runtime: Runtime, paper_id: int, scope: RaterScope) -> None:
    """Delete that a person saved a paper for a subscription; their other answers stay."""
    with runtime.database.writing() as tx:
        own = [r for r in judgements.of_paper(tx, paper_id) if is_of(r, scope.who)]
        judgements.take_back(tx, [r for r in own if r.verdict == SAVED and scope.has(r)])


class SavedPaper(NamedTuple):
    """A saved paper, its `saves`, and what services said of it since."""

    found: FoundPaper
    saves: list[Judgement]
    followed: tuple[FollowedAt, ...]


def saved(runtime: Runtime, subscription: str = "", who: str = "") -> list[SavedPaper]:
    """Return saved papers, the last saved first. Raises as `rated`."""
    by_paper = saves(runtime, who, subscription)
    if not by_paper:
        target_topics(runtime, RaterScope(subscription))
    with runtime.database.reading() as tx:
        followed = followed_by_paper(tx, by_paper)
        return [
            SavedPaper(paper, by_paper[paper.stored.id], followed.get(paper.stored.id, ()))
            for paper in load_found(tx, [*by_paper])
        ]


def followed_by_paper(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[FollowedAt, ...]]:
    """Return by paper what services said of it since a reader saved it."""
    asked = look_ups.of_papers(tx, ids, Purpose.CHANGES)
    return {id: followed_at(of_paper) for id, of_paper in asked.items()}


def _find_targets(
    runtime: Runtime, matching: Mapping[str, Sequence[str]], scope: RaterScope
) -> tuple[str, Sequence[str]]:
    """Return the subscription and the topics that an answer is for. Raises UsageError.

    `matching` has the topics that match the paper, by subscription.
    """
    targets = {}
    for name, topics in target_topics(runtime, scope).items():
        matched = [topic for topic in matching.get(name, ()) if topic in topics]
        if scope.topic or matched:
            targets[name] = [scope.topic] if scope.topic else matched
    if not targets:
        hint = "choose one with --topic"
        raise UsageError("no topic matches this paper", hint)
    _refuse_several(targets, "has this topic" if scope.topic else "matches this paper")
    return next(iter(targets.items()))


def target_topics(runtime: Runtime, scope: RaterScope) -> dict[str, tuple[str, ...]]:
    """Return the topics of the subscriptions that an answer may be for. Raises UsageError."""
    selected = runtime.subscriptions_named([scope.subscription] if scope.subscription else ())
    by_name = {
        subscription.name: subscription.topics
        for subscription in selected
        if scope.topic in ("", *subscription.topics)
    }
    if scope.topic and not by_name:
        known = dict.fromkeys(topic for subscription in selected for topic in subscription.topics)
        of = f"subscription {scope.subscription!r} has no" if scope.subscription else ""
        raise UsageError(
            f"{of or 'no subscription has a'} topic {scope.topic!r}",
            f"there are: {', '.join(known)}",
        )
    return by_name


# Answers are taken so long after the digest was due.
VALID = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Asked:
    """A paper of a digest that a reader may answer to, and what they answered so far."""

    paper_id: int
    title: str
    scope: RaterScope
    answers: tuple[str, ...]


def ask(runtime: Runtime, names: tuple[str, ...], paper_id: int) -> Asked:
    """Return what an answer is about: `names` are the subscription, the period and who answers.

    Raises UsageError for a paper that the digest did not show in full, and for an old digest.
    """
    subscription, period, recipient = names
    if subscription not in {known.name for known in runtime.subscriptions}:
        raise UsageError("this subscription has ended")
    with runtime.database.reading() as tx:
        stored = papers.get(tx, merge_papers.current_id(tx, paper_id))
        digest = digests.of_period(tx, subscription, period)
        ratings = judgements.of_paper(tx, stored.id) if stored else []
    in_full = {entry.paper_id for entry in digest.best(digest.full)} if digest else set()
    if digest is None or stored is None or paper_id not in in_full:
        raise UsageError("this paper is not in that digest")
    if stored.purged:
        raise UsageError("the text of this paper was removed")
    if runtime.clock.now() > digest.due_at + VALID:
        raise UsageError(
            "this digest is too old to answer", f"answers are taken for {VALID.days} days"
        )
    entries = ((group.topic, entry) for group in digest.groups for entry in group.entries)
    topic = next(topic for topic, entry in entries if entry.paper_id == paper_id)
    scope = RaterScope(subscription, topic, recipient)
    mine = [r.verdict for r in ratings if scope.has(r) and is_of(r, recipient)]
    return Asked(stored.id, stored.paper.title, scope, tuple(mine))
