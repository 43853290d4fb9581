"""Digests of fifty papers as mails, for the benchmarks of sending: made by the real templates."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

from monitor.channels.email.channel import Mail
from monitor.channels.email.settings import SmtpSettings
from monitor.channels.email.smtp import SmtpServer
from monitor.digest.render import JinjaTemplates
from monitor.model import (
    ChangeKind,
    Delivery,
    DeliveryState,
    Digest,
    DigestGroup,
    DigestPaper,
    MatchReason,
    Paper,
    Rendered,
    SourceReport,
    TopicWhy,
)

AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
PAPERS = 50
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo")
SENDER = "Papers <papers@example.org>"

_random = random.Random(5)


def _words(count: int) -> str:
    return " ".join("".join(_random.choices(SYLLABLES, k=2)) for _ in range(count))


def _entry(number: int) -> DigestPaper:
    abstract = ". ".join(_words(18).capitalize() for _ in range(8)) + " — “so it is”, we show."
    paper = Paper(
        title=f"{_words(6).title()} für Agents",
        abstract=abstract,
        authors=("Ada Øne", "Bo Two", "Çem Three"),
        url=f"https://papers.example.org/{number}",
        published=AT,
    )
    why = TopicWhy("agents", (MatchReason("title", ("Agents",), ()),))
    return DigestPaper(number, 1, ChangeKind.NEW, paper, AT, ("daily",), 1000.0 - number, (why,))


def digest(number: int = 0, full: int = PAPERS) -> Digest:
    """Return a digest of fifty papers of its own, so many of them in full."""
    return Digest(
        subscription=f"reader-{number}",
        period="2026-11-21",
        due_at=AT,
        timezone="Europe/Berlin",
        covers_from=None,
        composed_at=AT,
        groups=(DigestGroup("agents", tuple(_entry(n) for n in range(PAPERS))),),
        report=(SourceReport("daily", 412, PAPERS, AT),),
        full=full,
    )


def mail() -> Mail:
    return Mail("email", (), SmtpServer(SmtpSettings(host="127.0.0.1", sender=SENDER)))


def rendered(number: int = 0, full: int = PAPERS) -> Rendered:
    """Return the mail of a digest as the outbox keeps it."""
    [part] = mail().render(digest(number, full), JinjaTemplates())
    return part


def another(part: Rendered, number: int) -> Rendered:
    """Return a mail that shares not a byte of its parts with others, without rendering it."""
    values = {name: f"{number} {value}" for name, value in part.body.items() if name != "date"}
    return replace(part, body={**part.body, **values, "list": part.body["list"]})


def delivery(part: Rendered, number: int = 0) -> Delivery:
    return Delivery(
        id=number,
        digest_id=number,
        subscription=f"reader-{number}",
        period="2026-11-21",
        channel="email",
        recipient=f"reader-{number}@example.org",
        part=0,
        state=DeliveryState.CLAIMED,
        attempts=0,
        message_id=f"<{number:024}@example.org>",
        created_at=AT,
        next_attempt_at=None,
        rendered=part,
    )
