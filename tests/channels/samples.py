"""Digests, deliveries and plain templates for the tests of channels."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from monitor.model import (
    ChangeKind,
    Delivery,
    DeliveryState,
    Digest,
    DigestGroup,
    DigestPaper,
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
        groups=(DigestGroup("agents", entries),) if entries else (),
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


class Commit:
    """`handing_off`, counted; `answer` is what the store says of the claim."""

    def __init__(self, answer: bool = True) -> None:
        self.answer = answer
        self.calls = 0

    def __call__(self) -> bool:
        self.calls += 1
        return self.answer
