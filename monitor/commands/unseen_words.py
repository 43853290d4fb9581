"""Words of a topic that none of the newest papers stored has."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.model import Paper
from monitor.store import papers, search
from monitor.store.database import Transaction

# The newest papers speak for all.
LOOKED_AT = 2_000


def newest_papers(tx: Transaction) -> list[Paper]:
    """Return the newest papers that are stored: title and abstract of each."""
    ids = search.newest(tx, None, None, LOOKED_AT)
    return [Paper(title, abstract=abstract) for _, title, abstract in papers.texts(tx, ids)]


def no_paper_has(words: Sequence[str], papers: int) -> str:
    """Name words that none of so many papers has."""
    named = " or ".join(f"“{word}”" for word in words)
    among = f"the newest {papers:,} papers" if papers == LOOKED_AT else f"the {papers:,} papers"
    return f"none of {among} stored has {named}; check the spelling"
