"""One chunk of a reading becomes papers and changes, in the transaction it is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from monitor.diff.decide import DecisionContext, count_fresh, count_undated, decide_chunk, proven
from monitor.diff.replayed_feed import NO_SUSPICION, Suspicion, suspect
from monitor.errors import MonitorError, ValueRefusedError
from monitor.identity.keys import LINK, raw_id, record_hash, with_keys
from monitor.identity.notices import attach, mark_retracted, subjects
from monitor.identity.resolve import drop_shared_keys, may_match_cheaply
from monitor.model import Candidate, ChangeKind, Decision, IncomingPaper, Paper, record_of
from monitor.store.engine.database import Database, Transaction
from monitor.store.engine.sql import index_value
from monitor.store.papers import candidates, merge_papers, paper_index, sightings, write_papers


@dataclass(frozen=True, slots=True)
class Undecided:
    """A record that could not be decided or stored, and the error that it raised."""

    paper: Paper
    error: BaseException


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """What became of a chunk: of each paper that was not just as before a decision and an id.

    `suspicion` says whether it replays a feed; `undecided` are the records that were not stored.
    """

    decisions: tuple[Decision, ...] = ()
    ids: tuple[int, ...] = ()
    unchanged: int = 0
    fresh: int = 0
    suspicion: Suspicion = NO_SUSPICION
    undecided: tuple[Undecided, ...] = ()

    def __add__(self, other: StoredChunk) -> StoredChunk:
        return StoredChunk(
            (*self.decisions, *other.decisions),
            (*self.ids, *other.ids),
            self.unchanged + other.unchanged,
            self.fresh + other.fresh,
            self.suspicion + other.suspicion,
            (*self.undecided, *other.undecided),
        )

    @property
    def undated(self) -> int:
        return count_undated(self.decisions)

    def counts(self) -> dict[str, int]:
        """Count as scripts read it: what the store had not seen is new, withdrawn is revised.

        So is a notice that changes stored papers: the news is their change.
        """
        kinds = Counter(map(_counted_as, self.decisions))
        return {
            "seen": len(self.decisions) + self.unchanged + len(self.undecided),
            "new": kinds[ChangeKind.NEW] + kinds[ChangeKind.OLDER],
            "revised": kinds[ChangeKind.REVISED] + kinds[ChangeKind.WITHDRAWN],
            "known": kinds[None] + self.unchanged,
            "fresh": self.fresh,
        }


def _counted_as(decision: Decision) -> ChangeKind | None:
    effect = decision.effect
    return effect.kind if effect and effect.papers else decision.kind


@dataclass(frozen=True, slots=True)
class Decided:
    """What is to be written of a chunk, and of what stored papers that was decided.

    `unchanged_ids` are the source's names for the records that are as they were; `unchanged` counts
    them.
    """

    decisions: tuple[Decision, ...]
    candidates: tuple[tuple[Candidate, ...], ...]
    unchanged_ids: tuple[str, ...]
    unchanged: int
    fresh: int


def decide(
    tx: Transaction, source: str, incoming: Sequence[Paper], circumstances: DecisionContext
) -> Decided:
    """Decide on a chunk of at most some thousands; nothing is written.

    A record that is exactly what this source listed last time is recognized by its hash.
    """
    names, hashes = list(map(raw_id, incoming)), list(map(record_hash, incoming))
    _require_text(names)
    places = list(map(index_value, names))
    last_hashes = dict(zip(places, hashes, strict=True))
    other = paper_index.changed_records(tx, source, last_hashes)
    # Of records under one name the last is looked up: the others are changed, or the same.
    changed = [
        (record_of(incoming[at], source), names[at], hashes[at])
        for at, place in enumerate(places)
        if place in other or last_hashes[place] != hashes[at]
    ]
    unchanged_ids = tuple(name for name in last_hashes if name not in other)
    unchanged = len(incoming) - len(changed)
    if not changed:
        return Decided((), (), unchanged_ids, unchanged, 0)
    keyed = _apply_store_facts(tx, [with_keys(*record) for record in changed])
    stored = candidates.find(tx, source, keyed, may_match_cheaply)
    decisions = _with_effects(tx, decide_chunk(keyed, stored, circumstances))
    return Decided(
        tuple(decisions), tuple(stored), unchanged_ids, unchanged, count_fresh(decisions, stored)
    )


def _require_text(names: Sequence[str]) -> None:
    """Raise ValueError for a name that SQLite would return as another one when it is looked up."""
    joined = "".join(names)
    joined.encode()  # half a surrogate pair
    if "\0" in joined:
        raise ValueError("the source's name for a record has a character U+0000")


def _apply_store_facts(tx: Transaction, incoming: Sequence[IncomingPaper]) -> list[IncomingPaper]:
    """Return records as the store sees them: which identifiers prove nothing, who is retracted."""
    pairs = {pair for record in incoming for pair in record.keys if pair[0] != LINK}
    data = paper_index.shared_keys(tx, pairs)
    usable = [drop_shared_keys(record, data) for record in incoming] if data else incoming
    return mark_retracted(usable, paper_index.find_retracted(tx, pairs))


def _with_effects(tx: Transaction, decisions: Sequence[Decision]) -> list[Decision]:
    """Return decisions with what the notices among them mean for stored papers."""
    about = subjects(decision.keyed for decision in decisions)
    if not about:
        return list(decisions)
    named = paper_index.of_keys(tx, about)
    stored = {pair: id for pair in about if (id := named.get(paper_index.indexed_pair(pair)))}
    ids = {
        *stored.values(),
        *(decision.paper_id for decision in decisions if decision.paper_id is not None),
    }
    return attach(decisions, stored, paper_index.notices_about(tx, ids))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Records of one document, in order, to be stored `now`.

    With `last_read`, when a feed was read before, it is judged whether they replay old papers.
    """

    source: str
    papers: Sequence[Paper]
    circumstances: DecisionContext
    now: datetime
    document: str = ""
    last_read: datetime | None = None


def store_chunk(tx: Transaction, chunk: Chunk) -> StoredChunk:
    """Decide on a chunk and store it. `tx` is one of `Database.ingesting`."""
    source, now = chunk.source, chunk.now
    decided = decide(tx, source, chunk.papers, chunk.circumstances)
    suspicion = NO_SUSPICION
    if chunk.last_read is not None:
        suspicion = suspect(chunk.papers, decided.decisions, decided.candidates, chunk.last_read)
    sightings.touch(tx, source, decided.unchanged_ids, now)
    ids = write_papers.apply(tx, source, decided.decisions, now, chunk.document)
    survivors = merge_papers.merge(tx, proven(decided.decisions, ids), now)
    ids = [survivors.get(id, id) for id in ids]
    return StoredChunk(decided.decisions, tuple(ids), decided.unchanged, decided.fresh, suspicion)


# Errors of the database, of the machine and of the installation: no record is at fault, and the run
# fails.
_NOT_OF_RECORDS = (MonitorError, OSError, ImportError, MemoryError)


class DecidingError(Exception):
    """A record of a chunk could not be decided or stored; the cause is its error."""


def store_together(database: Database, tx: Transaction, chunk: Chunk) -> StoredChunk:
    """Store a chunk. Raises DecidingError if a record raises: `tx` must be rolled back then."""
    with _deciding(database):
        return store_chunk(tx, chunk)


def store_apart(database: Database, tx: Transaction, chunk: Chunk) -> StoredChunk:
    """Store a chunk without the records that raise: what raises is halved until one is left.

    The second half is decided after the first one is stored, as a chunk that follows it would be.
    """
    stored = StoredChunk()
    parts = [chunk.papers]
    while parts:
        papers = parts.pop()
        undated = chunk.circumstances.undated_before + stored.undated
        circumstances = replace(chunk.circumstances, undated_before=undated)
        try:
            with tx.begin_nested():
                part = replace(chunk, papers=papers, circumstances=circumstances)
                stored += store_together(database, tx, part)
        except DecidingError as fault:
            if len(papers) == 1:
                assert fault.__cause__ is not None
                stored += StoredChunk(undecided=(Undecided(papers[0], fault.__cause__),))
            else:
                middle = len(papers) // 2
                parts += [papers[middle:], papers[:middle]]
    return stored


@contextmanager
def _deciding(database: Database) -> Iterator[None]:
    """Turn an error that only a record can be the cause of into a DecidingError."""
    try:
        with database.explaining():
            yield
    except ValueRefusedError as fault:
        raise DecidingError from fault
    except _NOT_OF_RECORDS:
        raise
    except Exception as fault:
        raise DecidingError from fault
