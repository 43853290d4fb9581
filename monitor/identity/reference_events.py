"""Changes of a reference that a record reports: retracted, corrected, published, a new version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import datetime

from msgspec import structs

from monitor.identity.keys import LINK, group_by_scheme, identifiers
from monitor.identity.notices import effect_of, notice
from monitor.identity.venues import Kind, has_name, venue
from monitor.model import (
    COMMENT,
    CONCERN,
    CORRECTION,
    RETRACTION,
    Candidate,
    ChangeKind,
    Decision,
    IncomingPaper,
    Paper,
    ReferenceChange,
    ReferenceEvent,
    StoredPaper,
)
from monitor.text import title_key
from monitor.text.registrants import may_be_draft

_NOTICES = {
    RETRACTION: ReferenceChange.RETRACTED,
    CONCERN: ReferenceChange.CONCERN,
    CORRECTION: ReferenceChange.CORRECTED,
}
_NAMES = {"arxiv": "arXiv {}", "doi": "doi:{}", "pmid": "PubMed {}", "openreview": "OpenReview {}"}


def looked_up(
    keyed: IncomingPaper, before: Candidate | None, subjects: Iterable[StoredPaper]
) -> list[IncomingPaper]:
    """Return the records to look up references by: a record, and the stored paper `before` it.

    For a notice these are the identifiers that it is about, and the stored papers with them. A
    notice that is itself withdrawn reports nothing, nor does a comment.
    """
    if effect_of(keyed):
        if keyed.paper.withdrawn:
            return []
        named = IncomingPaper(Paper(""), keyed.about, title_key="", raw_id="", fingerprint="")
        works = (subject.paper for subject in subjects)
        return [named, *(_stored(work) for work in works if not _is_about_another(work))]
    if _is_about_another(keyed.paper):
        return []
    return [keyed, *([_stored(before.stored.paper, before.keys)] if before else [])]


def _is_about_another(paper: Paper) -> bool:
    """Whether a record is a notice or a comment, which may have the title of its paper."""
    return bool(notice(paper)) or paper.type == COMMENT


def _stored(paper: Paper, keys: Sequence[tuple[str, str]] | None = None) -> IncomingPaper:
    """Return a stored paper with identifiers and title, but without blocks."""
    own = tuple(pair for pair in keys or identifiers(paper) if pair[0] != LINK)
    return IncomingPaper(paper, own, title_key(paper.title), raw_id="", fingerprint="")


def events_of(
    decision: Decision,
    before: Candidate | None,
    references: Sequence[Paper],
    id: int,
    source: str,
    now: datetime,
) -> Iterator[ReferenceEvent]:
    """Yield the changes that a record reports of a work that libraries have as `references`.

    `id` is that of the stored paper of the record, 0 without one. A first reading that announces
    nothing reports only retractions, concerns and corrections.
    """
    keyed, paper = decision.keyed, decision.keyed.paper
    # Entries with one identifier may be of several works: the one that a notice names is first.
    references = sorted(references, key=lambda p: title_key(p.title) not in keyed.title_key)
    event = ReferenceEvent(
        ReferenceChange.RETRACTED,
        work_of(references),
        ("",),
        now,
        source,
        url=paper.url,
        dated=_day(paper),
    )
    if effect_of(keyed):
        own = f"paper:{id}" if id else f"record:{keyed.raw_id}"
        identity = (own, *_names_in(keyed.keys))
        name = _name(keyed) or paper.title
        change = _NOTICES[notice(paper)]
        if change is ReferenceChange.RETRACTED:
            identity = ("", *identity)
        yield structs.replace(event, change=change, identity=identity, after=name)
        return
    if paper.withdrawn:
        identity = ("",) if keyed.retracted else ("", _mark(keyed, source))
        yield structs.replace(event, identity=identity, before=_preprint_name(keyed))
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
    if publication := _publication(keyed):
        preprint = next((p for p in references if is_preprint(p)), None)
        if preprint:
            # A record with the identifier of the preprint may be dated by it.
            has_own_date = paper.type == "journal article" or not _is_on_server(keyed)
            yield structs.replace(
                event,
                change=ReferenceChange.PUBLISHED,
                before=_preprint_name(_stored(preprint)),
                after=publication,
                dated=event.dated if has_own_date else "",
            )


def join(stored: ReferenceEvent, event: ReferenceEvent) -> ReferenceEvent:
    """Return a stored event with another report of it, and with all names of its work."""
    own = {*event.identity} - {""}
    reports = [
        structs.replace(report, identity=tuple(dict.fromkeys((*report.identity, *event.identity))))
        if not own.isdisjoint(report.identity)
        else report
        for report in (stored, *stored.others)
        if report.identity != ("",)
    ]
    if own.difference(*(report.identity for report in reports)):
        reports.append(event)
    first, *others = reports or [stored]
    work = work_of((stored.work, event.work))
    return structs.replace(first, id=stored.id, work=work, others=tuple(others))


def without(event: ReferenceEvent, names: Set[str]) -> ReferenceEvent | None:
    """Return an event without the reports that are withdrawn, None if no other is left."""
    left = [report for report in (event, *event.others) if names.isdisjoint(report.identity)]
    if not left:
        return None
    return structs.replace(left[0], id=event.id, work=event.work, others=tuple(left[1:]))


def withdrawn_by(keyed: IncomingPaper, source: str) -> list[str]:
    """Return what a record withdraws, as `identity` has it: notices, or that it was retracted."""
    effect = effect_of(keyed)
    if effect is None:
        is_marked = keyed.paper.withdrawn and not keyed.retracted
        return [] if is_marked else [_mark(keyed, source)]
    if keyed.paper.withdrawn:
        return _names_in(keyed.keys)
    return _names_in(keyed.about) if effect is ChangeKind.WITHDRAWN else []


def _mark(keyed: IncomingPaper, source: str) -> str:
    return f"mark:{source}:{keyed.raw_id}"


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
    place, pairs = venue(paper.venue), identifiers(paper)
    if place.kind is not Kind.PREPRINT and has_name(place) and paper.type != "preprint":
        return False
    if any(scheme == "doi" and not may_be_draft(value) for scheme, value in pairs):
        return False
    return _is_on_server(_stored(paper)) or place.kind is Kind.PREPRINT or paper.type == "preprint"


def _is_on_server(record: IncomingPaper) -> bool:
    """Whether a record has an identifier of a preprint."""
    return any(s == "arxiv" or (s == "doi" and may_be_draft(v)) for s, v in record.keys)


def _publication(keyed: IncomingPaper) -> str:
    """Return the venue and DOI of a version of record, "" for what is none.

    Without a DOI it is one that names a journal or conference.
    """
    paper, place = keyed.paper, venue(keyed.paper.venue)
    dois = (v for scheme, v in keyed.keys if scheme == "doi" and not may_be_draft(v))
    doi = next(dois, "")
    printed = place.kind in (Kind.JOURNAL, Kind.CONFERENCE) and not place.cut
    if not (doi or printed or (paper.type == "journal article" and has_name(place))):
        return ""
    where = "" if place.kind is Kind.PREPRINT or not paper.venue else f"in {paper.venue}"
    return ", ".join(filter(None, [where, f"doi:{doi}" if doi else ""]))


def _new_version(
    keyed: IncomingPaper, before: Candidate | None, references: Sequence[Paper]
) -> tuple[int, int] | None:
    """Return the version of a record and the last one known, 0 for none; None if it is not newer.

    Versions compare only where an identifier is shared: another server counts its own.
    """
    version, own = keyed.paper.version or 0, {pair for pair in keyed.keys if pair[0] != LINK}
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
    """Return the date of a record, as exactly as it is known."""
    if at := paper.day:
        return f"{at.day} {at:%B %Y}"
    return f"{paper.month:%B %Y}" if paper.month else str(paper.year or "")
