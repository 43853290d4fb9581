"""Topics that are like a text: their words are learned when they are put in force, and stored.

The words of a topic stay what they are until its `like:` changes or a person has them learned
again, so that a topic does not drift with what is stored. A process reads them again whenever
topics were activated, by itself or by another one on the same store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import structlog
from msgspec import structs

from monitor.clocks import Clock
from monitor.config.settings import EXAMPLE_FILES
from monitor.errors import MonitorError, QueryError, UsageError
from monitor.identity.keys import identifiers_in
from monitor.match import Query, TopicIndex, choose_bar, learn_words
from monitor.match.language.query import parse_topic
from monitor.match.like import LOWEST_BAR, MOST_EXAMPLES, like_leaf
from monitor.match.meaning.explain import MOST
from monitor.model import LikeText, LikeWords, Paper, Topic
from monitor.pipeline.runtime import Runtime
from monitor.plugins import SOURCES
from monitor.sources import sandbox
from monitor.sources.base import SourceOptions
from monitor.sources.files import read_file
from monitor.store.engine.database import Transaction
from monitor.store.papers import papers, search
from monitor.store.topics import like_words, matches

log = structlog.get_logger()

# The newest papers by which a bar is chosen.
LOOKED_AT = 4_000


def current_topics(tx: Transaction, runtime: Runtime) -> tuple[Topic, ...]:
    """Return the topics of the configuration with the words that are stored of them."""
    if not any(topic.like for topic in runtime.topics):
        return runtime.topics
    mark = runtime.activation_hash, matches.activated_at(tx)
    if runtime.active.worded_at != mark or not runtime.active.worded:
        runtime.active.worded = with_words(tx, runtime.topics)
        runtime.active.worded_at = mark
    return runtime.active.worded


def find_current(runtime: Runtime) -> tuple[Topic, ...]:
    """Return the topics with their words, of a store that is not being read yet."""
    if not any(topic.like for topic in runtime.topics):
        return runtime.topics
    with runtime.database.reading() as tx:
        return current_topics(tx, runtime)


def with_words(tx: Transaction, topics: Sequence[Topic]) -> tuple[Topic, ...]:
    """Return topics with the words that are stored of them."""
    stored = like_words.in_force(tx, topics)
    return tuple(structs.replace(topic, words=stored.get(topic.name)) for topic in topics)


def learn_missing(runtime: Runtime, topics: Sequence[Topic]) -> list[Topic]:
    """Return topics with their words; those of a text of which none are stored are learned now.

    Nothing is stored, and no transaction stays open.
    """
    if not any(topic.like for topic in topics):
        return list(topics)
    with runtime.database.reading() as tx:
        worded = with_words(tx, topics)
    fresh = [topic for topic in worded if topic.like and not topic.words]
    learned = {topic.name: topic for topic in learn(runtime, fresh)}
    return [learned.get(topic.name, topic) for topic in worded]


def with_same_words(
    tx: Transaction, topics: Sequence[Topic], learned: Sequence[Topic]
) -> list[Topic]:
    """Return topics with the words that are stored, or else learned before the transaction.

    Topics that have neither are left out: the next round learns their words.
    """
    ours = {topic.name: topic.words for topic in learned}
    worded = (
        topic if topic.words else structs.replace(topic, words=ours.get(topic.name))
        for topic in with_words(tx, topics)
    )
    return [topic for topic in worded if topic.words or not topic.like]


def store_missing(tx: Transaction, topics: Iterable[Topic], now: datetime) -> None:
    """Store the words of topics, but where others stored words made from the same meanwhile."""
    fresh = [topic for topic in topics if topic.words and not topic.words.version]
    there = like_words.in_force(tx, fresh)
    for topic in fresh:
        if topic.name not in there and topic.words:
            like_words.add(tx, topic, topic.words, now)


def learn(runtime: Runtime, topics: Sequence[Topic], looked_at: int = LOOKED_AT) -> list[Topic]:
    """Return topics with words learned from their text and examples, and a bar for each.

    One without any word stays as it is, and does not parse.
    """
    learned = []
    for topic in topics:
        assert topic.like, "only what is like a text has words"
        examples, missing = find_examples(runtime, topic)
        words = learn_words(topic.like.text, examples)
        # Papers below the lowest bar do not count: of ten thousand topics these would be millions.
        lowest = LikeWords(words, LOWEST_BAR, examples=len(examples), missing=missing)
        learned.append(structs.replace(topic, words=lowest if words else None))
    return _with_bars(runtime, learned, looked_at)


def find_examples(runtime: Runtime, topic: Topic) -> tuple[list[Paper], tuple[str, ...]]:
    """Return the papers that a topic names as examples, and the names of those not stored."""
    like = topic.like or LikeText()
    examples: dict[int, Paper] = {}
    missing: list[str] = []
    with runtime.database.reading() as tx:
        for name in dict.fromkeys(like.papers):
            found = [papers.by_key(tx, *key) for key in identifiers_in(name)]
            stored = next((paper for paper in found if paper and not paper.purged), None)
            if stored:
                examples[stored.id] = stored.paper
            else:
                missing.append(name)
    of_file: Sequence[Paper] = ()
    if like.file:
        file = runtime.settings.path_of_examples(like.file)
        of_file, fault = read_examples(file, runtime.clock)
        if fault:
            log.warning("examples not read", topic=topic.name, file=str(file), error=fault)
            missing.append(like.file)
    return [*examples.values(), *of_file], tuple(missing)


def read_examples(file: Path, clock: Clock) -> tuple[list[Paper], str]:
    """Return the last `MOST_EXAMPLES` papers of a file, and what could not be read, "" if nothing.

    Of several faults in it the first is named, with its place.
    """
    kind = SOURCES.load(EXAMPLE_FILES[file.suffix.lower()])
    options: SourceOptions = kind.Options.model_validate({"path": str(file)})
    try:
        reading = sandbox.read(kind(file.name, options, None, clock.now), read_file(file))
    except MonitorError as error:
        is_missing = isinstance(error.__cause__, FileNotFoundError)
        return [], "there is no such file" if is_missing else error.message
    faults = [f"{one.where}: {one.why}" for one in reading.rejected]
    fault = reading.error or next(iter(faults), "")
    if len(faults) > 1 and not reading.error:
        fault += f" (and {len(faults) - 1:,} more)"
    if not (fault or reading.complete):
        fault = "it ends in the middle"
    if not (fault or reading.papers):
        fault = "there is no paper in it"
    return list(reading.papers[-MOST_EXAMPLES:]), fault


def _with_bars(runtime: Runtime, topics: Sequence[Topic], looked_at: int) -> list[Topic]:
    """Put the bar of each topic by how near the newest papers are to it."""
    every = {topic.name: topic.words for topic in topics if topic.words}
    if not every:
        return list(topics)
    with runtime.database.reading() as tx:
        ids = search.newest(tx, None, None, looked_at)
        days = like_words.days_between(tx, ids[0], ids[-1]) if ids else 0.0
        texts = papers.texts(tx, ids).values()
    near = nearness(every, [Paper(title, abstract=abstract) for title, abstract in texts])
    put = []
    for topic in topics:
        if topic.words and topic.like:
            closest = sorted(near[topic.name], reverse=True)
            bar = choose_bar(closest, len(texts), days, topic.like)
            topic = structs.replace(topic, words=structs.replace(topic.words, bar=bar))
        put.append(topic)
    return put


def nearness(words: Mapping[str, LikeWords], papers: Sequence[Paper]) -> dict[str, list[float]]:
    """Return, by the names of topics, how near those papers are that reach their bars."""
    index = TopicIndex({name: Query("", like_leaf(of_topic)) for name, of_topic in words.items()})
    _, numbers, scores = index.scores(papers)
    near: dict[str, list[float]] = {name: [] for name in words}
    for number, score in zip(numbers.tolist(), scores.tolist(), strict=True):
        near[str(index.name(number))].append(score / MOST)
    return near


def relearn(runtime: Runtime, topic: Topic) -> Topic:
    """Learn the words of a topic again, as a new version, by which papers match from now on.

    What matched before stays matched. Raises UsageError for a topic that is like no text.
    """
    if not topic.like:
        raise UsageError(f"{topic.name!r} has no words to learn", "its query says what it finds")
    [learned] = learn(runtime, [structs.replace(topic, words=None)])
    if not learned.words:
        refuse_without_words(runtime, learned)
        raise QueryError("it has no words", 0, "")
    with runtime.database.writing() as tx:
        matches.begin_activation(tx)
        stored = like_words.add(tx, topic, learned.words, runtime.clock.now())
        matches.mark_activated(tx)
    log.info("words learned again", topic=topic.name, version=stored.version)
    return structs.replace(learned, words=stored)


def refuse_without_words(runtime: Runtime, topic: Topic) -> None:
    """Raise UsageError or QueryError with the reason why a topic has no words."""
    if topic.like and topic.like.file:
        file = runtime.settings.path_of_examples(topic.like.file)
        _, fault = read_examples(file, runtime.clock)
        if fault:
            raise UsageError(f"{file}: {fault}", "correct the file or its name")
    parse_topic(topic)
