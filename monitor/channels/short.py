"""A digest as short messages for phones and chats: a few lines a paper, cut between papers; pure.

They are text (`txt`) or Markdown (`md`), as the templates of `short/` write them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from monitor.digest.about import subject
from monitor.digest.layout import share_texts, shorten
from monitor.digest.sections import pieces
from monitor.digest.wording import shorten_text
from monitor.model import Digest, Notice, Templates
from monitor.text import clean

Form = Literal["txt", "md"]

BETWEEN = "\n\n"
# Room in a title for ` (12 of 15)`.
_NUMBER_SIZE = 15


@dataclass(frozen=True, slots=True)
class Short:
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The most characters of a title, and the largest text as `size_of` measures it."""

    title: int
    text: int
    size_of: Callable[[str], int] = len


def render_digest(
    digest: Digest, templates: Templates, form: Form, limits: Limits
) -> tuple[Short, ...]:
    """Return a digest as messages, as many as its papers need."""
    return _messages(subject(digest), _pieces(digest, templates, form), limits)


def render_notice(
    notice: Notice, templates: Templates, form: Form, limits: Limits
) -> tuple[Short, ...]:
    text = templates.render(f"short/notice.{form}.j2", notice=notice)
    return _messages(clean(notice.subject), text.split(BETWEEN), limits)


def show_at_most(digest: Digest, count: int) -> Digest:
    """Return a digest of `count` papers, from 1; the others are left to the archive."""
    return shorten(replace(digest, at_most=count), digest.full, count, count)


def fit_one(digest: Digest, templates: Templates, form: Form, limits: Limits) -> Digest:
    """Return a digest with as many papers as one message holds, or unchanged if it holds none."""

    def is_too_long(count: int) -> bool:
        return len(render_digest(show_at_most(digest, count), templates, form, limits)) > 1

    most = min(digest.papers, digest.at_most or digest.papers)
    count = bisect_right(range(1, most + 1), False, key=is_too_long)
    return show_at_most(digest, count) if count else digest


def _pieces(digest: Digest, templates: Templates, form: Form) -> Iterator[str]:
    """Yield the parts of a digest that stay whole: what it is, each paper, what is left."""

    def write(name: str, **values: object) -> str:
        return templates.render(f"short/{name}.{form}.j2", digest=digest, **values)

    yield write("head")
    for piece in pieces(digest):
        above = ""
        paper = ""
        if piece.section:
            shown = {"group": piece.group, "first": piece.first, "is_heading": piece.is_heading}
            above = write(piece.section, **shown)
        if piece.entry:
            paper = write("title_line", entry=piece.entry)
        yield ("\n" if piece.first else BETWEEN).join(filter(None, (above, paper)))
    yield write("foot")


def _messages(title: str, pieces: Iterable[str], limits: Limits) -> tuple[Short, ...]:
    """Share pieces among messages; with several, each title has its number."""
    shared = share_texts(pieces, BETWEEN, limits.text, limits.size_of)
    texts = [BETWEEN.join(batch) for batch in shared]
    if len(texts) <= 1:
        return (Short(shorten_text(title, limits.title), "".join(texts)),)
    title = shorten_text(title, max(limits.title - _NUMBER_SIZE, 1))
    return tuple(
        Short(f"{title} ({number} of {len(texts)})", text) for number, text in enumerate(texts, 1)
    )
