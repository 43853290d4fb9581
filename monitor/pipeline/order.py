"""The order of a topic's papers: as readers' answers teach it, or the newest first.

Which papers are in a digest, which topic comes first, and how many papers of each are shown in
full does not depend on it: within a group, the k-th paper takes the place of the k-th best score.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import structs

from monitor.digest.excerpt import excerpt, headline
from monitor.digest.shown import shown_title
from monitor.match.topics import parse_topic
from monitor.match.tree import Near, Words, leaves
from monitor.model import (
    UNJUDGED,
    UNWANTED,
    WANTED,
    Change,
    Digest,
    DigestPaper,
    Placed,
    Topic,
)
from monitor.pipeline.runtime import Subscription
from monitor.store import judgements
from monitor.store.database import Transaction

if TYPE_CHECKING:
    from monitor.rank import Ranking, Verdict

_VERDICTS: dict[str, Verdict] = {WANTED: "wanted", UNWANTED: "unwanted", UNJUDGED: "unjudged"}
_WORD = re.compile(r"\w+")
LEARNED, NEWEST = "learned", "newest"
MAX_WORDS = 3
# Papers shown without an answer count for little; so many of the last are looked at.
MAX_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Order:
    """An order within groups: by rankings, by topic, or by `newest`.

    `marked` counts the answers that taught the rankings.
    """

    newest: bool = False
    rankings: Mapping[str, Ranking] = field(default_factory=dict)
    marked: int = 0

    def place(self, topic: str, listed: Sequence[tuple[DigestPaper, Change]]) -> list[DigestPaper]:
        """Return the papers of a topic in this order."""
        if self.newest:
            return _by(listed, lambda _, change: Placed(score=change.at.timestamp()))
        if ranking := self.rankings.get(topic):
            return _by(listed, lambda entry, change: _placed(ranking, entry, change))
        return [entry for entry, _ in listed]

    def explain(self, digest: Digest) -> Digest:
        """Say of the papers in full what put them there, and of all how many answers did."""
        if not self.marked or not digest.papers:
            return digest
        in_full = {entry.paper_id for entry in digest.best(digest.full)}
        groups = []
        for group in digest.groups:
            ranking = self.rankings.get(group.topic)
            entries = [
                _explained(ranking, one) if ranking and one.paper_id in in_full else one
                for one in group.entries
            ]
            groups.append(replace(group, entries=tuple(entries)))
        papers = "paper" if self.marked == 1 else "papers"
        note = f"Ordered by {self.marked:,} {papers} you marked."
        return replace(digest, groups=tuple(groups), notes=(*digest.notes, note))


def order_of(tx: Transaction, subscription: Subscription, topics: Sequence[Topic]) -> Order | None:
    """Return the order of a subscription's papers, None for that by score."""
    if subscription.order == NEWEST:
        return Order(newest=True)
    if subscription.order != LEARNED:
        return None
    answers = {
        topic: verdicts
        for topic, verdicts in judgements.verdicts(tx, subscription.name).items()
        if topic in subscription.topics and WANTED in verdicts.values()
    }
    if not answers:
        return None
    by_name = {topic.name: topic for topic in topics if topic.name in answers}
    rankings = {
        name: _ranking(tx, subscription.name, topic, answers[name])
        for name, topic in by_name.items()
    }
    given = [verdict for name in rankings for verdict in answers[name].values()]
    return Order(rankings=rankings, marked=sum(one != UNJUDGED for one in given))


def _ranking(
    tx: Transaction, subscription: str, topic: Topic, verdicts: Mapping[int, str]
) -> Ranking:
    from monitor.rank import Judged, learn  # loads NumPy

    silent = judgements.shown(tx, subscription, topic.name, MAX_SHOWN)
    said: dict[int, Verdict] = {id: "unjudged" for id in silent if id not in verdicts}
    said |= {id: _VERDICTS[verdict] for id, verdict in verdicts.items()}
    texts = judgements.texts(tx, said)
    return learn(
        [Judged(texts[id], verdict) for id, verdict in said.items() if id in texts],
        words_of(topic),
    )


@lru_cache(maxsize=1_024)
def words_of(topic: Topic) -> tuple[str, ...]:
    """Return the words that a topic looks for."""
    found: dict[str, None] = {}
    for leaf in leaves(parse_topic(topic).root):
        for words in leaf.words if isinstance(leaf, Near) else [leaf]:
            if isinstance(words, Words):
                found |= {edge.key: None for edge in words.edges if edge.end - edge.start == 1}
    return tuple(found)


def _by(
    listed: Sequence[tuple[DigestPaper, Change]],
    placed: Callable[[DigestPaper, Change], Placed],
) -> list[DigestPaper]:
    """Order papers by the scores that they are `placed` with; equal ones stay as they are."""
    standings = sorted((entry.score for entry, _ in listed), reverse=True)
    scored = [(entry, placed(entry, change)) for entry, change in listed]
    scored.sort(key=lambda one: -one[1].score)
    return [
        structs.replace(entry, placed=replace(place, standing=standing))
        for (entry, place), standing in zip(scored, standings, strict=True)
    ]


def _placed(ranking: Ranking, entry: DigestPaper, change: Change) -> Placed:
    paper = change.stored.paper
    return Placed(
        score=ranking.score(paper, entry.score),
        likely=ranking.likely(paper),
        folded=ranking.folds(paper),
    )


def _explained(ranking: Ranking, entry: DigestPaper) -> DigestPaper:
    """Name the marked paper that counts most, and the words that do in the text shown."""
    shown = set(_WORD.findall(f"{headline(entry).text}\n{excerpt(entry).text}"))
    reason = ranking.reason(entry.paper, shown, MAX_WORDS)
    like = shown_title(reason.like.paper).title if reason.like else ""
    placed = replace(entry.placed, like=like, words=reason.words)
    return structs.replace(entry, placed=placed)
