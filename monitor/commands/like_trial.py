"""Topics that are like a text: tried on the stored papers, their words shown and learned again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from msgspec import structs

from monitor.commands.paper_search import as_matched
from monitor.commands.topic_trial import find_topic
from monitor.config.settings import EXAMPLE_FILES
from monitor.errors import FetchError, QueryError, Remedy, UsageError
from monitor.match import TopicIndex, WordChange, learned_from_text, parse_topic, propose_words
from monitor.match.like import MAX_TEXT, days_covered, with_lower_bar
from monitor.match.meaning.explain import MOST
from monitor.model import DayCount, LikeText, LikeWords, MatchReason, Paper, Topic, fill_days
from monitor.pipeline import like_topics
from monitor.pipeline.runtime import Runtime
from monitor.sources.files import read_file
from monitor.store.engine.database import Transaction
from monitor.store.papers import papers, search
from monitor.store.topics import judgements, like_words

NEAREST = 50
# Papers on each side of the bar that are shown where it lies behind the nearest.
BESIDE_BAR = 3
_BLANK = re.compile(r"\s")
# A page looks at fewer papers than a shell.
LOOKED_AT_ON_PAGE = 1_500


@dataclass(frozen=True, slots=True)
class NearPaper:
    """A stored paper, how near it is, and by which words; `matches` if it reaches the bar."""

    id: int
    title: str
    score: float
    matches: bool
    why: tuple[MatchReason, ...]


@dataclass(frozen=True, slots=True)
class LikeTrial:
    """The papers that a text would have found among the newest `looked_at` papers.

    `nearest` are the fifty nearest, whether they reach the bar or not; `papers` counts those that
    do, and `per_day` by the day on which they were first seen. If the bar lies behind the nearest,
    `beside_bar` are the last papers that reach it and the first that do not. `a_day` is how many
    reach it, on the average of the days on which those that were looked at came.
    """

    words: LikeWords
    nearest: tuple[NearPaper, ...]
    papers: int
    looked_at: int
    per_day: Mapping[date, int]
    beside_bar: tuple[NearPaper, ...] = ()
    a_day: float = 0.0

    @property
    def days(self) -> tuple[DayCount, ...]:
        return fill_days(self.per_day, max(self.per_day, default=date.min))

    @property
    def listed(self) -> tuple[NearPaper, ...]:
        return self.nearest + self.beside_bar

    @property
    def unlisted(self) -> int:
        """How many papers are between the nearest and those beside the bar."""
        return max(self.papers - BESIDE_BAR - NEAREST, 0)


def like_of(given: str, at_least: float | None = None) -> LikeText:
    """Return what is meant by a text, or by the name of a file with a text or with examples.

    Raises UsageError for a file that cannot be read.
    """
    path = Path(given)
    is_there = _is_there(path)
    if path.suffix.lower() in EXAMPLE_FILES and (is_there or not _BLANK.search(given)):
        return LikeText(file=str(path.absolute()), at_least=at_least)
    text = _read_text(path) if is_there else given
    if len(text) > MAX_TEXT:
        raise UsageError(f"a text may have {MAX_TEXT:,} characters", "leave some out")
    return LikeText(text, at_least=at_least)


def with_bar(topic: Topic, at_least: float | None) -> Topic:
    """Return a topic that is like a text, its bar moved if another one is given."""
    if at_least is None or not topic.like:
        return topic
    words = structs.replace(topic.words, bar=at_least) if topic.words else None
    return structs.replace(topic, like=structs.replace(topic.like, at_least=at_least), words=words)


def _is_there(path: Path) -> bool:
    try:
        return path.exists() and not path.is_dir()
    except OSError as error:  # a sentence may be too long for a name
        return isinstance(error, PermissionError)


def _read_text(path: Path) -> str:
    try:
        return read_file(path).content.decode()
    except UnicodeDecodeError:
        fault = f"cannot read {path}: it is not UTF-8"
    except FetchError as error:
        fault = error.message
    raise UsageError(fault, "choose another file")


def try_like(runtime: Runtime, topic: Topic, looked_at: int = like_topics.LOOKED_AT) -> LikeTrial:
    """Try a topic that is like a text on the newest papers. Raises QueryError and UsageError."""
    assert topic.like, "other topics are tried by their query"
    learned = [topic] if topic.words else like_topics.learn(runtime, [topic], looked_at)
    if not learned[0].words:
        like_topics.refuse_without_words(runtime, topic)
    words = learned[0].words or learned_from_text(topic.like)
    every = structs.replace(topic, query="", words=structs.replace(words, bar=0.0))
    with runtime.database.reading() as tx:
        ids = search.newest(tx, None, None, looked_at)
        texts = papers.texts(tx, ids)
        ordered = [id for id in ids if id in texts]
        index = TopicIndex({"": every})
        at, _, scores = index.scores([Paper(texts[id][0], abstract=texts[id][1]) for id in ordered])
        near = {
            ordered[i]: score / MOST for i, score in zip(at.tolist(), scores.tolist(), strict=True)
        }
        ranked = sorted(near, key=lambda id: (-near[id], -id))
        matching = [id for id in ranked if near[id] >= words.bar]
        beside = slice(max(NEAREST, len(matching) - BESIDE_BAR), len(matching) + BESIDE_BAR)
        at_bar = ranked[beside] if len(matching) > NEAREST else []
        shown = [id for id in (*ranked[:NEAREST], *at_bar) if near[id] > 0]
        seen = papers.load(tx, {*matching, *shown})
        candidates, sources = as_matched(tx, [seen[id] for id in shown])
        days = like_words.days_between(tx, ids[0], ids[-1]) if ids else 0.0
    listed = tuple(
        NearPaper(id, paper.title, near[id], near[id] >= words.bar, index.why("", paper, of))
        for id, paper, of in zip(shown, candidates, sources, strict=True)
    )
    return LikeTrial(
        words,
        listed[:NEAREST],
        len(matching),
        len(ordered),
        Counter(seen[id].first_seen.date() for id in matching),
        listed[NEAREST:],
        len(matching) / days_covered(len(ordered), days),
    )


@dataclass(frozen=True, slots=True)
class WordsReport:
    """The words of a topic, all versions of them, and what answers propose to change."""

    topic: str
    words: LikeWords
    versions: tuple[LikeWords, ...]
    changes: tuple[WordChange, ...] = ()


def words_of_topic(runtime: Runtime, name: str) -> WordsReport:
    """Return the words by which a topic matches. Raises UsageError and QueryError."""
    topic = find_like_topic(runtime, name)
    with runtime.database.reading() as tx:
        versions = like_words.versions(tx, name)
        wanted, unwanted = _answered(tx, runtime, name)
    assert topic.like, "other topics have no words"
    words = topic.words or learned_from_text(topic.like)
    changes = propose_words(words.words, wanted, unwanted)
    return WordsReport(name, words, tuple(versions), changes)


def relearn(runtime: Runtime, name: str) -> WordsReport:
    """Learn the words of a topic again, and return them. Raises UsageError and QueryError."""
    like_topics.relearn(runtime, find_like_topic(runtime, name))
    return words_of_topic(runtime, name)


def find_like_topic(runtime: Runtime, name: str) -> Topic:
    topic = find_topic(runtime, name)
    if topic is None:
        hint = "`paper-monitor topics list` lists them"
        raise UsageError(f"there is no topic {name!r}", hint, Remedy.LIST_TOPICS)
    if not topic.like:
        raise UsageError(f"{name!r} has no words to learn", "its query says what it finds")
    return topic


def _answered(
    tx: Transaction, runtime: Runtime, name: str
) -> tuple[Sequence[Paper], Sequence[Paper]]:
    """Return the papers of a topic that readers want, and those that they do not."""
    verdicts: dict[int, str] = {}
    for subscription in runtime.subscriptions:
        if name in subscription.topics:
            verdicts |= judgements.verdicts(tx, subscription.name).get(name, {})
    stored = papers.load(tx, verdicts)
    wanted, unwanted = (
        [stored[id].paper for id, verdict in verdicts.items() if verdict == kind and id in stored]
        for kind in ("wanted", "unwanted")
    )
    return wanted, unwanted


# Of thousands of topics a paper may miss hundreds by little.
MOST_NEAR = 10


@dataclass(frozen=True, slots=True)
class NearTopic:
    """A topic that a paper missed by little: how near it is, and the bar."""

    topic: str
    score: float
    line: float


def near_topics(
    topics: Sequence[Topic], paper: Paper, sources: Sequence[str]
) -> tuple[NearTopic, ...]:
    """Return the ten topics that a paper missed by least, of those that it missed by little.

    It has all that their queries ask for.
    """
    near = []
    lower: dict[Hashable, Topic] = {}
    bars: dict[str, float] = {}
    for topic in topics:
        if topic.like:
            try:
                words = topic.words or learned_from_text(topic.like)
                parse_topic(topic)
            except QueryError:
                continue
            lower[topic.name] = with_lower_bar(topic, words)
            bars[topic.name] = words.bar
    if not lower:
        return ()
    for match in TopicIndex(lower).match([paper], [tuple(sources)]):
        name = str(match.topic)
        score = match.score / MOST
        if score < bars[name]:
            near.append(NearTopic(name, round(score, 4), round(bars[name], 4)))
    return tuple(sorted(near, key=lambda one: one.line - one.score)[:MOST_NEAR])
