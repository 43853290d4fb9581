"""Topics beside what is stored: one that matches too much of it, a word that is not in it.

Warnings, no faults: a store that is not there, or cannot be read at once, has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from contextlib import closing

from monitor.commands.paper_search import as_matched, load_page
from monitor.commands.topic_trial import SPELLING_PAPERS, no_paper_has, too_wide
from monitor.config import Settings, synonyms_of
from monitor.errors import Fault, StoreError
from monitor.match import Query, TopicIndex, find_unseen_words, parse_topic
from monitor.store.engine import schema
from monitor.store.engine.database import Database, schema_version
from monitor.store.papers import search

# Fewer papers than these say little about a topic.
LEAST = 100
# To read more topics again would take longer than to check all of them.
MOST_TOPICS = 5_000
# Seconds that a check waits for a store which another process holds.
PATIENCE = 2.0


def topic_warnings(settings: Settings) -> list[Fault]:
    """Return a warning for each topic that matches too much, or has a word that no paper has."""
    try:
        with closing(Database(settings.store, PATIENCE)) as store:
            return _warnings(settings, store) if schema_version(store) == schema.VERSION else []
    except StoreError:
        return []


def _warnings(settings: Settings, store: Database) -> list[Fault]:
    with store.reading() as tx:
        newest = search.newest(tx, None, None, SPELLING_PAPERS)
        papers, sources = as_matched(tx, load_page(tx, newest))
    if len(papers) < LEAST:
        return []
    synonyms = synonyms_of(settings)
    topics: dict[Hashable, Query] = {
        name: parse_topic(topic.topic(synonyms)) for name, topic in settings.topics.items()
    }
    index = TopicIndex(topics)
    _, numbers = index.pairs(papers, sources)
    warnings = [
        _warning(settings, index.name(number), wide)
        for number, count in Counter(numbers.tolist()).items()
        if (wide := too_wide(count, len(papers)))
    ]
    unseen = find_unseen_words(topics, papers) if len(topics) <= MOST_TOPICS else {}
    for name, words in unseen.items():
        warnings.append(_warning(settings, name, no_paper_has(words, len(papers))))
    return sorted(warnings, key=lambda fault: (fault.file, fault.line))


def _warning(settings: Settings, name: Hashable, message: str) -> Fault:
    position = settings.places[str(name)]
    return Fault(position.file, position.line, f"topics.{name}", message)
