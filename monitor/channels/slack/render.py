"""Digests and notices as Slack messages: pure.

A digest begins with a message that stands alone: how many papers there are, the best in full, and
a line for each topic. All others follow in its thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from monitor.channels.slack import blocks
from monitor.channels.slack.blocks import DIVIDER, Piece
from monitor.channels.slack.menus import add_menu
from monitor.digest.about import name_digest, subject
from monitor.model import Digest, DigestPaper, Json, Notice, Rendered, Templates
from monitor.text import clean

# Papers that the first message shows in full, at most, and the room that each may take.
IN_FIRST_MESSAGE = 5


@dataclass(frozen=True, slots=True)
class _Papers:
    """How the papers of a digest are shown in full: with menus where somebody takes answers."""

    digest: Digest
    templates: Templates
    menus: bool

    def in_full(self, entry: DigestPaper) -> Iterator[Piece]:
        text = self.templates.render("slack/paper.j2", entry=entry, digest=self.digest)
        if not self.menus:
            yield text
            return
        for number, part in enumerate(blocks.cut(text, blocks.SECTION_LIMIT)):
            section = blocks.section(part)
            yield section if number else add_menu(section, entry, self.digest)


def render_digest(
    digest: Digest, templates: Templates, *, threaded: bool = True, menus: bool = False
) -> tuple[Rendered, ...]:
    """Return the messages of a digest.

    `threaded` is whether the later ones are in a thread, `menus` whether papers in full have one
    to answer with.
    """
    papers = _Papers(digest, templates, menus)
    text = blocks.escape(subject(digest))
    if not digest.papers:
        return _parts(blocks.messages([templates.render("slack/quiet.j2", digest=digest)], text))
    best = digest.best(min(digest.full, IN_FIRST_MESSAGE))
    for count in range(len(best), -1, -1):
        shown = best[:count]
        first = list(_first_message(papers, shown, threaded))
        if blocks.fits(first):
            break
    return _parts(blocks.thread(first, _others(papers, shown), text))


def render_notice(notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
    text = templates.render("slack/notice.j2", notice=notice)
    subject = blocks.escape(clean(notice.subject)[:300])
    return _parts(blocks.messages([text], subject))


def _first_message(
    papers: _Papers, shown: Collection[DigestPaper], threaded: bool
) -> Iterator[Piece]:
    digest, templates = papers.digest, papers.templates
    yield blocks.header(clean(name_digest(digest)))
    yield templates.render("slack/header.j2", digest=digest, full=digest.full)
    for entry in shown:
        yield DIVIDER
        yield from papers.in_full(entry)
    yield DIVIDER
    below = digest.papers - len(shown)
    values = {"digest": digest, "below": below, "threaded": threaded}
    yield templates.render("slack/contents.j2", **values)
    footer = templates.render("slack/footer.j2", digest=digest)
    yield from map(blocks.context, blocks.cut(footer, blocks.SECTION_LIMIT))


def _others(papers: _Papers, shown: Collection[DigestPaper]) -> Iterator[Piece]:
    """Yield the papers that are not shown yet, by topic: the best in full, the others as titles."""
    digest, templates = papers.digest, papers.templates
    done = {entry.paper_id for entry in shown}
    in_full = {entry.paper_id for entry in digest.best(digest.full)}
    for group in digest.groups:
        left = [entry for entry in group.entries if entry.paper_id not in done]
        if not left:
            continue
        yield DIVIDER
        yield f"*{blocks.escape(clean(group.heading))}*"
        for entry in left:
            if entry.paper_id in in_full:
                yield from papers.in_full(entry)
        lines = (
            templates.render("slack/title_line.j2", entry=entry, digest=digest)
            for entry in left
            if entry.paper_id not in in_full
        )
        yield from blocks.join_lines(lines)


def _parts(messages: list[Json]) -> tuple[Rendered, ...]:
    return tuple(Rendered(part, message) for part, message in enumerate(messages))
