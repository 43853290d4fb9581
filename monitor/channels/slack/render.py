"""Digests and notices as Slack messages: pure."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.channels.slack import blocks
from monitor.model import Digest, Json, Notice, Rendered, Templates
from monitor.text import clean


def render_digest(digest: Digest, templates: Templates) -> tuple[Rendered, ...]:
    papers = {0: "no papers", 1: "1 paper"}.get(digest.papers, f"{digest.papers} papers")
    text = f"{clean(digest.subscription)[:100]}: {papers}, {digest.period.replace('T', ' ')}"
    return _parts(blocks.messages(_sections(digest, templates), blocks.escape(text)))


def render_notice(notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
    text = templates.render("slack/notice.j2", notice=notice)
    subject = blocks.escape(clean(notice.subject)[:300])
    return _parts(blocks.messages([text], subject))


def _sections(digest: Digest, templates: Templates) -> Iterator[str]:
    """Yield the best papers in full, the other papers of each topic as titles."""
    yield templates.render("slack/header.j2", digest=digest, full=digest.full)
    in_full = {entry.paper_id for entry in digest.best(digest.full)}
    for group in digest.groups:
        yield f"*{blocks.escape(clean(group.topic))}*"
        short = [entry for entry in group.entries if entry.paper_id not in in_full]
        for entry in group.entries:
            if entry.paper_id in in_full:
                yield templates.render("slack/paper.j2", entry=entry, digest=digest).strip()
        lines = (templates.render("slack/title_line.j2", entry=e, digest=digest) for e in short)
        yield from blocks.join_lines(line.strip() for line in lines)
    yield templates.render("slack/footer.j2", digest=digest)


def _parts(messages: list[Json]) -> tuple[Rendered, ...]:
    return tuple(Rendered(part, message) for part, message in enumerate(messages))
