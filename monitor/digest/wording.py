"""The phrases that mails, pages and Slack messages share: names, dates, counts, sources read."""

from __future__ import annotations

import html
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import lru_cache
from typing import NamedTuple
from unicodedata import east_asian_width
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from monitor.digest.excerpt import excerpt, headline
from monitor.identity.notices import notice
from monitor.model import (
    MODEL,
    ChangeKind,
    Digest,
    DigestPaper,
    ListedDigest,
    MatchReason,
    Paper,
    SourceReport,
    TopicWhy,
)
from monitor.text import singular, title_lengths

_LONGEST_NAME = 60
_MOST_WORDS = 8
# Of the line that says why a paper is there.
_MOST_TOPICS = 4
_MOST_TERMS = 3
_LONGEST_TERM = 80
_TEXTS = ("title", "abstract", "venue")
# Votes and lists are in the line of `signals`; a source is a name of the configuration.
_UNSAID = ("votes", "lists", "source", MODEL)
_NEW = str(ChangeKind.NEW)
_NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Found:
    """The words of a paper that one topic matched: `fields` are pairs of a field and its words.

    `near` names those of a text that papers are near to: `browser, GUI: two of your words`.
    """

    topic: str
    fields: tuple[tuple[str, str], ...]
    title: str = ""
    near: str = ""


# ── a paper ─────────────────────────────────────────────────────────────────────────


def shorten_authors(authors: Sequence[str]) -> str:
    """Return up to three names; of more, the first two, the last, and how many there are."""
    names = [shorten_text(name, _LONGEST_NAME) for name in authors]
    if len(names) <= 3:
        return ", ".join(names)
    return f"{names[0]}, {names[1]} … {names[-1]} ({format_count(len(names), 'author')})"


def matched_topics(entry: DigestPaper) -> tuple[Found, ...]:
    """Return every topic that found the paper, best first, with the words of each field."""
    return tuple(
        Found(
            matched.topic,
            tuple(_field_and_words(why) for why in without_near(matched.why) if why.words),
            matched.title or matched.topic,
            near_line(matched.why),
        )
        for matched in entry.matched
    )


def why_line(entry: DigestPaper) -> str:
    """Return in one line which topics found a paper, each with three of its terms.

    Each part of an AND has one of them; if there are more parts, there are as many terms:
    `language agents: LLM, agent in the title; tool use in the abstract · RL`
    """
    named = [
        ": ".join(filter(None, [_topic_title(matched), _words_by_field(matched)]))
        for matched in entry.matched[:_MOST_TOPICS]
    ]
    return " · ".join(with_more(named, len(entry.matched)))


def short_why(entry: DigestPaper, marked_title: bool = True) -> str:
    """Return what the marks of a paper in full do not show of why it is there; often nothing.

    `marked_title` says whether its title has marks, too.

    These are its other topics, long forms of abbreviations that are not in the text shown, and
    what its topic matched if none of that is in the text shown, but for votes, lists and sources:
    `also matches RL · PPO (proximal policy optimization)`. Reasons of older digests do not name
    their abbreviations: they are whole.
    """
    if not entry.matched or not entry.excerpt_rule:
        return why_line(entry)
    passages = headline(entry), excerpt(entry)
    shown = " ".join(passage.text for passage in passages).casefold()
    long_forms = dict.fromkeys(
        shorten_text(term, _LONGEST_TERM)
        for why in entry.reasons
        for term in why.abbreviations
        if _long_form(term).casefold() not in shown
    )
    others = [_topic_title(matched) for matched in entry.matched[1:_MOST_TOPICS]]
    parts = [", ".join(long_forms)]
    of_topic = {word.casefold() for why in entry.matched[0].why for word in why.words}
    # Marks of its other topics do not show why it is in this one.
    is_marked = any(
        passage.text[start:end].casefold() in of_topic
        for passage in passages[not marked_title :]
        for start, end in passage.spans
    )
    first = entry.matched[0]
    models = [word for why in first.why if why.field == MODEL for word in why.words]
    if models:
        parts = [describe_words(MODEL, ", ".join(models))]
    elif not long_forms and not entry.unmarked and not is_marked:
        said = tuple(why for why in first.why if why.field not in _UNSAID)
        parts = [_words_by_field(replace(first, why=said))]
    if others:
        parts.append(f"also matches {', '.join(with_more(others, len(entry.matched) - 1))}")
    return " · ".join(filter(None, parts))


def _topic_title(matched: TopicWhy) -> str:
    return shorten_text(matched.title or matched.topic, _LONGEST_NAME)


def _words_by_field(matched: TopicWhy) -> str:
    """Return three terms by field; more if an AND has more parts, as each part has one."""
    terms: dict[str, tuple[MatchReason, str]] = {}
    for why in matched.why:
        for term in why.terms or why.words:
            terms.setdefault(singular(term.casefold()), (why, term))
    required = {singular(term.casefold()) for why in matched.why for term in why.required}
    near = _near_keys(matched.why)
    first = sorted(terms, key=lambda key: key not in required)
    named = {*required, *first[: max(_MOST_TERMS, len(required))]}
    fields: list[str] = []
    for why in matched.why:
        fresh = [
            term
            for key, (of, term) in terms.items()
            if of is why and key in named and key not in near
        ]
        if fresh:
            words = ", ".join(shorten_text(term, _LONGEST_TERM) for term in fresh)
            fields.append(describe_words(why.field, words))
    of_text = [term for key, (_, term) in terms.items() if key in near]
    shown = sum(key in named for key in terms if key in near)
    return "; ".join(filter(None, [*fields, _describe_near(of_text, shown)]))


_COUNTED = ("one", "two", "three", "four", "five", "six")


def near_line(reasons: Iterable[MatchReason]) -> str:
    """Return the words by which a paper is near to a text: `browser, GUI: two of your words`."""
    terms: dict[str, str] = {}
    for term in (term for why in reasons for term in why.near):
        terms.setdefault(singular(term.casefold()), term)
    return _describe_near([*terms.values()])


def _describe_near(terms: Sequence[str], shown: int | None = None) -> str:
    """Count the words of a text, and name the first ones, or all."""
    shown = len(terms) if shown is None else shown
    if not shown:
        return ""
    words = ", ".join(shorten_text(term, _LONGEST_TERM) for term in terms[:shown])
    words += ", …" if shown < len(terms) else ""
    count = dict(enumerate(_COUNTED, 1)).get(len(terms), len(terms))
    return f"{words}: {count} of your words"


def _near_keys(reasons: Iterable[MatchReason]) -> set[str]:
    return {singular(term.casefold()) for why in reasons for term in why.near}


def without_near(reasons: Sequence[MatchReason]) -> tuple[MatchReason, ...]:
    """Return reasons without the words that `near_line` names, and without texts of these alone."""
    near = set(map(_short_form, _near_keys(reasons)))
    if not near:
        return tuple(reasons)
    return tuple(
        replace(why, words=tuple(w for w in why.words if singular(w.casefold()) not in near))
        for why in reasons
        if why.field not in _TEXTS or {*why.terms} - {*why.near}
    )


def describe_words(field: str, words: str) -> str:
    """Return why a paper is there by the words of a field: `agents in the title`."""
    if field == MODEL:
        return f"added by {words}: near to your text"
    return f"{words} in the {field}" if field in _TEXTS else f"{field} {words}"


def _field_and_words(reason: MatchReason) -> tuple[str, str]:
    words = _words(reason)
    if reason.field == MODEL:
        return "added by", f"{words}, near to the text"
    return reason.field, words


def _words(reason: MatchReason) -> str:
    """The words as the paper writes them; of `agent` and `agents`, the one that came first."""
    distinct: dict[str, str] = {}
    for word in reason.words:
        distinct.setdefault(singular(word.casefold()), shorten_text(word, _LONGEST_NAME))
    required = {singular(_short_form(term).casefold()) for term in reason.required}
    first = sorted(distinct, key=lambda key: key not in required)[:_MOST_WORDS]
    words = [word for key, word in distinct.items() if key in first]
    return ", ".join(words) + (" …" if len(distinct) > len(words) else "")


def _short_form(term: str) -> str:
    """`RL`, of the term `RL (reinforcement learning)`: stored reasons have both as one text."""
    return term.partition(" (")[0]


def _long_form(term: str) -> str:
    return term.partition(" (")[2][:-1]


def shorten_text(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, with an ellipsis where it was cut."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


class AboutPaper(NamedTuple):
    """Where and when a paper came out, each part as it is shown, "" for none."""

    venue: str = ""
    categories: str = ""
    date: str = ""
    listed: str = ""
    sources: str = ""


NOTHING_SAID = AboutPaper()


def about_paper(entry: DigestPaper, zone: str) -> AboutPaper:
    """Return the venue of a paper, its first categories, its dates and its sources."""
    return AboutPaper(*(part(entry, zone) for part in ABOUT_PAPER))


def place(entry: DigestPaper, zone: str, said: AboutPaper = NOTHING_SAID) -> str:
    """Return where and when a paper came out, without what was `said` of all papers."""
    pairs = zip(about_paper(entry, zone), said, strict=True)
    rest = AboutPaper(*(part if part != before else "" for part, before in pairs))
    dates = ", ".join(filter(None, [rest.date, rest.listed]))
    return " · ".join(filter(None, [rest.venue, rest.categories, dates, rest.sources]))


def signals(entry: DigestPaper) -> str:
    """Return `in your library · in 3 lists · 12 votes`, as far as it is in any or has votes.

    A withdrawn paper begins with `withdrawn according to PubMed`.
    """
    votes = entry.paper.upvotes
    by = entry.withdrawn_by
    parts = [f"withdrawn according to {by.source}"] if by else []
    parts += ["in your library"] if entry.owned else []
    parts += [f"in {format_count(entry.lists, 'list')}"] if entry.lists > 1 else []
    if entry.note and entry.note.organization:
        parts.append(
            f"on {entry.note.site}: {shorten_text(entry.note.organization, _LONGEST_NAME)}"
        )
    return " · ".join([*parts, format_count(votes, "vote")] if votes else parts)


def what_changed(entry: DigestPaper) -> str:
    """Return what a revision changed: `version 3 after 2; abstract: 3 sentences changed`."""
    revised = entry.revised
    if revised is None:
        return ""
    parts = [f"version {revised.version}"] if revised.version else []
    if parts and revised.version_before:
        parts = [f"{parts[0]} after {revised.version_before}"]
    if revised.title_before:
        parts.append(
            f"title before: “{shorten_text(revised.title_before, title_lengths.IN_REASON)}”"
        )
    if revised.sentences:
        parts.append(f"abstract: {format_count(revised.sentences, 'sentence')} changed")
    elif revised.sentences == 0 and not revised.title_before:
        parts.append("title and abstract unchanged")
    return "; ".join(parts)


def order_reason(entry: DigestPaper) -> str:
    """Return why readers' answers put a paper where it is: `like “Title”, which you marked`."""
    placed = entry.placed
    parts = ["likely"] if placed.likely else []
    if placed.like:
        which = "which is in your library" if placed.owned else "which you marked"
        parts.append(f"like “{shorten_text(placed.like, title_lengths.IN_REASON)}”, {which}")
    if placed.words:
        parts.append(f"words: {', '.join(placed.words)}")
    return "; ".join(parts)


def byline(entry: DigestPaper, zone: str) -> str:
    """Return what is known of a paper listed by title: authors, its own date, lists and votes."""
    paper = entry.paper
    authors = shorten_authors(paper.authors)
    if not entry.excerpt_rule:  # of an older digest
        return " · ".join(filter(None, [authors, place(entry, zone)]))
    parts = authors, _paper_date(paper, zone), signals(entry)
    return " · ".join(filter(None, parts))


def format_date(entry: DigestPaper, zone: str) -> str:
    """Return the date of a paper and the last day of its lists, or the day it was first seen."""
    about = about_paper(entry, zone)
    return ", ".join(filter(None, [about.date, about.listed]))


def _paper_date(paper: Paper, zone: str) -> str:
    """Return the day or month that the record of a paper gives, else its arXiv id or its year."""
    if day := paper.day or paper.announced:
        return short_day(day, zone)
    return f"{paper.month:%b %Y}" if paper.month else str(paper.year or "")


def listed_or_seen(entry: DigestPaper, zone: str) -> str:
    if (listed := _listed(entry)) or _paper_date(entry.paper, zone):
        return listed
    return f"seen {short_day(entry.first_seen, zone)}"


def _listed(entry: DigestPaper) -> str:
    """Return `listed 14 Mar`; the year is added if it is not that in which the paper was seen."""
    last = entry.paper.last_listed
    if not last or not last.day:
        return ""
    is_old = last.day.year != entry.first_seen.year
    return f"listed {last.day.day} {last.day:%b}{f' {last.day.year}' if is_old else ''}"


# The functions that make the parts of `AboutPaper`, in its order.
ABOUT_PAPER: tuple[Callable[[DigestPaper, str], str], ...] = (
    lambda entry, zone: shorten_text(entry.paper.venue, _LONGEST_NAME),
    lambda entry, zone: ", ".join(entry.paper.categories[:2]),
    lambda entry, zone: _paper_date(entry.paper, zone),
    listed_or_seen,
    lambda entry, zone: ", ".join(
        entry.sources if entry.source_titles is None else entry.source_titles
    ),
)


# ── dates and counts ────────────────────────────────────────────────────────────────


def full_date(digest: Digest | ListedDigest, zone: str) -> str:
    """`Thursday 26 November 2026`; with `, 14:05` where `short_date` has a time."""
    day = format_day(digest.composed_at, zone)
    time = _time(digest, zone)
    return f"{day}, {time}" if time else day


def short_date(digest: Digest | ListedDigest, zone: str) -> str:
    """`26 Nov`, the day a digest was composed; `26 Nov 14:05` unless that day names its period.

    So each of several digests of a subscription on a day has another date.
    """
    local = digest.composed_at.astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%b} {_time(digest, zone)}".rstrip()


def _time(digest: Digest | ListedDigest, zone: str) -> str:
    local = digest.composed_at.astimezone(ZoneInfo(zone))
    return "" if digest.period == f"{local:%Y-%m-%d}" else f"{local:%H:%M}"


def format_day(at: datetime, zone: str) -> str:
    local = at.astimezone(ZoneInfo(zone))
    return f"{local:%A} {local.day} {local:%B %Y}"


def format_moment(at: datetime, zone: str, year: bool = False) -> str:
    """`Sat 21 Nov 08:00`; with its year where it may have been years ago."""
    local = at.astimezone(ZoneInfo(zone))
    day = f"{local:%a} {local.day} {local:%b}"
    return f"{day} {local:%Y %H:%M}" if year else f"{day} {local:%H:%M}"


def zone_name(zone: str) -> str:
    """Return what people call a time zone: `Tokyo` of Asia/Tokyo, and UTC as it is."""
    area, _, city = zone.rpartition("/")
    return zone if area in ("", "Etc") else city.replace("_", " ")


# Papers of one reading were seen at one moment, and are compared for what is said once.
@lru_cache(1_024)
def short_day(at: datetime, zone: str) -> str:
    """`26 Nov 2026`. A date without a time is kept as UTC midnight: it is that day everywhere."""
    local = at.astimezone(UTC)
    if local.time() != time():
        with suppress(OverflowError):  # on the calendar's first and last day
            local = at.astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%b %Y}"


def format_ordinal(number: int) -> str:
    """Return a number as an ordinal: 1st, 22nd, 113th."""
    last = number % 10 if number % 100 not in (11, 12, 13) else 0
    return f"{number:,}" + {1: "st", 2: "nd", 3: "rd"}.get(last, "th")


def format_count(count: int, noun: str) -> str:
    """`1 paper`, `1,204 papers`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_rate(a_day: float) -> str:
    """`3.2 a day`, `12 a day`, and of fewer than one: `one in 5 days`; "" for none."""
    if a_day >= 0.67:  # of three days, two
        rate = f"{a_day:.1f}".removesuffix(".0") if a_day < 9.95 else f"{a_day:,.0f}"
        return f"{rate} a day"
    return f"one in {format_count(round(1 / a_day), 'day')}" if a_day > 0 else ""


def count_papers(digest: Digest) -> str:
    """`12 papers and 1 notice`, or what they are where none is new: `1 withdrawn paper`."""
    kinds = _kinds(digest)
    notices = kinds.pop(_NOTICE, 0)
    noun = f"{next(iter(kinds))} paper" if len(kinds) == 1 and _NEW not in kinds else "paper"
    parts = [format_count(digest.papers - notices, noun)] if digest.papers > notices else []
    return " and ".join([*parts, format_count(notices, _NOTICE)] if notices else parts)


def count_news(digest: Digest) -> str:
    """`12 new papers`, `1 withdrawn paper`, `3 papers: 2 new, 1 withdrawn; 1 notice`."""
    kinds = _kinds(digest)
    notices = kinds.pop(_NOTICE, 0)
    papers = digest.papers - notices
    if [*kinds] == [_NEW]:
        new = format_count(papers, f"{_NEW} paper")
        return f"{new} and {format_count(notices, _NOTICE)}" if notices else new
    if len(kinds) < 2 or digest.more:  # nothing is known here of those that are left out
        return count_papers(digest)
    counts = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items())
    counted = f"{format_count(papers, 'paper')}: {counts}"
    return f"{counted}; {format_count(notices, _NOTICE)}" if notices else counted


def count_notices(digest: Digest) -> int:
    """Return how many of the papers shown are notices, of retractions for example."""
    return _kinds(digest)[_NOTICE]


def _kinds(digest: Digest) -> Counter[str]:
    """Count the papers of a digest by what they are: new, which older ones are too, or changed.

    Notices, of retractions for example, are no papers to read, whatever has become of them.
    """
    kinds = Counter(_kind(entry) for group in digest.groups for entry in group.entries)
    return Counter({kind: kinds[kind] for kind in (*map(str, ChangeKind), _NOTICE) if kinds[kind]})


def _kind(entry: DigestPaper) -> str:
    if notice(entry.paper):
        return _NOTICE
    return _NEW if entry.kind is ChangeKind.OLDER else str(entry.kind)


def format_news(papers: int, changes: int, notices: int = 0) -> str:
    """`3 papers, 1 change of references`; `2 papers and 1 notice` where one of 3 is a notice."""
    counts = [format_count(papers - notices, "paper")] if papers > notices or not papers else []
    counts += [format_count(notices, _NOTICE)] if notices else []
    parts = [" and ".join(counts)] if papers or not changes else []
    parts += [f"{format_count(changes, 'change')} of references"] if changes else []
    return ", ".join(parts)


def with_more(named: list[str], count: int, noun: str = "topic") -> list[str]:
    """Return the first of `count` names, and how many are left out."""
    more = count - len(named)
    return [*named, format_count(more, f"more {noun}")] if more > 0 else named


def since(digest: Digest) -> str:
    """Return ` since Thu 19 Nov 08:00`, or nothing for a first digest."""
    covers = digest.covers_from
    return f" since {format_moment(covers, digest.timezone)}" if covers else ""


# ── what was read ───────────────────────────────────────────────────────────────────


def summary(digest: Digest) -> str:
    """`12 papers in 3 topics, since Thu 19 Nov 08:00`: the line under a digest's heading."""
    if digest.papers:
        topics = format_count(len(digest.groups), "topic")
        what = f"{count_papers(digest)} in {topics}"
    else:
        what = "No new papers for your topics"
    return what + since(digest)


def reading(digest: Digest) -> str:
    """`Read since Thu 19 Nov 08:00: 298 papers in 1 source; 229 new`."""
    read = [source for source in digest.report if source.announces]
    seen = sum(source.seen for source in read)
    new = sum(source.new for source in read)
    sources = format_count(len(read), "source")
    return f"Read{since(digest)}: {format_count(seen, 'paper')} in {sources}; {new:,} new"


def source_line(source: SourceReport, zone: str) -> str:
    """Return what was read of one source, and its failures and warnings."""
    troubles = (
        f"{trouble.kind} since {format_moment(trouble.since, zone)}: {trouble.text}"
        for trouble in source.troubles
    )
    return "; ".join((_reading_of(source, zone), *troubles))


def _reading_of(source: SourceReport, zone: str) -> str:
    if source.failing_since:
        last = f"; last read {format_moment(source.last_read, zone)}" if source.last_read else ""
        return f"failing since {format_moment(source.failing_since, zone)}: {source.error}{last}"
    if not source.last_read:
        return "not read yet"
    read = (
        f"{format_count(source.seen, 'paper')}, {source.new:,} new"
        if source.seen
        else "nothing new"
    )
    return f"{read}; last read {format_moment(source.last_read, zone)}"


# ── plain text ──────────────────────────────────────────────────────────────────────


# Not seen: it parts a sign that would begin a mention or a tag from what follows.
ZERO_WIDTH = "\u200b"


def escape_mrkdwn(text: str) -> str:
    """Escape as Slack's formatting page asks: `&`, `<` and `>`, and nothing else."""
    return html.escape(text, quote=False)


# From the first wide letter on. Dashes and quotes are among them, and are narrow.
_PERHAPS_WIDE = "\u1100"


def _fill(letter: str) -> str:
    return f"\0{letter}" if east_asian_width(letter) in "WF" else letter


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Break `text` into lines of at most `width` columns, each led by `indent`.

    Wide letters take two columns; a word longer than a line is broken; no-break spaces hold.
    """
    is_narrow = text.isascii() or max(text) < _PERHAPS_WIDE
    if is_narrow and len(indent) + len(text) <= width:  # as most titles
        return [indent + text] if text else []
    filled = text
    if not is_narrow:  # textwrap counts characters: a filler stands before each wide letter
        filled = "".join(map(_fill, text))
    lines = textwrap.wrap(
        filled, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return [line.replace("\0", "") for line in lines]
