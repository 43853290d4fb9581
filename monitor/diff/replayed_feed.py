"""Whether a feed shows old papers again as new: a person decides before anything is sent (F08).

A feed repeats entries. If more than half of its entries dated before the last reading are new all
the same, or known links come back as other papers under other ids, then it was moved, rebuilt or
renumbered, and most of it is not news.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.identity.keys import LINK
from monitor.model import Candidate, ChangeKind, Decision, IncomingPaper, Paper

# A date without a time covers the whole day.
A_DAY = timedelta(days=1)
# Fewer may be late additions.
MIN_REPLAYED = 3
_NEW = (ChangeKind.NEW, ChangeKind.OLDER)


@dataclass(frozen=True, slots=True)
class Suspicion:
    """How many entries of a reading should be known, and how many of these are new."""

    known_before: int = 0
    new: int = 0

    def __add__(self, other: Suspicion) -> Suspicion:
        return Suspicion(self.known_before + other.known_before, self.new + other.new)

    @property
    def holds(self) -> bool:
        return self.new >= MIN_REPLAYED and 2 * self.new > self.known_before


NO_SUSPICION = Suspicion()


def suspect(
    papers: Sequence[Paper],
    decisions: Sequence[Decision],
    candidates: Sequence[Sequence[Candidate]],
    last_read: datetime,
) -> Suspicion:
    """Count a chunk. `papers` are all of its papers, `decisions` those of changed ones."""
    old = sum(_is_old(paper, last_read) for paper in papers)
    keys = (pair for decision in decisions for pair in decision.keyed.keys)
    links = Counter(pair for pair in keys if pair[0] == LINK)
    moved = new = 0
    for decision, known in zip(decisions, candidates, strict=True):
        is_old = _is_old(decision.keyed.paper, last_read)
        is_moved = not is_old and _link_moved(decision.keyed, known, links)
        is_new = decision.earlier_in_chunk is None and decision.kind in _NEW
        moved += is_moved
        new += is_new and (is_old or is_moved)
    return Suspicion(old + moved, new)


def _is_old(paper: Paper, last_read: datetime) -> bool:
    dated = paper.announced or paper.published
    return dated is not None and dated + A_DAY < last_read


def _link_moved(
    keyed: IncomingPaper, known: Sequence[Candidate], links: Counter[tuple[str, str]]
) -> bool:
    """Whether this source had the link under another id. A link that many share does not count."""
    ours = {pair for pair in keyed.keys if pair[0] == LINK and links[pair] == 1}
    return any(
        not ours.isdisjoint(candidate.keys)
        and candidate.sightings
        and all(seen.raw_id != keyed.raw_id for seen in candidate.sightings)
        for candidate in known
    )
