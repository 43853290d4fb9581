"""Changes of a reference that a record reports: retracted, corrected, published, a new version."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime, timedelta

from msgspec import structs

from monitor.identity.keys import LINK, group_by_scheme, identifiers
from monitor.identity.notices import effect_of, notice
from monitor.identity.same_work import same_work
from monitor.identity.venues import Kind, has_name, venue
from monitor.identity.withdrawals import NO_STANDING, Standing, basis
from monitor.model import (
    COMMENT,
    NOTICE_TYPES,
    Candidate,
    ChangeKind,
    Decision,
    IncomingPaper,
    NoticeText,
    Paper,
    ReferenceChange,
    ReferenceEvent,
    Sighting,
)
from monitor.text import title_key
from monitor.text.registrants import may_be_draft

_OF_NOTICES = {each.mark: each.reference_change for each in NOTICE_TYPES if each.reference_change}
Pair = tuple[str, str]
_NAMES = {"arxiv": "arXiv {}", "doi": "doi:{}", "pmid": "PubMed {}", "openreview": "OpenReview {}"}


# Corrections from so long before a library had its reference are no news, as is what an upgrade
# finds that was read so long before it.
OLD_CORRECTION = timedelta(days=90)
OLD_AT_UPGRADE = timedelta(days=7)
# The part of the text of a notice that is stored; digests quote its first sentences.
MAX_NOTICE_TEXT = 1_000
# The abstract of a withdrawn preprint is its notice if it begins like this.
_SAYS_WITHDRAWN = re.compile(
    r"(?:authors?|paper|article|manuscript|preprint|submission)\b[^.]{0,60}?"
    r"\b(?:withdrawn|withdrew|withdraw|retracted)\b",
    re.IGNORECASE,
)
_GRAVE = frozenset(each.reference_change for each in NOTICE_TYPES if each.is_grave)


def looked_up(
    keyed: IncomingPaper, before: Candidate | None, earlier: IncomingPaper | None
) -> list[IncomingPaper]:
    """Return the records to look up references by: a record, and its paper as it was before.

    That is stored, or an `earlier` record of the same reading.

    A notice is about other works (`named_works`), and a comment reports nothing. A report of a
    retraction is looked up as its source gave it.
    """
    if keyed.reports:
        return [keyed.reports]
    if effect_of(keyed) or is_about_another(keyed.paper):
        return []
    stored = [as_record(before.stored.paper, before.keys)] if before else []
    return [keyed, *stored, *([earlier] if earlier else [])]


def named_works(about: Iterable[Pair]) -> IncomingPaper:
    """Return the works that a notice names, as one record to look up references by.

    A reference with such an identifier has the news, whatever its title: that may be a slip.
    """
    return IncomingPaper(Paper(""), tuple(about), title_key="", raw_id="", fingerprint="")


def is_certain(event: ReferenceEvent) -> bool:
    """Whether an event asserts its change, which others may only report or suppose."""
    return event.change is not ReferenceChange.REPORTED and not event.perhaps


def is_of_notice(event: ReferenceEvent) -> bool:
    """Whether an event is of a kind that notices report."""
    return event.change in _OF_NOTICES.values()


def is_about_another(paper: Paper) -> bool:
    """Whether a record is a notice or a comment, which may have the title of its paper."""
    return bool(notice(paper)) or paper.type == COMMENT


def as_record(paper: Paper, keys: Collection[tuple[str, str]] | None = None) -> IncomingPaper:
    """Return a stored paper with identifiers and title, but without blocks."""
    own = tuple(pair for pair in keys or identifiers(paper) if pair[0] != LINK)
    return IncomingPaper(paper, own, title_key(paper.title), raw_id="", fingerprint="")


def group_by_work(found: Iterable[Mapping[int, Paper]]) -> list[dict[int, Paper]]:
    """Return references, by id, in groups that are each one work.

    Those that were found by one record are, and those that share an identifier.
    """
    works: list[tuple[set[object], dict[int, Paper]]] = []
    for references in found:
        names: set[object] = set(references)
        for paper in references.values():
            names |= {pair for pair in identifiers(paper) if pair[0] != LINK}
        work = dict(references)
        for other in [other for other in works if not names.isdisjoint(other[0])]:
            works.remove(other)
            names |= other[0]
            work = other[1] | work
        works.append((names, work))
    return [work for _, work in works if work]


def reported_by_notice(
    record: IncomingPaper, references: Sequence[Paper], id: int, source: str, now: datetime
) -> ReferenceEvent:
    """Return the change that a notice reports of one work, which libraries have as `references`.

    `id` is that of the stored paper of the notice, 0 without one.
    """
    own = f"paper:{id}" if id else f"record:{record.raw_id}"
    identity = (own, *_names_in(record.keys))
    change = _OF_NOTICES[notice(record.paper)]
    if change is ReferenceChange.RETRACTED:
        identity = ("", *identity)
    event = _event(record.paper, references, source, now)
    after = _name(record) or record.paper.title
    return structs.replace(
        event,
        change=change,
        identity=identity,
        after=after,
        venue=record.paper.venue,
        doi=_doi(record.keys),
        text=_notice_text(record.paper, source),
    )


def reported_by_record(
    record: IncomingPaper,
    references: Sequence[Paper],
    source: str,
    now: datetime,
    *,
    marks: bool = False,
    standing: Standing = NO_STANDING,
) -> ReferenceEvent:
    """Return what a withdrawn record reports: a retraction if it `marks` its paper or a reference.

    Otherwise its source only says that there was one.
    """
    marks = marks or any(basis(record, p, identifiers(p), standing) for p in references)
    return structs.replace(
        _event(record.paper, references, source, now),
        change=ReferenceChange.RETRACTED if marks else ReferenceChange.REPORTED,
        identity=("", _mark_of(source, record.raw_id)),
        before=_preprint_name(record),
        title_after=_other_title(record.paper, references),
        text=_withdrawal_text(record.paper, source),
    )


def _event(paper: Paper, references: Sequence[Paper], source: str, now: datetime) -> ReferenceEvent:
    # Entries with one identifier may be of several works: the one that the record names is first.
    key = title_key(paper.title)
    work = work_of(sorted(references, key=lambda p: title_key(p.title) not in key))
    retracted = ReferenceChange.RETRACTED
    dated = _day(paper)
    return ReferenceEvent(retracted, work, ("",), now, source, url=paper.url, dated=dated)


def with_identifiers_of(event: ReferenceEvent, stored: Iterable[Paper]) -> ReferenceEvent:
    """Return an event with all identifiers of stored papers that share one with its work.

    Libraries may have the work under any of them.
    """
    own = {pair for pair in identifiers(event.work) if pair[0] != LINK}
    works = [paper for paper in stored if not own.isdisjoint(identifiers(paper))]
    return structs.replace(event, work=work_of([event.work, *works]))


def is_news_since(change: ReferenceChange, at: datetime, since: datetime | None) -> bool:
    """Whether a change of a time is news of a reference that its library has `since` then."""
    return change in _GRAVE or since is None or at >= since - OLD_CORRECTION


def is_reported_late(
    record: Paper, read: datetime, now: datetime, *, only_recent: bool = False
) -> bool:
    """Whether a notice that was `read` before its paper, or its reference, is reported now.

    After an upgrade `only_recent` ones are.
    """
    if only_recent and read < now - OLD_AT_UPGRADE:
        return False
    dates = [at for at in (record.announced, record.published) if at]
    return is_news_since(_OF_NOTICES[notice(record)], max(dates, default=read), now)


def withdrawn_without_notice(
    work: Paper, references: Sequence[Paper], seen: Sequence[Sighting], now: datetime
) -> ReferenceEvent:
    """Return the change of references whose stored paper is withdrawn, as its records say."""
    record = as_record(work)
    event = _event(work, references, seen[0].source if seen else "", now)
    marks = (_mark_of(sighting.source, sighting.raw_id) for sighting in seen)
    return structs.replace(
        event,
        identity=("", *marks),
        before=_preprint_name(record),
        text=_withdrawal_text(work, event.source),
    )


def _notice_text(notice: Paper, source: str) -> NoticeText | None:
    """Return the reasons that a site lists for a notice, else what the notice says."""
    note = notice.site_note
    if note and note.reasons:
        listed = f"{'; '.join(note.reasons)[:MAX_NOTICE_TEXT]}."
        return NoticeText(listed, note.site, is_reasons=True)
    text = notice.abstract[:MAX_NOTICE_TEXT].strip()
    return NoticeText(text, source) if text else None


def _withdrawal_text(paper: Paper, source: str) -> NoticeText | None:
    """Return the abstract of a withdrawn record if its first sentences say that it is withdrawn."""
    is_notice = _SAYS_WITHDRAWN.search(paper.abstract[:200])
    return _notice_text(paper, source) if is_notice else None


def events_of(
    decision: Decision,
    before: Candidate | None,
    references: Sequence[Paper],
    records: Sequence[Paper],
    id: int,
    source: str,
    now: datetime,
    standing: Standing = NO_STANDING,
) -> Iterator[ReferenceEvent]:
    """Yield the changes that a record, no notice, reports of a work, which is in `references`.

    `records` are all of its stored paper, whose id is `id`. A first reading that announces nothing
    reports only that it is withdrawn.
    """
    keyed = decision.keyed
    paper = decision.keyed.paper
    event = _event(paper, references, source, now)
    if keyed.reports or (paper.withdrawn and not keyed.retracted):
        is_joined = decision.paper_id is not None or decision.earlier_in_chunk is not None
        yield reported_by_record(
            keyed.reports or keyed,
            references,
            source,
            now,
            marks=is_joined and not keyed.reports,
            standing=standing,
        )
        return
    if paper.withdrawn:
        yield structs.replace(
            event,
            identity=("",),
            before=_preprint_name(keyed),
            text=_withdrawal_text(paper, source),
        )
        return
    if not decision.news:
        return
    version = _new_version(keyed, before, references)
    if version:
        after, known = version
        earlier = before.stored.paper if before else references[0]
        changed = title_key(paper.title) != title_key(earlier.title)
        yield structs.replace(
            event,
            change=ReferenceChange.NEW_VERSION,
            identity=(str(after),),
            before=str(known or ""),
            after=str(after),
            title_after=paper.title if changed else "",
        )
    preprints = [reference for reference in references if is_preprint(reference)]
    if preprints and (publication := _publication(keyed)):
        published_in, doi = publication
        certain = [p for p in preprints if _leads_to(keyed, records, p)]
        preprint = next(iter(certain or preprints))
        # A record with the identifier of the preprint may be dated by it.
        has_own_date = paper.type == "journal article" or not _is_on_server(keyed)
        own = f"paper:{id}" if id else f"record:{keyed.raw_id}"
        yield structs.replace(
            event,
            change=ReferenceChange.PUBLISHED,
            identity=("",) if certain else (own, *_names_in(keyed.keys)),
            before=_preprint_name(as_record(preprint)),
            after=", ".join(
                filter(None, (published_in and f"in {published_in}", doi and f"doi:{doi}"))
            ),
            dated=event.dated if has_own_date else "",
            title_after="" if certain else paper.title,
            perhaps=not certain,
            venue=published_in,
            doi=doi,
        )


def _leads_to(keyed: IncomingPaper, records: Sequence[Paper], preprint: Paper) -> bool:
    """Whether a record is certainly of what a preprint became.

    Either identifiers lead there, also by way of other `records`, or it is the same work by its
    texts, under the same title. Records that were joined by likeness prove nothing.
    """
    own = {pair for pair in identifiers(preprint) if pair[0] != LINK}
    if not own.isdisjoint(_proven(keyed, records)):
        return True
    named = (record for record in records if not own.isdisjoint(identifiers(record)))
    return any(
        title_key(text.title) == keyed.title_key and same_work(keyed.paper, text).same
        for text in (preprint, *named)
    )


def _proven(keyed: IncomingPaper, records: Iterable[Paper]) -> set[Pair]:
    """Return the identifiers of a record, and those that they lead to by way of others."""
    proven = {*keyed.own_keys}
    left = [{pair for pair in identifiers(record) if pair[0] != LINK} for record in records]
    while joined := [pairs for pairs in left if not pairs.isdisjoint(proven)]:
        left = [pairs for pairs in left if pairs.isdisjoint(proven)]
        proven.update(*joined)
    return proven


def _other_title(paper: Paper, references: Sequence[Paper]) -> str:
    """Return the title of a record if no reference has it: the identifier may be a slip."""
    titles = {title_key(reference.title) for reference in references}
    return "" if title_key(paper.title) in titles else paper.title


def join(stored: ReferenceEvent, event: ReferenceEvent) -> ReferenceEvent:
    """Return a stored event with another report of it, and with all names of its work."""
    own = {*event.identity} - {""}
    uncertain = [
        one for one in (*stored.others, *event.others) if is_certain(one) is not is_certain(event)
    ]
    reports = [
        _with_names_and_text(report, event) if not own.isdisjoint(report.identity) else report
        for report in (structs.replace(stored, others=()), *stored.others)
        if report.identity != ("",) and report not in uncertain
    ]
    if own.difference(*(report.identity for report in reports)):
        reports.append(structs.replace(event, others=()))
    # A report that names a notice says more than that a work is withdrawn.
    first, *others = sorted(reports, key=lambda report: not report.after) or [stored]
    work = work_of((stored.work, event.work))
    joined = structs.replace(first, id=stored.id, work=work, others=tuple(others))
    return with_uncertain(joined, uncertain)


def _with_names_and_text(report: ReferenceEvent, event: ReferenceEvent) -> ReferenceEvent:
    """Return a report of a notice with what another report of the same notice adds."""
    return structs.replace(
        report,
        identity=tuple(dict.fromkeys((*report.identity, *event.identity))),
        dated=report.dated or event.dated,
        venue=report.venue or event.venue,
        doi=report.doi or event.doi,
        text=_better_text(report.text, event.text),
    )


def _better_text(one: NoticeText | None, other: NoticeText | None) -> NoticeText | None:
    """Return which of two texts says more of a notice: reasons that a source lists, then any."""
    if one is None or (other is not None and other.is_reasons and not one.is_reasons):
        return other
    return one


def as_told(event: ReferenceEvent) -> ReferenceEvent:
    """Return an event without the other reports of it, with the best text of all."""
    text = event.text
    for other in event.others:
        if other.change is event.change:
            text = _better_text(text, other.text)
    return structs.replace(event, text=text, others=())


def with_uncertain(event: ReferenceEvent, others: Iterable[ReferenceEvent]) -> ReferenceEvent:
    """Return a certain event with uncertain ones of the same: they count once it is withdrawn."""
    reports = [event, *event.others]
    for one in (report for other in others for report in (other, *other.others)):
        if all(({*one.identity} - {""}).isdisjoint(report.identity) for report in reports):
            reports.append(structs.replace(one, others=()))
    return structs.replace(event, others=tuple(reports[1:]))


def without(event: ReferenceEvent, names: Set[str]) -> ReferenceEvent | None:
    """Return an event without the reports that are withdrawn, None if no other is left."""
    left = [report for report in (event, *event.others) if names.isdisjoint(report.identity)]
    if not left:
        return None
    return structs.replace(left[0], id=event.id, work=event.work, others=tuple(left[1:]))


def withdrawn_by(keyed: IncomingPaper, source: str) -> list[str]:
    """Return what a record withdraws, as `identity` has it: notices, or that it was retracted."""
    if keyed.reports:
        return []
    effect = effect_of(keyed)
    if effect is None:
        is_marked = keyed.paper.withdrawn and not keyed.retracted
        return [] if is_marked else [_mark_of(source, keyed.raw_id)]
    if keyed.paper.withdrawn:
        return _names_in(keyed.keys)
    return _names_in(keyed.about) if effect is ChangeKind.WITHDRAWN else []


def _mark_of(source: str, raw_id: str) -> str:
    return f"mark:{source}:{raw_id}"


def _names_in(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{scheme}:{value}" for scheme, value in pairs if scheme != LINK]


def concerns(event: ReferenceEvent, reference: Paper) -> bool:
    """Whether an event is news of a reference as its library has it now."""
    if event.change is ReferenceChange.PUBLISHED:
        return is_preprint(reference)
    if event.change is ReferenceChange.NEW_VERSION:
        return (reference.version or 0) < int(event.after)
    return True


def work_of(references: Sequence[Paper]) -> Paper:
    """Return the first of some records of a work, without its text, with the identifiers of all."""
    pairs = dict.fromkeys(pair for paper in references for pair in identifiers(paper))
    keys = group_by_scheme(pair for pair in pairs if pair[0] != LINK)
    first = references[0]
    return Paper(
        first.title,
        authors=first.authors,
        venue=first.venue,
        year=first.year,
        url=first.url,
        keys=keys,
    )


def is_preprint(paper: Paper) -> bool:
    """Whether a reference is a preprint, and says of no publication of it."""
    place = venue(paper.venue)
    pairs = identifiers(paper)
    if place.kind is not Kind.PREPRINT and has_name(place) and paper.type != "preprint":
        return False
    if any(scheme == "doi" and not may_be_draft(value) for scheme, value in pairs):
        return False
    return (
        _is_on_server(as_record(paper)) or place.kind is Kind.PREPRINT or paper.type == "preprint"
    )


def _is_on_server(record: IncomingPaper) -> bool:
    """Whether a record has an identifier of a preprint."""
    return any(s == "arxiv" or (s == "doi" and may_be_draft(v)) for s, v in record.keys)


def _publication(keyed: IncomingPaper) -> tuple[str, str] | None:
    """Return the venue and DOI of a version of record, None for what is none.

    Without a DOI it is one that names a journal or conference.
    """
    paper = keyed.paper
    place = venue(keyed.paper.venue)
    doi = _doi(pair for pair in keyed.keys if not may_be_draft(pair[1]))
    printed = place.kind in (Kind.JOURNAL, Kind.CONFERENCE) and not place.cut
    if not (doi or printed or (paper.type == "journal article" and has_name(place))):
        return None
    return "" if place.kind is Kind.PREPRINT else paper.venue, doi


def _doi(pairs: Iterable[Pair]) -> str:
    return next((value for scheme, value in pairs if scheme == "doi"), "")


def _new_version(
    keyed: IncomingPaper, before: Candidate | None, references: Sequence[Paper]
) -> tuple[int, int] | None:
    """Return the version of a record and the last one known, 0 for none; None if it is not newer.

    Versions compare only where an identifier is shared: another server counts its own.
    """
    version = keyed.paper.version or 0
    own = {pair for pair in keyed.keys if pair[0] != LINK}
    shared = [p for p in references if not own.isdisjoint(identifiers(p))]
    known = [p.version or 0 for p in shared if (p.version or 0) < version]
    if before and not own.isdisjoint(before.keys):
        known += [before.stored.paper.version or 0]
        known += [sighting.version or 0 for sighting in before.sightings]
    last = max(known, default=None)
    if last is None or version <= last:
        return None
    is_replacement = version >= 2 and keyed.paper.announce.startswith("replace")
    return (version, last) if last or is_replacement else None


def _preprint_name(keyed: IncomingPaper) -> str:
    """Return the name of a record of a preprint, "" for others."""
    return _name(keyed) if is_preprint(keyed.paper) else ""


def _name(keyed: IncomingPaper) -> str:
    """Return the best identifier of a record, as people write it."""
    by_scheme = dict(reversed(keyed.keys))
    return next((name.format(by_scheme[s]) for s, name in _NAMES.items() if s in by_scheme), "")


def _day(paper: Paper) -> str:
    """Return the date of a record in ISO 8601, as exactly as it is known."""
    if at := paper.day:
        return f"{at:%Y-%m-%d}"
    return f"{paper.month:%Y-%m}" if paper.month else str(paper.year or "")
