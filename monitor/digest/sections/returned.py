"""Papers of earlier digests that are in lists again."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

from monitor.digest.paper_json import Answer, pick
from monitor.digest.sections.kind import SectionKind
from monitor.digest.shown import readable_title
from monitor.digest.wording import format_count, shorten_text
from monitor.model import Digest, Paper, ReturnedPaper, StoredPaper
from monitor.text import clean, title_lengths

_MOST_NAMED = 8
_LONGEST_NAME = 40  # of a work, before the colon of its title
_TWO_DAYS = timedelta(days=2)


def list_returned(
    papers: Iterable[StoredPaper], news: Collection[int]
) -> tuple[ReturnedPaper, ...]:
    """Return papers that are in further lists, those of most lists first, without the `news`."""
    entries = [
        (len(stored.paper.recent_lists), _short_title(stored.paper))
        for stored in papers
        if stored.id not in news and not stored.paper.withdrawn
    ]
    ordered = sorted(entries, key=lambda entry: (-entry[0], entry[1]))
    return tuple(ReturnedPaper(title, lists) for lists, title in ordered)


def _short_title(paper: Paper) -> str:
    """Return the name before the colon of a title, if it is short, else the title."""
    title = readable_title(paper.title)
    name = title.partition(": ")[0]
    return name if len(name) <= _LONGEST_NAME else title


def returned_papers(digest: Digest) -> str:
    """`Back in today's lists: WebArena, 4 lists`: papers of earlier digests, "" for none."""
    if not digest.returned:
        return ""
    named = [
        f"{shorten_text(clean(paper.title), title_lengths.IN_LINE)}, "
        f"{format_count(paper.lists, 'list')}"
        for paper in digest.returned[:_MOST_NAMED]
    ]
    if more := len(digest.returned) - len(named):
        named.append(f"and {format_count(more, 'more paper')}")
    since = digest.covers_from
    is_daily = since is not None and digest.composed_at - since < _TWO_DAYS
    which = "today's lists" if is_daily else "the lists"
    return f"Back in {which}: {'; '.join(named)}."


def returned_json(digest: Digest) -> list[Answer]:
    """Return one section: of these papers a digest knows title and number of lists."""
    papers = [pick(paper, "title lists") for paper in digest.returned]
    title = "Back in the lists"
    return [{"kind": "returned", "title": title, "topic": None, "papers": papers}]


RETURNED = SectionKind(
    "returned",
    is_in=lambda digest: bool(digest.returned),
    in_footer=True,
    to_json=returned_json,
    filters={"returned": returned_papers},
)
