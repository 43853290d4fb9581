"""Digests, deliveries and plain templates for the tests of channels."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from monitor.digest.wording import escape_mrkdwn
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

    def render(self, name: str, **values: Any) -> str:
        if "entry" in values:
            return self._paper(name, values["entry"].paper)
        lines = self._lines(name, values)
        if ".html" in name:
            return "<!doctype html>\n" + "\n".join(f"<p>{html.escape(line)}</p>" for line in lines)
        text = "\n".join(lines)
        return escape_mrkdwn(text) if name.startswith("slack/") else f"{text}\n"

    def _paper(self, name: str, paper: Paper) -> str:
        if name.startswith("mail/"):
            return f"- {paper.title}\n"
        text = f"<{paper.url}|{escape_mrkdwn(paper.title)}>"
        if name == "slack/title_line.j2":
            return f"• {text}"
        return f"{text}\n{escape_mrkdwn(paper.abstract)}{'x' * self.padding}"

    def _lines(self, name: str, values: dict[str, Any]) -> list[str]:
        if notice := values.get("notice"):
            return [notice.subject, *notice.lines]
        digest = values["digest"]
        if name == "slack/contents.j2":
            topics = [f"*{group.topic}*: {group.papers}" for group in digest.groups]
            return [*topics, "{below} below, in a thread: {threaded}".format(**values)]
        if name.startswith("slack/"):
            return ["412 papers read from daily."]
        entries = [e for group in digest.groups for e in group.entries]
        best = {e.paper_id for e in sorted(entries, key=lambda e: -e.score)[: values["full"]]}
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
