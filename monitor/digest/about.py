"""The sentences of a digest about itself: subject, contents, sources, and why a reader gets it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from functools import lru_cache
from urllib.parse import quote
from zoneinfo import ZoneInfo

from monitor.digest.incident_words import words_for
from monitor.digest.schedule import WEEKDAYS, parse_schedule
from monitor.digest.sections import SECTION_KINDS
from monitor.digest.sections.topics import count_by_topic, short_heading
from monitor.digest.wording import (
    count_news,
    count_papers,
    format_count,
    format_moment,
    format_ordinal,
    short_date,
    shorten_text,
    since,
    summary,
    with_more,
    zone_name,
)
from monitor.model import Digest, NextDigest, NextKind, SourceReport
from monitor.model.incidents import IncidentKind
from monitor.text import clean

_LONGEST_HEADING = 60
_TOPICS_IN_SUBJECT = 3
_LONGEST_IN_SUBJECT = 40
# Longer lists of sources, and of what is wrong, are counted.
_NAMED_SOURCES = 3
# The remarks of digests that were composed by 0.2.0, which did not mark them.
_EARLIER_REMARKS = ("Ordered by ", "Left out: ")
_MOST_NOTES = 8
_LONGEST_NOTE = 400
_NAMED_TOPICS = 4
# Within a week a day is known by its name.
_WEEK = timedelta(days=6)


def subject(digest: Digest) -> str:
    """`39 papers: language agents 32, RL 7 · 23 Nov`: another one for each digest of a day."""
    count = count_papers(digest) if digest.papers else "No new papers"
    owner = f" for {_short(digest.heading)}" if digest.about.shares_recipients else ""
    topics = count_by_topic(digest, _TOPICS_IN_SUBJECT, _LONGEST_IN_SUBJECT, ", ")
    if len(digest.groups) == 1:  # its count is the first word
        topics = short_heading(digest.groups[0], _LONGEST_IN_SUBJECT)
    date = short_date(digest, digest.timezone)
    if news := "; ".join(filter(None, (kind.in_subject(digest) for kind in SECTION_KINDS))):
        if not digest.papers:
            return f"{news}{owner} · {date}"
        count = f"{news}; {count}"
    return f"{count}{owner}{': ' if topics else ''}{topics} · {date}"


def name_digest(digest: Digest) -> str:
    """Return the heading of a digest: its title, or how many papers it has and what they are."""
    if digest.about.title:
        return digest.about.title
    if digest.papers:
        return count_news(digest)
    headings = (kind.heading(digest) for kind in SECTION_KINDS if kind.is_in(digest))
    return next(filter(None, headings), "No new papers")


def opening(digest: Digest) -> str:
    """Return the line under a heading: `36 papers in 4 topics since Thu 19 Nov 08:00`.

    It is without the number where the heading of `name_digest` has it, and may be empty.
    """
    if not digest.papers:
        return "" if digest.has_news else summary(digest)
    parts = [count_papers(digest)] if digest.about.title else []
    if len(digest.groups) > 1:
        parts.append(f"in {format_count(len(digest.groups), 'topic')}")
    text = f"{' '.join(parts)}{since(digest)}".strip()
    return text[:1].upper() + text[1:]


def archive_link(digest: Digest) -> str:
    """Return the page to which `at_most` leaves papers, "" without one."""
    return (digest.about.view_url or digest.about.archive_url) if digest.at_most else ""


def recently_read(digest: Digest) -> list[tuple[datetime, SourceReport]]:
    """Return the sources that were read since the digest before, each with its last reading."""
    ever = [(source.last_read, source) for source in digest.report if source.last_read]
    start = digest.covers_from
    return [(at, source) for at, source in ever if start is None or at > start]


def what_was_read(digest: Digest) -> str:
    """Return in one sentence what was read for a digest, and when."""
    recent = recently_read(digest)
    asked = [_title(source) for _, source in recent if not source.announces]
    about_references = f" {_who_was_asked(asked)}" if asked else ""
    read = [(at, source) for at, source in recent if source.announces]
    if not read:
        has_been = any(source.announces and source.last_read for source in digest.report)
        when = since(digest) if has_been else " yet"
        return f"No source has been read{when}.{about_references}"
    papers = format_count(sum(source.seen for _, source in read), "paper")
    new = sum(source.new for _, source in read)
    names = [_title(source) for _, source in read]
    many = len(names) > _NAMED_SOURCES
    sources = format_count(len(names), "source") if many else join_words(names)
    last = format_moment(max(at for at, _ in read), digest.timezone)
    return (
        f"Read: {papers} from {sources}{since(digest)}, {new:,} new; "
        f"last on {last} ({zone_name(digest.timezone)}).{about_references}"
    )


def _who_was_asked(names: Sequence[str]) -> str:
    many = len(names) > _NAMED_SOURCES
    who = format_count(len(names), "service") if many else join_words(names)
    return f"{who} {'was' if len(names) == 1 else 'were'} asked about your references."


def _first_notes(notes: Sequence[str], noun: str) -> Sequence[str]:
    more = len(notes) - _MOST_NOTES
    return [*notes[:_MOST_NOTES], f"And {format_count(more, noun)}."] if more > 0 else notes


def _notes(source: SourceReport, digest: Digest) -> Iterator[str]:
    name = _title(source)
    if source.failing_since:
        day = _day(source.failing_since, digest)
        if source.last_read and source.last_read > source.failing_since:
            name = f"Part of {name}"
        yield words_for(IncidentKind.FAILING).in_digest.format(name, day)
    elif not source.last_read:
        yield f"{name} has not been read yet."
    for trouble in source.troubles:
        yield words_for(trouble.kind).in_digest.format(name, _day(trouble.since, digest))


def _day(at: datetime, digest: Digest) -> str:
    """`Tuesday`, or of what is longer ago `3 Nov`."""
    zone = ZoneInfo(digest.timezone)
    local = at.astimezone(zone)
    now = digest.composed_at.astimezone(zone)
    if now.date() - local.date() <= _WEEK:
        return f"{local:%A}"
    return f"{local.day} {local:%b}"


class Note(str):
    """A note as it is shown."""

    is_problem = True


def is_problem(note: str) -> bool:
    """Whether a note is about a problem, not about the order of papers or those left out."""
    return note.is_problem if isinstance(note, Note) else True


def digest_notes(digest: Digest) -> list[str]:
    """Return the notes of a digest and of its sources, none too long and not too many."""
    notes = [_shown(note, digest) for note in digest.notes]
    problems = [note for source in digest.report for note in _notes(source, digest)]
    return [*_first_notes(notes, "more note"), *_first_notes(problems, "more source problem")]


def _shown(text: str, digest: Digest) -> Note:
    note = Note(shorten_text(clean(text), _LONGEST_NOTE))
    note.is_problem = not (text in digest.remarks or text.startswith(_EARLIER_REMARKS))
    return note


# It also stands among the topics of digests that were composed by 0.2.0.
_OF_REFERENCES = "changes of your references"


def because(digest: Digest) -> str:
    """Return why a reader gets a digest: subscription, topics, schedule; "" without topics."""
    about = digest.about
    topics = [_short(topic) for topic in about.topics if topic != _OF_REFERENCES]
    named = with_more(topics[:_NAMED_TOPICS], len(topics))
    if about.guards or len(topics) < len(about.topics):
        named.append(_OF_REFERENCES)
    if not named:
        return ""
    title = _short(about.title)
    title = f"“{title}”: " if title and [title] != topics else ""
    when = describe_schedule(about.schedule, digest.timezone)
    what = f"{title}{join_words(named)}"
    return f"You get this because you are subscribed to {what}. It is sent {when}."


def next_line(digest: Digest) -> str:
    """`Next digest: Mon 23 Nov 08:00 (Berlin).`; "" for older digests.

    "" also where `because` says the same, as of a subscription with `immediately`.
    """
    upcoming = digest.about.upcoming
    zone = digest.timezone
    if not upcoming:
        return ""
    when = describe_next(upcoming, zone, with_zone=True)
    is_said = when == describe_schedule(digest.about.schedule, zone) and because(digest)
    return "" if is_said else f"Next digest: {when}."


def describe_next(upcoming: NextDigest, zone: str, *, with_zone: bool = False) -> str:
    """`Mon 23 Nov 08:00`, `paused until 1 Dec 2026, then Tue 1 Dec 08:00`, `none: stopped`."""
    name = f" ({zone_name(zone)})" if with_zone else ""
    when = f"{format_moment(upcoming.at, zone)}{name}" if upcoming.at else _AS_NEWS
    match upcoming.kind:
        case NextKind.STOPPED:
            return "none: stopped"
        case NextKind.PAUSED if upcoming.until:
            local = upcoming.until.astimezone(ZoneInfo(zone))
            clock = f" {local:%H:%M}" if local.time() != time() else ""
            return f"paused until {local.day} {local:%b %Y}{clock}, then {when}"
        case NextKind.DUE:
            return f"due since {when}"
    return when


_AS_NEWS = "as soon as there is news"
_DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
_MOST_TIMES = 4


@lru_cache(1_024)
def describe_schedule(text: str, zone: str) -> str:
    """`as soon as there is news`, `Mondays at 07:00 (Tokyo)`, `every weekday at 08:00 (Berlin)`.

    A cron line with more than days and a few times stays as it is.
    """
    try:
        schedule = parse_schedule(text)
    except ValueError:  # of an old digest
        return f"{text} ({zone_name(zone)})"
    if schedule.immediately:
        return _AS_NEWS
    minute, hour, day, month, weekdays = schedule.cron.split()
    hours = hour.split(",")
    when = _describe_days(day, weekdays, schedule.monthday) if month == "*" else ""
    if not when or not all(part.isdigit() for part in (minute, *hours)) or len(hours) > _MOST_TIMES:
        return f"by the cron line {text} ({zone_name(zone)})"
    times = sorted({f"{int(part):02}:{int(minute):02}" for part in hours})
    return f"{when} at {join_words(times)} ({zone_name(zone)})"


def _describe_days(day: str, weekdays: str, last: int | None) -> str:
    """Return the days of a cron line as people say them, "" for days that have no short name."""
    names = set(weekdays.split(","))
    if "*" not in (day, weekdays) or not names <= {"*", *WEEKDAYS}:
        return ""
    if day != "*":
        return _describe_monthday(last or int(day), last) if last or day.isdigit() else ""
    if "*" in names or len(names) == len(WEEKDAYS):
        return "every day"
    if names == set(WEEKDAYS[:5]):
        return "every weekday"
    return join_words([day for name, day in zip(WEEKDAYS, _DAYS, strict=True) if name in names])


def _describe_monthday(day: int, last: int | None) -> str:
    if last == 31:
        return "on the last day of each month"
    shorter = ", or its last day," if last else " that has one" if day > 28 else ""
    return f"on the {format_ordinal(day)} of each month{shorter}"


def stop_link(digest: Digest) -> str:
    """Return where a reader stops the digests of a subscription, "" where there is no way.

    It is a page, or else a mailto link (RFC 6068: all that is not plain ASCII is percent-encoded).
    """
    if digest.about.stop_url:
        return digest.about.stop_url
    contact = digest.about.contact
    if not contact:
        return ""
    wanted = quote(f"Unsubscribe {_short(digest.subscription)}", errors="replace")
    return f"mailto:{quote(contact, safe='@+')}?subject={wanted}"


def join_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _title(source: SourceReport) -> str:
    return _short(source.title or source.source)


def _short(text: str) -> str:
    return shorten_text(clean(text), _LONGEST_HEADING)
