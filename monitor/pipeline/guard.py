"""Recording what becomes of references: as sources are read, as libraries are, and as services say.

A notice and the paper that it is about may come in any order, or together, and the library before
or after both. Whichever comes last looks for the others among what is stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain

from msgspec import Struct, structs

from monitor.identity import reference_events
from monitor.identity.keys import LINK, group_by_scheme, identifiers, with_keys
from monitor.identity.notices import effect_of
from monitor.identity.resolve import contest, recognise, stored_work
from monitor.identity.withdrawals import NO_STANDING, Standing, may_retract, reported_by
from monitor.model import (
    Candidate,
    ChangeKind,
    Claim,
    Decision,
    IncomingPaper,
    Paper,
    ReferenceChange,
    ReferenceEvent,
    StoredPaper,
    record_of,
)
from monitor.pipeline.cleanup import repeat
from monitor.pipeline.runtime import Runtime
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.papers import candidates, named_notices, paper_index, papers, sightings
from monitor.store.sources import collections
from monitor.store.sources import reference_events as stored_events
from monitor.store.sources.collections import CollectionEntry
from monitor.store.topics import subscriptions

# Entries of a library that are looked up in one transaction.
BATCH = 200

References = dict[int, Paper]


class StoredNotice(Struct, frozen=True):
    """A notice that was stored before, or that the stored record of a paper names.

    `id` is that of its stored paper, 0 without one; `read` is when a source first had it.
    """

    record: IncomingPaper
    id: int
    source: str
    read: datetime

    def reports(
        self, references: Sequence[Paper], works: Iterable[Paper], now: datetime
    ) -> ReferenceEvent:
        """Return the change that it reports of references; `works` are what it is about."""
        if report := reported_by(self.record.paper, self.record.raw_id):
            event = reference_events.reported_by_record(report, references, self.source, now)
        else:
            event = reference_events.reported_by_notice(
                self.record, references, self.id, self.source, now
            )
        return reference_events.with_identifiers_of(event, works)

    def is_reported_late(self, now: datetime, *, only_recent: bool = False) -> bool:
        paper = self.record.paper
        return reference_events.is_reported_late(paper, self.read, now, only_recent=only_recent)


# ── as sources are read ─────────────────────────────────────────────────────────────


class StoredDecisions(Struct, frozen=True):
    """The decisions on a chunk, which is stored.

    `compared` are the stored papers that each record was compared with, `ids` their papers now, 0
    for what is not stored; `merged` are papers that others were merged into. `standing` is what is
    known of their source.
    """

    decisions: Sequence[Decision]
    compared: Sequence[Sequence[Candidate]]
    ids: Sequence[int]
    merged: Collection[int] = ()
    standing: Standing = NO_STANDING


def record_changes(
    tx: Transaction,
    source: str,
    libraries: Collection[str],
    chunk: StoredDecisions,
    now: datetime,
) -> None:
    """Record what the records of a chunk report of works in guarded libraries."""
    decisions = chunk.decisions
    ids = chunk.ids
    before = [
        next((known for known in compared if known.stored.id == decision.paper_id), None)
        for decision, compared in zip(decisions, chunk.compared, strict=True)
    ]
    notices = {
        at: decision.keyed
        for at, decision in enumerate(decisions)
        if effect_of(decision.keyed) and not decision.keyed.paper.withdrawn
    }
    subjects = _subjects_of(tx, notices, ids)
    gained = {
        id
        for id, decision, known in zip(ids, decisions, before, strict=True)
        if id and (known is None or not set(known.keys).issuperset(decision.keyed.keys))
    }
    earlier = _earlier_notices(tx, {*gained, *chunk.merged}, {ids[at] for at in notices}, now)
    works = papers.load(tx, {*earlier, *chain.from_iterable(subjects.values())})
    lookups: list[tuple[tuple[str, int], IncomingPaper]] = [
        *(
            (("names", at), reference_events.named_works(keyed.about))
            for at, keyed in notices.items()
        ),
        *(
            (("paper", id), reference_events.as_record(work.paper))
            for id, work in works.items()
            if not reference_events.is_about_another(work.paper)
        ),
        *(
            (("record", at), record)
            for at, decision in enumerate(decisions)
            for record in reference_events.looked_up(
                decision.keyed, before[at], _earlier_of(decision, decisions)
            )
        ),
        *(
            (("title", at), contest(report, report.own_keys))
            for at, decision in enumerate(decisions)
            if (report := decision.keyed.reports) and report.own_keys
        ),
    ]
    found = collections.find(tx, libraries, [record for _, record in lookups], now)
    references: dict[tuple[str, int], References] = defaultdict(dict)
    for (place, _), entries in zip(lookups, found, strict=True):
        references[place] |= {entry.id: entry.paper for entry in entries}
    events: list[ReferenceEvent] = []
    for at, keyed in notices.items():
        by_name = [{id: paper} for id, paper in references["names", at].items()]
        by_paper = (references["paper", id] for id in subjects[at])
        for work in reference_events.group_by_work([*by_name, *by_paper]):
            notice = StoredNotice(keyed, ids[at], source, now)
            about = [works[id].paper for id in subjects[at] if id in works]
            events.append(notice.reports([*work.values()], about, now))
    for id, late in earlier.items():
        if own := references["paper", id]:
            about = [works[id].paper]
            listed = [*own.values()]
            events += [notice.reports(listed, about, now) for notice in late]
    for at, decision in enumerate(decisions):
        own = references["record", at]
        if report := decision.keyed.reports:  # its identifiers may be of the report itself
            titled = references["title", at].items()
            own |= {id: paper for id, paper in titled if may_retract(report.paper, paper)}
        if not own:
            continue
        listed = [*own.values()]
        for named in _named_notices(tx, decision.keyed.paper, source):
            about = [decision.keyed.paper]
            events.append(StoredNotice(named, 0, source, now).reports(listed, about, now))
        known = before[at]
        records = _records_of(tx, known.stored.id, known.keys) if known else []
        events += reference_events.events_of(
            decision, before[at], listed, records, ids[at], source, now, chunk.standing
        )
    if stored_events.save(tx, events):
        subscriptions.wake_immediate(tx, None, now)
    withdrawn = (reference_events.withdrawn_by(decision.keyed, source) for decision in decisions)
    stored_events.withdraw(tx, set(chain.from_iterable(withdrawn)))


def _earlier_of(decision: Decision, decisions: Sequence[Decision]) -> IncomingPaper | None:
    """Return the first record, in one chunk, of the paper that a decision's record is of."""
    at = decision.earlier_in_chunk
    return None if at is None else decisions[at].keyed


def _subjects_of(
    tx: Transaction, notices: Mapping[int, IncomingPaper], ids: Sequence[int]
) -> dict[int, set[int]]:
    """Return the stored papers that each notice of a chunk is about, those of the chunk, too."""
    subjects = paper_index.subjects(tx, {p for keyed in notices.values() for p in keyed.about})
    return {
        at: {subjects[pair] for pair in keyed.about if pair in subjects} - {ids[at]}
        for at, keyed in notices.items()
    }


def _earlier_notices(
    tx: Transaction, gained: Collection[int], here: Collection[int], now: datetime
) -> dict[int, list[StoredNotice]]:
    """Return the notices, read before, about papers that are new or gained identifiers."""
    about = paper_index.notices_about(tx, gained)
    notices = _load_notices(
        tx, {id for of_paper in about.values() for id in of_paper}.difference(here)
    )
    late = {
        id: [notices[n] for n in sorted(of_paper) if n in notices and n != id]
        for id, of_paper in about.items()
    }
    return {
        id: [notice for notice in of_paper if notice.is_reported_late(now)]
        for id, of_paper in late.items()
    }


def _load_notices(tx: Transaction, ids: Collection[int]) -> dict[int, StoredNotice]:
    """Return stored notices that still stand, by the ids of their papers."""
    if not ids:
        return {}
    stored = papers.load(tx, ids)
    subjects = paper_index.of_papers(tx, schema.about, ids)
    seen = sightings.of_papers(tx, ids)
    notices: dict[int, StoredNotice] = {}
    for id, known in stored.items():
        of_sources = seen.get(id, ())
        notes = (s.site_note for s in of_sources if s.site_note and s.site_note.reasons)
        about = group_by_scheme(subjects.get(id, ()))
        paper = structs.replace(known.paper, about=about, site_note=next(notes, None))
        record = with_keys(paper)
        if effect_of(record) and not paper.withdrawn:
            source, name = (of_sources[0].source, of_sources[0].raw_id) if of_sources else ("", "")
            record = structs.replace(record, raw_id=name)
            notices[id] = StoredNotice(record, id, source, known.first_seen)
    return notices


def _named_notices(tx: Transaction, paper: Paper, source: str) -> list[IncomingPaper]:
    """Return the notices that the record of a paper names, but for those that are withdrawn."""
    named = [with_keys(record_of(notice, source)) for notice in paper.notices]
    records = candidates.with_store_facts(tx, named) if named else []
    return [record for record in records if not record.paper.withdrawn]


def _records_of(
    tx: Transaction, paper_id: int, keys: Mapping[tuple[str, str], Claim]
) -> list[Paper]:
    """Return the records of a stored paper, as far as their texts are stored.

    They are without identifiers that were read out of links and texts, of all its `keys`.
    """
    seen = sightings.with_text(tx, [paper_id]).values()
    weak = {pair for pair, claim in keys.items() if claim > Claim.FIELD}
    return [
        Paper(
            text.title,
            authors=text.authors,
            venue=text.venue,
            year=text.year,
            keys=group_by_scheme(pair for pair in text.keys if pair not in weak),
            type=text.type,
        )
        for of_paper in seen
        for sighting in of_paper
        if (text := sighting.text)
    ]


# ── as libraries are read ───────────────────────────────────────────────────────────


def look_up_stored(runtime: Runtime, library: str) -> None:
    """Record what is stored about the new entries of a guarded library, after it was read."""

    def step(tx: Transaction) -> int:
        now = runtime.clock.now()
        entries = collections.take_unchecked(tx, library, now, BATCH)
        present = [(entry, only_recent) for entry, only_recent in entries.values() if entry]
        if stored_events.save(tx, chain(*stored_changes(tx, library, present, now))):
            subscriptions.wake_immediate(tx, None, now)
        return len(entries)

    repeat(runtime, step)


def stored_changes(
    tx: Transaction,
    library: str,
    entries: Sequence[tuple[CollectionEntry, bool]],
    now: datetime,
) -> list[list[ReferenceEvent]]:
    """Return what stored notices, and withdrawn papers, report of each entry of a library.

    For entries with `only_recent`, those count that were read lately.
    """
    records = candidates.with_store_facts(tx, [with_keys(entry.paper) for entry, _ in entries])
    works = [
        {
            candidate.stored.id: candidate.stored
            for candidate in of_record
            if recognise(record, stored_work(candidate))
            and not reference_events.is_about_another(candidate.stored.paper)
        }
        for record, of_record in zip(records, candidates.find(tx, library, records), strict=True)
    ]
    ids = {id for of_entry in works for id in of_entry}
    pairs = {pair for record in records for pair in record.keys if pair[0] != LINK}
    by_name = paper_index.notices_naming(tx, pairs)
    by_paper = paper_index.notices_about(tx, ids)
    notices = _load_notices(tx, set(chain(*by_name.values(), *by_paper.values())))
    named = _stored_named_notices(tx, ids)
    events: list[list[ReferenceEvent]] = []
    for (entry, only_recent), record, of_entry in zip(entries, records, works, strict=True):
        reporting = {
            id: notices[id]
            for pair in record.keys
            for id in by_name.get(pair, ())
            if id in notices and _names(notices[id].record, entry.paper)
        }
        reporting |= {
            id: notices[id] for work in of_entry for id in by_paper[work] if id in notices
        }
        every = [*reporting.values(), *(notice for work in of_entry for notice in named[work])]
        late = [n for n in every if n.is_reported_late(now, only_recent=only_recent)]
        about = [work.paper for work in of_entry.values()]
        reports = [notice.reports([entry.paper], about, now) for notice in late]
        if not any(report.change is ReferenceChange.RETRACTED for report in reports):
            reports += _withdrawn(tx, entry.paper, of_entry.values(), now, only_recent)
        events.append(reports)
    return events


def _names(notice: IncomingPaper, reference: Paper) -> bool:
    """Whether a notice names a reference by an identifier that nothing contradicts."""
    named = reference_events.named_works(notice.about)
    return bool(collections.why_same(named, reference, "key"))


def _stored_named_notices(
    tx: Transaction, ids: Collection[int]
) -> defaultdict[int, list[StoredNotice]]:
    """Return the notices that the stored records of papers name, but for withdrawn ones."""
    notices = defaultdict[int, list[StoredNotice]](list)
    for id, named in named_notices.of_papers(tx, ids).items():
        records = candidates.with_store_facts(tx, [with_keys(one.paper) for one in named])
        notices[id] = [
            StoredNotice(record, 0, one.source, one.at)
            for one, record in zip(named, records, strict=True)
            if not record.paper.withdrawn
        ]
    return notices


def _withdrawn(
    tx: Transaction,
    reference: Paper,
    works: Iterable[StoredPaper],
    now: datetime,
    only_recent: bool,
) -> list[ReferenceEvent]:
    """Return the change of a reference whose stored paper is withdrawn."""
    for work in works:
        if work.paper.withdrawn:
            origin = papers.origin(tx, work)
            changed = [c.at for c in origin.changes if c.kind is ChangeKind.WITHDRAWN]
            at = max(changed, default=work.first_seen)
            if not only_recent or at >= now - reference_events.OLD_AT_UPGRADE:
                seen = origin.sightings
                return [
                    reference_events.withdrawn_without_notice(work.paper, [reference], seen, now)
                ]
    return []


# ── as services answer about papers that readers saved ─────────────────────────────

# Services count versions of preprints alone, and readers of a digest can ask a topic for revisions.
_OF_SAVED = frozenset(ReferenceChange) - {ReferenceChange.NEW_VERSION}


def changes_of_saved(
    tx: Transaction,
    stored: StoredPaper,
    work: Paper,
    records: Iterable[Paper],
    service: str,
    since: datetime,
    now: datetime,
) -> list[ReferenceEvent] | None:
    """Return what the records of a service report of a paper, None if none is of the paper.

    `work` is the paper as it was when readers began to follow it, which is `since` a time. Only a
    record counts that has an identifier of the paper, and that nothing contradicts.
    """
    references = [structs.replace(work, url=work.url or stored.paper.url)]
    keyed = candidates.with_store_facts(tx, [with_keys(record) for record in records])
    named = [
        record
        for record in keyed
        if not reference_events.is_about_another(record.paper)
        and not {pair for pair in record.own_keys if pair[0] != LINK}.isdisjoint(
            identifiers(stored.paper)
        )
        and collections.why_same(record, stored.paper, "key")
    ]
    if not named:
        return None
    of_sources = _records_of(tx, stored.id, paper_index.claims_of(tx, [stored.id])[stored.id])
    events: list[ReferenceEvent] = []
    for record in named:
        for one in _named_notices(tx, record.paper, service):
            reported = StoredNotice(one, 0, service, now)
            if reported.is_reported_late(since):
                events.append(reported.reports(references, [stored.paper], now))
        decision = Decision(record, None, stored.id)
        events += reference_events.events_of(
            decision, None, references, of_sources, 0, service, now
        )
    return [event for event in events if event.change in _OF_SAVED]
