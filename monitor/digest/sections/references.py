"""Changes of the readers' own papers, in the words of a digest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import structs

from monitor.digest.links import Link, page_url, title_link, web_url
from monitor.digest.sections.kind import SectionKind
from monitor.digest.shown import readable_title
from monitor.digest.wording import format_count, shorten_text
from monitor.model import Digest, Paper, ReferenceChange, ReferenceEvent, SourceLabel

# More than these wait for the next digest.
MOST_EVENTS = 20
HEADING = "Your references"
_NAMED_CHANGES = 2
_LONGEST_TITLE = 300
_LONGEST_DETAIL = 200
_IMPORTANCE = {change: place for place, change in enumerate(ReferenceChange)}
_IN_SHORT = {
    ReferenceChange.CONCERN: "of concern",
    ReferenceChange.NEW_VERSION: "with a new version",
}


def show_events(
    events: Iterable[ReferenceEvent], labels: Mapping[str, SourceLabel]
) -> tuple[ReferenceEvent, ...]:
    """Return events as digests list them, the most important first, at most `MOST_EVENTS`."""
    ordered = sorted(events, key=lambda event: (_IMPORTANCE[event.change], event.id))
    return tuple(_show(event, labels) for event in ordered[:MOST_EVENTS])


def _show(event: ReferenceEvent, labels: Mapping[str, SourceLabel]) -> ReferenceEvent:
    label = labels.get(event.source)
    title = shorten_text(readable_title(event.work.title), _LONGEST_TITLE)
    title_after = shorten_text(readable_title(event.title_after), _LONGEST_TITLE)
    of_notice = dict(name.split(":", 1) for name in event.identity if ":" in name)
    return structs.replace(
        event,
        work=structs.replace(event.work, title=title),
        source=(label and label.title) or event.source,
        before=shorten_text(event.before, _LONGEST_DETAIL),
        after=shorten_text(event.after, _LONGEST_DETAIL),
        url=page_url(Paper("", url=event.url, keys=of_notice)),
        title_after=title_after,
    )


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
            parts = [f"Perhaps published as “{event.title_after}”", event.after, event.dated]
            return f"{', '.join(filter(None, parts))}."
        case ReferenceChange.PUBLISHED:
            text = f"Published: {event.before or 'it'} is now {event.after}"
            return f"{text}, {event.dated}." if event.dated else f"{text}."
        case ReferenceChange.NEW_VERSION:
            text = f"New version: {event.after}"
            text += f" after {event.before}." if event.before else "."
            return f"{text} It is now called “{event.title_after}”." if event.title_after else text
    dated = f", {event.dated}" if event.dated else ""
    return f"{event.change.capitalize()}: notice {event.after}{dated}."


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


REFERENCES = SectionKind(
    "references",
    is_in=lambda digest: bool(digest.references),
    heading=events_heading,
    in_subject=count_events,
    filters={
        "event": describe_event,
        "event_link": _event_link,
        "event_source": _event_source,
        "events_heading": events_heading,
        "more_events": more_events,
    },
)
