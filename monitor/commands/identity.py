"""Corrections of identity by a person: papers merged or split permanently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from monitor.commands.explain import find_paper
from monitor.commands.paper_search import FoundPaper, load_found
from monitor.diff.doubtful_joins import has_abstract
from monitor.errors import UsageError
from monitor.identity import reference_events as reference_events_of
from monitor.identity.keys import identifiers_in, with_keys
from monitor.identity.reasons import describe
from monitor.model import (
    Finding,
    IncomingPaper,
    Paper,
    Reason,
    ReferenceChange,
    ReferenceEvent,
    Sighting,
    SightingText,
    StoredPaper,
)
from monitor.model.paper_fields import SPLIT, empty_values, names_of
from monitor.pipeline.runtime import Runtime
from monitor.store.engine.database import Transaction
from monitor.store.papers import identity_rulings, merge_papers, papers, withdrawals
from monitor.store.papers.withdrawals import Withdrawal
from monitor.store.sources import collections, reference_events
from monitor.store.topics import subscriptions

Key = tuple[str, str]


def merge(runtime: Runtime, wanted: Sequence[str]) -> FoundPaper:
    """Join papers into the earliest of them and rule that they are the same. Raises UsageError."""
    now = runtime.clock.now()
    with runtime.database.ingesting() as tx:
        stored = {paper.id: paper for paper in (find_paper(tx, each) for each in wanted)}
        if len(stored) < 2:
            raise UsageError("these are already one paper", "name at least two different papers")
        first, *others = sorted(stored)
        names = identity_rulings.names_of(tx, stored)
        for other in others:
            identity_rulings.rule(tx, names[first], names[other], identity_rulings.SAME, now)
        why = describe([Reason(Finding.RULED_SAME)])
        pairs = [(first, other, why) for other in others]
        merge_papers.merge(tx, pairs, now)
        [merged] = load_found(tx, [first])
        return merged


def split(
    runtime: Runtime, wanted: str, what: Sequence[str], title: str = ""
) -> tuple[FoundPaper, FoundPaper]:
    """Make a paper of its own of some identifiers and records of another; return both.

    Each of `what` is an identifier or link of the paper, a record as SOURCE/RAW-ID, or a source
    for all of its records. An identifier takes the records with it that are named by it, and
    the other way round. Raises UsageError.
    """
    with runtime.database.ingesting() as tx:
        stored = find_paper(tx, wanted)
        new_id = split_in(runtime, tx, stored, what, title)
        remaining, separated = load_found(tx, [stored.id, new_id])
        return remaining, separated


def split_in(
    runtime: Runtime, tx: Transaction, stored: StoredPaper, what: Sequence[str], title: str = ""
) -> int:
    """Split a paper in a transaction of `Database.ingesting`, and return the id of the new one."""
    now = runtime.clock.now()
    origin = papers.origin(tx, stored)
    keys, records = _select(what, origin.keys, origin.sightings)
    if len(records) == len(origin.sightings) or (
        origin.keys and len(keys) == len(origin.keys) and not records
    ):
        raise UsageError(
            "nothing would remain of the paper", "name only what belongs to another paper"
        )
    moved = [record for record in origin.sightings if (record.source, record.raw_id) in records]
    stay = [record for record in origin.sightings if record not in moved]
    kept = _own_text(stored.paper, stay, moved)
    parted = _own_text(stored.paper, moved, stay)
    if title:
        parted = structs.replace(parted, title=title)
    texts = _without_identifiers(kept), _without_identifiers(parted)
    marks = withdrawals.of_paper(tx, stored.id)
    new_id = merge_papers.split(tx, stored.id, keys, records, *texts, now)
    for id, own in ((stored.id, moved), (new_id, stay)):
        part = papers.get(tx, id)
        if stored.paper.withdrawn and part and not part.paper.withdrawn:
            names = {(record.source, record.raw_id) for record in own}
            wrong = [mark for mark in marks if (mark.source, mark.raw_id) in names]
            _undo(runtime, tx, part, wrong)
    return new_id


@dataclass(frozen=True, slots=True)
class Unmarked:
    """A paper whose mark is undone, the records that made it, and who is notified."""

    paper: FoundPaper
    undone: tuple[Withdrawal, ...]
    notified: tuple[str, ...]


def unmark(runtime: Runtime, wanted: str) -> Unmarked:
    """Take the mark off a paper that was withdrawn by mistake, permanently. Raises UsageError."""
    now = runtime.clock.now()
    with runtime.database.ingesting() as tx:
        stored = find_paper(tx, wanted)
        if not stored.paper.withdrawn:
            raise UsageError("this paper is not marked as withdrawn", "nothing was changed")
        undone = withdrawals.undo(tx, stored.id, now)
        notified = _undo(runtime, tx, stored, undone)
        [paper] = load_found(tx, [stored.id])
        return Unmarked(paper, tuple(undone), tuple(sorted(notified)))


def _undo(
    runtime: Runtime, tx: Transaction, stored: StoredPaper, undone: Sequence[Withdrawal]
) -> set[str]:
    """Take the mark off a paper, and return the subscriptions that get the correction."""
    now = runtime.clock.now()
    told = withdrawals.lift(tx, stored.id, now)
    said = undone[-1] if undone else Withdrawal("", "", "", "", now)
    event = ReferenceEvent(
        ReferenceChange.MISTAKEN,
        reference_events_of.work_of([stored.paper]),
        (f"undone:{stored.id}:{now.isoformat()}",),
        now,
        said.source,
        url=said.url,
    )
    [entries] = collections.find(tx, runtime.libraries, [with_keys(stored.paper)], now)
    records = [stored.paper, *(entry.paper for entry in entries)]
    audience = reference_events.correct(tx, records, told, event)
    if audience:
        subscriptions.wake_immediate(tx, None, now)
    return audience


# Fields of a split paper that the store has for each record.
_OF_EACH_RECORD = [name for name in names_of(SPLIT) if name in SightingText.__struct_fields__]
# Fields that may be of either part, whose values the store does not have for each record. They are
# filled in again when the records are read.
_NOT_STORED = empty_values(set(names_of(SPLIT)).difference(_OF_EACH_RECORD, ["abstract"]))


def _own_text(paper: Paper, ours: Sequence[Sighting], theirs: Sequence[Sighting]) -> Paper:
    """Return a paper that is split as some of its records tell it, as far as that is known.

    The abstract goes to the records whose fingerprint says that it is theirs, else to all.
    """
    paper = structs.replace(paper, **_NOT_STORED)
    if not any(has_abstract(paper, record) for record in ours) and any(
        has_abstract(paper, record) for record in theirs
    ):
        paper = structs.replace(paper, abstract="")
    texts = [record.text for record in ours if record.text]
    if not texts or (len(texts) < len(ours) and all(record.text for record in theirs)):
        return paper  # it says what a record said that was read before texts were stored
    text = next((text for text in texts if text.title == paper.title), texts[0])
    return structs.replace(paper, **{name: getattr(text, name) for name in _OF_EACH_RECORD})


def _without_identifiers(paper: Paper) -> IncomingPaper:
    return structs.replace(with_keys(structs.replace(paper, keys={}, url="")), keys=())


def _select(
    what: Sequence[str], keys: Sequence[Key], sightings: Sequence[Sighting]
) -> tuple[list[Key], list[Key]]:
    """Return the identifiers and the (source, raw id) that are meant."""
    chosen: set[Key] = set()
    records: set[Key] = set()
    for name in what:
        ours = _names(name) & set(keys)
        named_records = {
            (seen.source, seen.raw_id)
            for seen in sightings
            if name in (seen.source, seen.raw_id, f"{seen.source}/{seen.raw_id}")
        }
        if not ours and not named_records:
            there = [f"{s}:{v}" for s, v in keys] + [f"{s.source}/{s.raw_id}" for s in sightings]
            raise UsageError(
                f"{name!r} does not belong to this paper", f"there are: {', '.join(there)}"
            )
        chosen |= ours
        records |= named_records
    chosen |= {key for _, raw_id in records for key in _names(raw_id) & set(keys)}
    chosen |= _identifiers_only_in(records, sightings) & set(keys)
    records |= {(s.source, s.raw_id) for s in sightings if not _names(s.raw_id).isdisjoint(chosen)}
    return sorted(chosen), sorted(records)


def _identifiers_only_in(records: set[Key], sightings: Sequence[Sighting]) -> set[Key]:
    """Return the identifiers that some records gave and no other, where it is known of all."""
    ours = set[Key]()
    theirs = set[Key]()
    for record in sightings:
        if record.text is None:
            return set()
        (ours if (record.source, record.raw_id) in records else theirs).update(record.text.keys)
    return ours - theirs


def _names(text: str) -> set[Key]:
    """Return all identifiers and links that a text may stand for."""
    return {*identifiers_in(text), ("url", text), ("url", text.partition(":")[2])}
