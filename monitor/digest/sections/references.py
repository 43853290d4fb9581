"""Changes of the readers' own papers, in the words of a digest."""

from __future__ import annotations

import re
from calendar import month_name
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from msgspec import structs

from monitor.digest.links import Link, page_url, title_link, web_url
from monitor.digest.paper_json import Answer, paper_fields, pick
from monitor.digest.sections.kind import SectionKind
from monitor.digest.sentence_value import sentences
from monitor.digest.shown import readable_title, to_readable_text
from monitor.digest.wording import format_count, shorten_text
from monitor.model import (
    Digest,
    LibraryEntry,
    NoticeText,
    Paper,
    ReferenceChange,
    ReferenceEvent,
    SourceLabel,
)
from monitor.model.paper_fields import IN_PAPERS
from monitor.text import title_lengths

_OF_CHANGE = "source at dated before after title_after url"
# More than these wait for the next digest.
MOST_EVENTS = 20
HEADING = "Your references"
HEADING_OF_SAVED = "Papers you saved"
# By whether a reader saved the paper.
_WHOSE = {False: "in your references", True: "that you saved or rated"}
_NAMED_CHANGES = 2
_LONGEST_DETAIL = 200
_LONGEST_KEY = 60
_LONGEST_QUOTE = 400
_MOST_ENTRIES = 3
IMPORTANCE = {change: place for place, change in enumerate(ReferenceChange)}
_IN_SHORT = {
    ReferenceChange.CONCERN: "of concern",
    ReferenceChange.NEW_VERSION: "with a new version",
}
_ISO_DATE = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?")


@dataclass(frozen=True, slots=True)
class _Letter:
    """The words of a kind of change: what happened to a paper, to several, and what to do.

    `{whose}` are the words for the papers: one of `_WHOSE`.
    """

    one: str
    several: str
    advice: str


# A retraction without a notice is a withdrawal by the authors or their server.
_WITHDRAWN = _Letter(
    "A paper {whose} was withdrawn",
    "papers {whose} were withdrawn",
    "Read on the page of the paper why it was withdrawn, and whether a new version replaces it. "
    "Cite a withdrawn version only where you say that it is withdrawn.",
)
_PERHAPS = _Letter(
    "A preprint {whose} is perhaps published",
    "preprints {whose} are perhaps published",
    "Compare the authors and the abstract first: it may be another paper.",
)
_LETTERS: Mapping[ReferenceChange, _Letter] = {
    ReferenceChange.RETRACTED: _Letter(
        "A paper {whose} was retracted",
        "papers {whose} were retracted",
        "Read the notice before you use any result of a retracted paper. Where you cite it, take "
        "the citation out, or say that it is retracted and cite the notice, too.",
    ),
    ReferenceChange.MISTAKEN: _Letter(
        "A paper was reported as withdrawn by mistake",
        "papers were reported as withdrawn by mistake",
        "You can use and cite it as before.",
    ),
    ReferenceChange.REPORTED: _Letter(
        "A paper {whose} is reported as retracted",
        "papers {whose} are reported as retracted",
        "Look at the page of its publisher before you change anything: no source that keeps the "
        "record of papers has confirmed it.",
    ),
    ReferenceChange.CONCERN: _Letter(
        "There is a concern about a paper {whose}",
        "papers {whose} have an expression of concern",
        "Read the notice. Nothing is decided yet: where you rely on the paper, say that there is a "
        "concern. A retraction or correction will be reported here, too.",
    ),
    ReferenceChange.CORRECTED: _Letter(
        "A paper {whose} was corrected",
        "papers {whose} were corrected",
        "Read what was corrected, and check the numbers, figures and names that you took from it.",
    ),
    ReferenceChange.PUBLISHED: _Letter(
        "A preprint {whose} is now published",
        "preprints {whose} are now published",
        "Cite the published version, and check what you took from the preprint against it.",
    ),
    ReferenceChange.NEW_VERSION: _Letter(
        "A preprint {whose} has a new version",
        "preprints {whose} have new versions",
        "Check that what you took from it is still in the new version.",
    ),
}


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Events of one kind, with a heading and what to do about them."""

    heading: str
    events: tuple[ReferenceEvent, ...]
    advice: str


@dataclass(frozen=True, slots=True)
class EventFacts:
    """The texts of a digest about one event: "" or None where nothing is known.

    `linked` introduces the link, and `quoted` the `quote`.
    """

    happened: str
    linked: str
    notice: Link | None
    quoted: str
    quote: str
    entries: str


def show_events(
    events: Iterable[ReferenceEvent],
    labels: Mapping[str, SourceLabel],
    services: Mapping[str, SourceLabel] = {},
) -> tuple[ReferenceEvent, ...]:
    """Return events as digests list them, the most important first, at most `MOST_EVENTS`.

    `services` are the names of those that are asked about papers that readers saved.
    """
    ordered = sorted(events, key=lambda event: (IMPORTANCE[event.change], event.id))
    return tuple(
        show_event(event, services if event.reader else labels) for event in ordered[:MOST_EVENTS]
    )


def hide_others(digest: Digest, who: str) -> Digest:
    """Return a digest as a person may see it: without what is for other readers alone."""
    own = tuple(event for event in digest.references if event.is_for(who))
    return digest if own == digest.references else replace(digest, references=own)


def show_event(event: ReferenceEvent, labels: Mapping[str, SourceLabel]) -> ReferenceEvent:
    """Return an event with readable texts, links that lead somewhere, and titles of sources."""
    label = labels.get(event.source)
    title = shorten_text(readable_title(event.work.title), title_lengths.IN_LIST)
    title_after = shorten_text(readable_title(event.title_after), title_lengths.IN_LIST)
    of_notice = dict(name.split(":", 1) for name in event.identity if ":" in name)
    return structs.replace(
        event,
        work=structs.replace(event.work, title=title),
        source=(label and label.title) or event.source,
        before=shorten_text(event.before, _LONGEST_DETAIL),
        after=shorten_text(event.after, _LONGEST_DETAIL),
        url=page_url(Paper("", url=event.url, keys=of_notice)),
        title_after=title_after,
        venue=shorten_text(readable_title(event.venue), _LONGEST_DETAIL),
        doi=event.doi if len(event.doi) <= _LONGEST_DETAIL else "",
        text=_quote(event.text, labels) if event.text else None,
        entries=tuple(
            LibraryEntry(
                (label and label.title) or entry.library,
                shorten_text(entry.file, _LONGEST_KEY),
                shorten_text(entry.key, _LONGEST_KEY),
            )
            for entry in event.entries
            for label in (labels.get(entry.library),)
        ),
    )


def _quote(text: NoticeText, labels: Mapping[str, SourceLabel]) -> NoticeText:
    """Return the first whole sentences of a notice, at least a part of the first one."""
    readable = to_readable_text(text.text)
    end = 0
    for _, after in sentences(readable):
        if end and after > _LONGEST_QUOTE:
            break
        end = after
    label = labels.get(text.source)
    quote = shorten_text(readable[:end], _LONGEST_QUOTE)
    return NoticeText(quote, (label and label.title) or text.source, text.is_reasons)


def describe_event(event: ReferenceEvent) -> str:
    """`Published: arXiv 2401.00001 is now in Nature, doi:10.1038/x, 3 March 2026.`"""
    match event.change:
        case ReferenceChange.RETRACTED if not event.after:
            text = f"Withdrawn: {event.before}." if event.before else "Retracted."
            return f"{text}{_other_title(event)}"
        case ReferenceChange.REPORTED:
            return f"{event.source} reports a retraction.{_other_title(event)}"
        case ReferenceChange.MISTAKEN:
            return f"Withdrawn by mistake: {event.source}’s notice was about something else."
        case ReferenceChange.PUBLISHED if event.perhaps:
            dated = _date(event.dated)
            parts = [f"Perhaps published as “{event.title_after}”", event.after, dated]
            return f"{', '.join(filter(None, parts))}."
        case ReferenceChange.PUBLISHED:
            text = f"Published: {event.before or 'it'} is now {event.after}"
            return f"{text}, {_date(event.dated)}." if event.dated else f"{text}."
        case ReferenceChange.NEW_VERSION:
            text = f"New version: {event.after}"
            text += f" after {event.before}." if event.before else "."
            return f"{text} It is now called “{event.title_after}”." if event.title_after else text
    dated = f", {_date(event.dated)}" if event.dated else ""
    return f"{event.change.capitalize()}: notice {event.after}{dated}."


def group_events(digest: Digest) -> list[EventGroup]:
    """Return the events of a digest by kind, in their order."""
    by_letter = defaultdict[tuple[_Letter, bool], list[ReferenceEvent]](list)
    for event in digest.references:
        by_letter[_letter(event), bool(event.reader)].append(event)
    return [
        EventGroup(
            (letter.one if len(events) == 1 else f"{len(events)} {letter.several}").format(
                whose=_WHOSE[is_saved]
            ),
            tuple(events),
            letter.advice,
        )
        for (letter, is_saved), events in by_letter.items()
    ]


def _letter(event: ReferenceEvent) -> _Letter:
    if event.change is ReferenceChange.RETRACTED and event.before and not event.after:
        return _WITHDRAWN
    return _PERHAPS if event.perhaps else _LETTERS[event.change]


def event_facts(event: ReferenceEvent) -> EventFacts:
    """Return what a digest says of an event: who changed what and when, in which entry."""
    text = event.text
    quoted = "The notice says"
    if text and text.is_reasons:
        quoted = f"Reasons according to {text.source}"
    elif text and not event.after:
        quoted = "Its record says"
    return EventFacts(
        happened=_happened(event),
        linked="Cite as" if event.change is ReferenceChange.PUBLISHED else "Notice",
        notice=_notice(event),
        quoted=quoted if text else "",
        quote=text.text if text else "",
        entries=_entries(event.entries),
    )


def _happened(event: ReferenceEvent) -> str:
    """`Retracted by Journal of Sand on 3 March 2026.`

    Events of older digests have no venue, and are described as they were then.
    """
    venue = event.venue
    when = _when(event.dated)
    match event.change:
        case ReferenceChange.RETRACTED if event.after:
            return f"Retracted{f' by {venue}' if venue else ''}{when}.{_other_title(event)}"
        case ReferenceChange.CONCERN:
            return f"Expression of concern{f' in {venue}' if venue else ''}{when}."
        case ReferenceChange.CORRECTED:
            return f"Corrected{f' in {venue}' if venue else ''}{when}."
        case ReferenceChange.PUBLISHED if not event.perhaps and (venue or event.doi):
            place = f" in {venue}" if venue else ""
            return f"{event.before or 'It'} is now published{place}{when}."
        case ReferenceChange.NEW_VERSION if event.before:
            text = f"Version {event.after} replaces version {event.before}."
            after = event.title_after
            return f"{text} It is now called “{after}”." if after else text
    return describe_event(event)


def _notice(event: ReferenceEvent) -> Link | None:
    """Return the notice of an event, or the published version."""
    if event.change is ReferenceChange.PUBLISHED:
        return _doi_link(event.doi) if event.doi else None
    if event.change is ReferenceChange.NEW_VERSION or not event.after:
        return None
    return Link(event.after, web_url(event.url))


def notice_link(event: ReferenceEvent) -> Link | None:
    """Return the notice of an event, the published version, or the record that reports it."""
    if (link := _notice(event)) or not event.url:
        return link
    name = event.after if event.change is ReferenceChange.PUBLISHED else "record"
    return Link(name, web_url(event.url))


def event_since(event: ReferenceEvent) -> str:
    """Return the day, month or year of a change in ISO 8601.

    Without that of a notice or publication, and in events of older versions, it is the day on which
    the change was read.
    """
    is_dated = event.after and event.change is not ReferenceChange.NEW_VERSION
    if is_dated and (_ISO_DATE.fullmatch(event.dated) or event.dated.isdecimal()):
        return event.dated
    return f"{event.at:%Y-%m-%d}"


def _doi_link(doi: str) -> Link:
    return Link(f"doi:{doi}", page_url(Paper("", keys={"doi": doi})))


def _entries(entries: Iterable[LibraryEntry]) -> str:
    """`entry sand2024 of references.bib`: the entries that are the paper, the first three."""
    named = [
        f"entry {entry.key} of {place}" if entry.key else place
        for entry in entries
        for place in (entry.file or entry.library,)
    ]
    more = len(named) - _MOST_ENTRIES
    return ", ".join([*named[:_MOST_ENTRIES], *([f"{more} more"] if more > 0 else [])])


def _date(dated: str) -> str:
    """Return a date of ISO 8601 as `3 March 2026`, and that of an older digest unchanged."""
    match = _ISO_DATE.fullmatch(dated)
    if not match:
        return dated
    year, month, day = match.groups()
    return " ".join(filter(None, (day and str(int(day)), month_name[int(month)], year)))


def _when(dated: str) -> str:
    """` on 3 March 2026`, ` in March 2026`, ` in 2026`, or nothing."""
    words = _date(dated)
    if not words:
        return ""
    return f" {'on' if words[0].isdigit() and ' ' in words else 'in'} {words}"


def _event_link(event: ReferenceEvent) -> Link:
    return title_link(event.work, "")


def _event_source(event: ReferenceEvent) -> Link:
    return Link(event.source, web_url(event.url))


def _other_title(event: ReferenceEvent) -> str:
    """Return the sentence about a record whose title no entry has: its identifier may be a slip."""
    return f" It calls the paper “{event.title_after}”." if event.title_after else ""


def events_heading(digest: Digest) -> str:
    """Return the heading of the changes of a digest: corrections may be of any paper."""
    changes = {event.change for event in digest.references}
    if all(event.reader for event in digest.references):
        return HEADING_OF_SAVED
    return "Corrections" if changes == {ReferenceChange.MISTAKEN} else HEADING


def change_in_short(event: ReferenceEvent) -> str:
    return _IN_SHORT.get(event.change, event.change_name)


def count_events(digest: Digest) -> str:
    """`Your references: 1 retracted, 2 published, 3 more`, "" without any."""
    counts = Counter(map(change_in_short, digest.references))
    named = dict([*counts.items()][:_NAMED_CHANGES])
    parts = [f"{count} {change}" for change, count in named.items()]
    more = counts.total() - sum(named.values())
    parts += [f"{more} more"] if more else []
    return f"{events_heading(digest)}: {', '.join(parts)}" if parts else ""


def more_events(digest: Digest) -> str:
    """Return the sentence about events that did not fit, or nothing."""
    if not digest.more_references:
        return ""
    return f"{format_count(digest.more_references, 'more change')} will be in the next digest."


def events_json(digest: Digest) -> list[Answer]:
    """Return one section: each paper with what happened to it, without whose library has it."""
    papers = [
        paper_fields(event.work, IN_PAPERS)
        | {"change": {"kind": event.change_name, **pick(event, _OF_CHANGE)}}
        for event in digest.references
    ]
    return [{"kind": "references", "title": HEADING, "topic": None, "papers": papers}]


REFERENCES = SectionKind(
    "references",
    is_in=lambda digest: bool(digest.references),
    to_json=events_json,
    heading=events_heading,
    in_subject=count_events,
    filters={
        "event": describe_event,
        "event_link": _event_link,
        "event_source": _event_source,
        "event_groups": group_events,
        "event_facts": event_facts,
        "events_heading": events_heading,
        "more_events": more_events,
    },
)
