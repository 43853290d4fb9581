"""Digests of all shapes against the limits of mail, pages, Slack and webhooks.

make limits                 10,000 of them, from new seeds each time
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from monitor.channels import ntfy, short
from monitor.channels.email import render as mail
from monitor.channels.email.channel import Mail, Mailbox
from monitor.channels.email.settings import SmtpSettings
from monitor.channels.email.smtp import SmtpServer
from monitor.channels.file import PAGE_LIMIT, render_pages
from monitor.channels.slack.blocks import render_digest as render_slack
from monitor.channels.webhook.body import BODY_LIMIT
from monitor.channels.webhook.channel import Webhook, WebhookOptions
from monitor.digest.layout import byte_count
from monitor.digest.render import JinjaTemplates
from monitor.model import (
    AboutSubscription,
    ChangeKind,
    Digest,
    DigestGroup,
    DigestPaper,
    GroupRule,
    MatchReason,
    Paper,
    Rendered,
    SourceReport,
    SourceWarning,
    TopicWhy,
)
from monitor.setting_types import SettingsContext
from tests.channels.samples import AT, HOSTILE, delivery
from tests.servers.chats import CHATS
from tests.servers.slack import is_valid, texts_of

EXAMPLES = int(os.environ.get("LIMITS", "200"))
TEMPLATES = JinjaTemplates()


def _hook(template: str | None) -> Webhook:
    raw = {"url": "https://example.org/a"} | ({"template": template} if template else {})
    options = WebhookOptions.model_validate(raw, context=SettingsContext())
    return Webhook("team", options, TEMPLATES)


OURS = Mail("email", (), SmtpServer(SmtpSettings(host="localhost", sender="p@example.org")))

# What texts are made from: plain, wide, markup, mathematics, entities that grow when escaped.
PIECES = st.sampled_from(
    ["agents ", "漢字", "&<>\"'", "$x^2$ ", "ü", "e\u0301", "😀", HOSTILE[:60]]
)
TEXTS = st.tuples(PIECES, st.sampled_from([1, 5, 30, 300])).map(lambda pair: pair[0] * pair[1])
SENTENCES = TEXTS.map(lambda text: f"We propose {text}. It works. " * 5)


@st.composite
def papers(draw: st.DrawFn, number: int) -> DigestPaper:
    title = draw(TEXTS)
    reason = draw(TEXTS)
    return DigestPaper(
        paper_id=number,
        revision=1,
        kind=draw(st.sampled_from(ChangeKind)),
        paper=Paper(
            f"{title} no. {number}",
            abstract=draw(SENTENCES),
            authors=(draw(TEXTS)[:200],) * draw(st.integers(0, 5)),
            venue=draw(TEXTS),
            url=draw(st.sampled_from(["", "https://example.org/" + "a&" * 900, "https://x.org/1"])),
            keys=draw(st.sampled_from([{}, {"arxiv": "2410.00001", "doi": "10.1/" + "x<" * 99}])),
            categories=("cs.LG", "cs.AI", "cs.CL"),
        ),
        first_seen=AT,
        sources=("a",),
        score=-number,
        matched=(TopicWhy("agents", (MatchReason("title", (reason,), ((0, len(title) // 2),)),)),)
        * draw(st.integers(1, 6)),
        late=draw(st.booleans()),
    )


@st.composite
def digests(draw: st.DrawFn) -> Digest:
    kinds = [draw(papers(number)) for number in range(draw(st.integers(1, 5)))]
    total = draw(st.sampled_from([0, 1, 2, 4, 4, 9, 9, 30, 30, 90, 400]))
    topics = min(total, draw(st.sampled_from([1, 2, 20, 300])))
    each = total // max(topics, 1)
    groups = []
    for topic in range(topics):
        numbers = range(topic * each, (topic + 1) * each)
        entries = (structs.replace(kinds[n % len(kinds)], paper_id=n, score=-n) for n in numbers)
        name = f"{draw(TEXTS)[:100]} {topic}" if topic < 5 else f"topic {topic}"
        weight, most = draw(st.sampled_from([(1.0, None), (5.0, None), (0.1, 3)]))
        groups.append(DigestGroup(name, tuple(entries), GroupRule(name, most, weight)))
    report = SourceReport(
        draw(TEXTS), 9, 3, AT, draw(st.sampled_from([None, AT])), draw(TEXTS),
        (SourceWarning("stale", AT - timedelta(days=9), draw(TEXTS)),),
    )  # fmt: skip
    return Digest(
        subscription=draw(TEXTS)[:200],
        period=draw(st.sampled_from(["2026-11-21", "2026-11-21T09:30", "17"])),
        due_at=AT,
        timezone="Asia/Tokyo",
        covers_from=AT,
        composed_at=AT,
        groups=tuple(groups),
        report=(report,) * draw(st.sampled_from([1, 3, 80])),
        full=draw(st.sampled_from([1, 25, 400])),
        waiting=draw(st.integers(0, 2)),
        notes=(draw(TEXTS),) * draw(st.sampled_from([0, 1, 60])),
        titles=draw(st.sampled_from([0, 60, 400])),
        about=AboutSubscription(
            draw(TEXTS)[:100], (draw(TEXTS)[:100],) * draw(st.sampled_from([1, 300])),
            "daily 08:00", "ops@bücher.example", draw(st.booleans()),
        ),
    )  # fmt: skip


def check_mail(made: Digest) -> None:
    parts = mail.render_digest(made, TEMPLATES)
    listed = 0
    for part in parts:
        assert byte_count(part.body["html"]) <= mail.HTML_LIMIT
        assert byte_count(part.body["text"]) <= mail.TEXT_LIMIT
        attached = part.body.get("attachment", {}).get("text", "")
        assert byte_count(attached) <= mail.ATTACHMENT_LIMIT
        listed += attached.count("\n- ") + attached.startswith("- ")
        _check_header(part)
    subjects = [part.body["subject"] for part in parts]
    assert len({*subjects}) == len(subjects) and max(map(len, subjects)) < 300
    html = parts[0].body["html"]
    assert html.count("<h3") + html.count("<li") + listed == made.papers, "each paper once"


def _check_header(part: Rendered) -> None:
    content = OURS.message(delivery(part), Mailbox.parse("ada@example.org"))
    assert content.isascii()
    assert max(map(len, content.split(b"\r\n"))) <= 998


def check_pages(made: Digest) -> None:
    pages = render_pages(made, TEMPLATES, "2026-11-21.html")
    assert all(byte_count(page) <= PAGE_LIMIT for page in pages)
    assert sum(page.count("<h3") + page.count("<li") for page in pages) == made.papers
    for number, page in enumerate(pages, 1):
        assert (f"-page-{number + 1}.html" in page) == (number < len(pages))


class Numbered:
    """The shipped templates; each paper in Slack ends with its number."""

    def render(self, name: str, **values: Any) -> str:
        text = TEMPLATES.render(name, **values)
        listed = name in ("slack/paper.j2", "slack/title_line.j2")
        return f"{text} ⟦{values['entry'].paper_id}⟧" if listed else text


HOOKS = {name: _hook(name) for name in (None, *CHATS)}


def check_webhook(made: Digest, template: str | None) -> None:
    texts = [part.body["json"] for part in HOOKS[template].render(made, TEMPLATES)]
    assert all(byte_count(text) <= BODY_LIMIT for text in texts)
    parts = list(map(json.loads, texts))
    if template is None:
        [body] = parts
        listed = [len(section["papers"]) for section in body["data"]["sections"]]
        assert sum(listed) + body["data"]["left"] == made.papers
    else:
        assert [CHATS[template](part) for part in parts] == [""] * len(parts)


def check_slack(made: Digest) -> None:
    messages = [part.body for part in render_slack(made, Numbered(), menus=True)]
    for message in messages:
        assert 0 < len(message["blocks"]) <= 45 and 0 < len(message["text"]) <= 4_000
        assert all(map(is_valid, message["blocks"]))
        assert sum(len(text) for block in message["blocks"] for text in texts_of(block)) <= 10_000
    whole = "".join(text for m in messages for block in m["blocks"] for text in texts_of(block))
    listed = re.findall(r"⟦(\d+)⟧", "".join(whole.split()))
    assert sorted(map(int, listed)) == sorted(e.paper_id for g in made.groups for e in g.entries)


def check_short(made: Digest) -> None:
    """Text within the limits of ntfy, Markdown within those of a service of short messages."""
    for form, limits in (("txt", ntfy.LIMITS), ("md", short.Limits(title=60, text=900))):
        messages = short.render_digest(made, TEMPLATES, form, limits)  # type: ignore[arg-type]
        assert messages and all(message.text for message in messages)
        for message in messages:
            assert len(message.title) <= limits.title + len(" (999 of 999)")
            assert limits.size_of(message.text) <= limits.text
        if form == "txt":
            text = "\n".join(message.text for message in messages)
            assert text.count("• ") == made.papers, "each paper once"
    in_archive = replace(made, about=replace(made.about, archive_url="https://p.example.org/d"))
    one = short.fit_one(in_archive, TEMPLATES, "txt", ntfy.LIMITS)
    [*_, last] = messages = short.render_digest(one, TEMPLATES, "txt", ntfy.LIMITS)
    if one is not in_archive:
        assert len(messages) == 1 and made.papers == last.text.count("• ") + one.more
        assert (f"{one.more:,} more paper" in last.text) == bool(one.more)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize="LIMITS" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(digests(), st.sampled_from([None, *CHATS]))
def test_M15_E16_no_digest_breaks_a_limit(made: Digest, template: str | None) -> None:
    check_mail(made)
    check_webhook(made, template)
    check_pages(made)
    check_slack(made)
    check_short(made)
