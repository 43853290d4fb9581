"""Topics beside what is stored: one that matches too much of it, a word that is not in it.

Warnings, no faults: a store that is not there, or cannot be read at once, has none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from monitor.commands.topic_trial import (
    SPELLING_PAPERS,
    WIDE_SHARE,
    newest_papers,
    no_paper_has,
    too_wide,
)
from monitor.config import Settings, load, synonyms_of
from monitor.errors import ConfigError, Fault, StoreError
from monitor.match import Query, build_index, find_unseen_words, parse_topic
from monitor.store.engine import schema
from monitor.store.engine.database import Database, Transaction, schema_version
from monitor.store.engine.opening import queries_in_force
from monitor.store.topics import matches

# Fewer papers than these say little about a topic.
LEAST = 100
# To read more topics again would take longer than to check all of them.
MOST_TOPICS = 5_000
_PARKED = (
    "This topic was accepted before: the service starts, but the topic matches nothing until its "
    "query is corrected."
)
# Seconds that a check waits for a store which another process holds.
PATIENCE = 2.0


def topic_warnings(settings: Settings) -> list[Fault]:
    """Return a warning for each topic that says too little of what is stored, or too much.

    That is: of more than a twentieth of the newest papers, or with a word that none of them has.
    None where the store cannot be read now: nothing is made or changed.
    """
    try:
        with closing(Database(settings.store, PATIENCE)) as store:
            return _warnings(settings, store) if schema_version(store) == schema.VERSION else []
    except StoreError:
        return []


def explain_parked_faults(file: Path, faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Return the faults of a file; those of topics that are in force say what becomes of them."""
    remaining: tuple[Fault, ...] = ()
    try:
        load(file, active_queries=partial(queries_in_force, wait=PATIENCE))
    except ConfigError as error:
        remaining = error.faults
    return tuple(
        fault if fault in remaining else replace(fault, message=f"{fault.message}\n{_PARKED}")
        for fault in faults
    )


def _warnings(settings: Settings, store: Database) -> list[Fault]:
    with store.reading() as tx:
        warnings = _wide(settings, tx)
        newest = newest_papers(tx)
    if len(newest) < LEAST or len(settings.topics) > MOST_TOPICS:
        return warnings
    synonyms = synonyms_of(settings)
    topics: dict[Hashable, Query] = {
        name: parse_topic(topic.topic(synonyms))
        for name, topic in settings.topics.items()
        if name not in settings.parked
    }
    for name, words in find_unseen_words(topics, newest).items():
        warnings.append(_warning(settings, str(name), no_paper_has(words, len(newest))))
    return sorted(warnings, key=lambda fault: (fault.file, fault.line))


def _wide(settings: Settings, tx: Transaction) -> list[Fault]:
    changes = matches.newest(tx, SPELLING_PAPERS)
    if len(changes) < LEAST:
        return []
    synonyms = synonyms_of(settings)
    index = build_index(topic.topic(synonyms) for topic in settings.topics.values())
    papers, sources = [c.stored.paper for c in changes], [c.sources for c in changes]
    _, numbers = index.pairs(papers, sources)
    counts = np.bincount(numbers)
    return [
        _warning(settings, str(index.name(number)), too_wide(counts[number] / len(changes)))
        for number in np.flatnonzero(counts > WIDE_SHARE * len(changes)).tolist()
    ]


def _warning(settings: Settings, name: str, message: str) -> Fault:
    position = settings.places[name]
    return Fault(position.file, position.line, f"topics.{name}", message)
