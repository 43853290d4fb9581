"""Topics that meet more of what is stored than a person may want to read: a warning, no fault."""

from __future__ import annotations

import numpy as np

from monitor.config import Settings, synonyms_of
from monitor.errors import Fault, StoreError
from monitor.match import index_of
from monitor.questions.search import WIDE_SHARE, too_wide
from monitor.store import matches, schema
from monitor.store.database import Database, version

# The newest papers speak for all; of fewer than these nothing can be said.
LOOKED_AT = 2_000
LEAST = 100


def wide_topics(settings: Settings) -> list[Fault]:
    """Return a warning for each topic that meets more than a twentieth of the newest papers.

    None where there is no store yet, or it cannot be read now: nothing is made or changed.
    """
    try:
        store = Database(settings.store)
        if store.path and not store.path.exists():
            return []
        try:
            return _wide(settings, store) if version(store) == schema.VERSION else []
        finally:
            store.close()
    except StoreError:
        return []


def _wide(settings: Settings, store: Database) -> list[Fault]:
    with store.reading() as tx:
        changes = matches.newest(tx, LOOKED_AT)
    if len(changes) < LEAST:
        return []
    synonyms = synonyms_of(settings)
    index = index_of(topic.topic(synonyms) for topic in settings.topics.values())
    papers, sources = [c.stored.paper for c in changes], [c.sources for c in changes]
    _, numbers = index.pairs(papers, sources)
    counts = np.bincount(numbers)
    return [
        _warning(settings, str(index.name(number)), counts[number] / len(changes))
        for number in np.flatnonzero(counts > WIDE_SHARE * len(changes)).tolist()
    ]


def _warning(settings: Settings, name: str, share: float) -> Fault:
    place = settings.places[name]
    return Fault(place.file, place.line, f"topics.{name}", too_wide(share))
