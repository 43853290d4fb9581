"""Digests, deliveries and plain templates for the tests of channels."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from monitor.channels.slack.blocks import escape
from monitor.errors import Fault
from monitor.model import (
    ChangeKind,
    Delivery,
    DeliveryState,
    Digest,
    DigestPaper,
    DigestSection,
    MatchReason,
    Notice,
    Paper,
    Rendered,
    SourceReport,
    TopicWhy,
)

AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
NOTICE = Notice("arxiv is failing", ("It has failed since Tuesday.",), AT)

# What a title can bring: header breaks, controls, bidi overrides, markup, and 2,000 characters.
HOSTILE = "Re: \r\nBcc: x@y\u2028\x00\u202egnp.\U0001f600 <!channel> & <@U1|x> " + "long " * 400


def entry(number: int, title: str = "", abstract: str = "") -> DigestPaper:
    return DigestPaper(
        paper_id=number,
        revision=1,
        kind=ChangeKind.NEW,
        paper=Paper(
            title or f"Paper {number}",
            abstract=abstract or "We study agents.",
            authors=("A. Author",),
            url=f"https://papers.example.org/{number}",
        ),
        first_seen=AT,
        sources=("daily",),
        score=1000.0 - number,
        matched=(TopicWhy("agents", (MatchReason("abstract", ("agents",), ((9, 15),)),)),),
    )


def digest(
    papers: int | Sequence[DigestPaper] = 3,
    *,
    subscription: str = "ada",
    period: str = "2026-11-21",
    full: int = 25,
) -> Digest:
    entries = tuple(map(entry, range(papers))) if isinstance(papers, int) else tuple(papers)
    return Digest(
        subscription=subscription,
        period=period,
        due_at=AT,
        timezone="Europe/Berlin",
        covers_from=None,
        composed_at=AT,
        groups=(DigestSection("agents", entries),) if entries else (),
        report=(SourceReport("daily", 412, 3, AT),),
        full=full,
    )


def delivery(rendered: Rendered, **changes: Any) -> Delivery:
    values: dict[str, Any] = {
        "id": 7,
        "digest_id": 1,
        "subscription": "ada",
        "period": "2026-11-21",
        "channel": "email",
        "recipient": "ada@example.org",
        "part": rendered.part,
        "state": DeliveryState.CLAIMED,
        "attempts": 0,
        "message_id": "<0123456789abcdef01234567@example.org>",
        "created_at": AT,
        "next_attempt_at": None,
        "rendered": rendered,
    }
    return Delivery(**{**values, **changes})


class PlainTemplates:
    """Templates as small as they can be; `padding` makes each paper in full that much longer."""

    def __init__(self, padding: int = 0) -> None:
        self.padding = padding

    def release(self) -> None:
        pass

    def faults(self) -> list[Fault]:
        return []

    def render(self, name: str, **values: Any) -> str:
        folder, _, rest = name.partition("/")
        kind = rest.split(".")[0]
        return str(getattr(self, f"{folder}_{kind}", self.page)(rest, **values))

    def slack_paper(self, _: str, *, entry: DigestPaper, digest: Digest) -> str:
        paper = entry.paper
        return f"<{paper.url}|{escape(paper.title)}>\n{escape(paper.abstract)}{'x' * self.padding}"

    def slack_title_line(self, _: str, *, entry: DigestPaper, digest: Digest) -> str:
        return f"• <{entry.paper.url}|{escape(entry.paper.title)}>"

    def slack_header(self, _: str, *, digest: Digest, full: int) -> str:
        return f"*{escape(digest.subscription)}*: {digest.papers} papers"

    def slack_quiet(self, _: str, *, digest: Digest) -> str:
        return "Nothing new. 412 papers read."

    def slack_contents(self, _: str, *, digest: Digest, below: int, threaded: bool) -> str:
        topics = [f"*{escape(group.topic)}*: {group.papers}" for group in digest.groups]
        return "\n".join([*topics, f"{below} below, in a thread: {threaded}"])

    def slack_footer(self, _: str, *, digest: Digest) -> str:
        return " ".join(f"{r.seen} papers read from {r.source}." for r in digest.report)

    def slack_notice(self, _: str, *, notice: Notice) -> str:
        return escape("\n".join((notice.subject, *notice.lines)))

    def mail_title_line(self, _: str, *, entry: DigestPaper, digest: Digest) -> str:
        return f"- {entry.paper.title}\n"

    def page(self, name: str, **values: Any) -> str:
        lines = list(self.lines(**values))
        if ".html" not in name:
            return "\n".join(lines) + "\n"
        return "<!doctype html>\n" + "\n".join(f"<p>{html.escape(line)}</p>" for line in lines)

    def lines(
        self,
        digest: Digest | None = None,
        full: int = 0,
        notice: Notice | None = None,
        pages: Sequence[Any] = (),
        **_: Any,
    ) -> Sequence[str]:
        if notice is not None:
            return [notice.subject, *notice.lines]
        if digest is None:
            return [f"{p.title} {p.href} {p.papers}" for p in pages]
        entries = [e for group in digest.groups for e in group.entries]
        best = {e.paper_id for e in sorted(entries, key=lambda e: -e.score)[:full]}
        shown = [e.paper.title + "x" * self.padding * (e.paper_id in best) for e in entries]
        return [*shown, *digest.notes, "412 papers read."]


class Commit:
    """`handing_off`, counted; `answer` is what the store says of the claim."""

    def __init__(self, answer: bool = True) -> None:
        self.answer = answer
        self.calls = 0

    def __call__(self) -> bool:
        self.calls += 1
        return self.answer
