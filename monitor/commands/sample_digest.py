"""A sample digest, with which users' templates are tried before a real one needs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import get_args

from monitor.channels import short
from monitor.channels.email.render import render_digest as render_mail
from monitor.channels.file import FileOptions, Pages
from monitor.channels.slack.blocks import render_digest as render_slack
from monitor.channels.webhook.channel import Webhook, WebhookOptions
from monitor.config.settings import ChannelSettings
from monitor.digest.excerpt import EXCERPT_RULE
from monitor.digest.render import JinjaTemplates
from monitor.errors import Fault, TemplateError
from monitor.model import (
    ChangeKind,
    Digest,
    DigestGroup,
    DigestPaper,
    Notice,
    Paper,
    SourceReport,
)

AT = datetime(2026, 11, 21, 8, tzinfo=UTC)
TITLES = ("Agents that plan", "Agents that ask", "Agents that rest")
# A text that breaks JSON where a template writes it without its filters.
_SIGNS = 'A "plan" and a \\ in\ntwo lines'
NO_CHANNELS: Mapping[str, ChannelSettings] = {}
# Templates of short messages know no limit.
_ANY = short.Limits(title=200, text=4_000)
_PLACE = re.compile(r"(.+):(\d+): (.*)", re.DOTALL)


def sample_digest(titles: Sequence[str] = TITLES) -> Digest:
    """Return a digest of new, revised and withdrawn papers, with a source that fails."""
    kinds = (ChangeKind.NEW, ChangeKind.REVISED, ChangeKind.WITHDRAWN)
    entries = tuple(
        DigestPaper(
            paper_id=number,
            revision=1,
            kind=kinds[number % 3],
            paper=Paper(
                title,
                "Agents plan $x^2$ steps. They reach their goal.",
                ("Ada Lovelace", "Bo Diddley"),
                url=f"https://example.org/{number}",
            ),
            first_seen=AT,
            sources=("feed",),
            score=1.0,
            matched=(),
            excerpt_rule=EXCERPT_RULE,
        )
        for number, title in enumerate(titles)
    )
    groups = (DigestGroup("agents", entries),) if entries else ()
    start = AT - timedelta(days=1)
    report = (SourceReport("feed", 9, 3, AT), SourceReport("down", 0, 0, None, start, "HTTP 503"))
    return Digest("lab", "2026-11-21", AT, "UTC", start, AT, groups, report)


def _as_short(form: short.Form, digest: Digest, templates: JinjaTemplates) -> object:
    return short.render_digest(digest, templates, form, _ANY)


def _notice_as_short(form: short.Form, notice: Notice, templates: JinjaTemplates) -> object:
    return short.render_notice(notice, templates, form, _ANY)


def template_faults(
    folder: Path, channels: Mapping[str, ChannelSettings] = NO_CHANNELS
) -> Iterator[Fault]:
    """Yield the faults of users' templates: of each file, or else of the digests that they make.

    Those of webhooks are tried for the `channels` that name them.
    """
    templates = JinjaTemplates(folder)
    faults = templates.faults()
    yield from faults
    if faults:
        return
    pages = Pages("pages", FileOptions(path=folder), templates)
    forms: list[Callable[[Digest, JinjaTemplates], object]] = [
        render_mail,
        render_slack,
        pages.render,
        *(partial(_as_short, form) for form in get_args(short.Form)),
    ]
    notices: list[Callable[[Notice, JinjaTemplates], object]] = [
        partial(_notice_as_short, form) for form in get_args(short.Form)
    ]
    for name, channel in channels.items():
        if isinstance(channel.options, WebhookOptions) and channel.options.template:
            webhook = Webhook(name, channel.options, templates)
            forms.append(webhook.render)
            notices.append(webhook.shape_notice)
    full = replace(sample_digest((*TITLES, _SIGNS)), full=1, titles=1)
    problems = dict[str, None]()
    tries = [partial(form, digest) for form in forms for digest in (full, sample_digest(()))]
    tries += [partial(form, Notice(_SIGNS, ("since 08:00",), AT)) for form in notices]
    for render in tries:
        try:
            render(templates)
        except TemplateError as fault:
            problems[str(fault)] = None
    for problem in problems:
        place = _PLACE.fullmatch(problem)
        file, line, message = place.groups() if place else (str(folder), "1", problem)
        yield Fault(file, int(line), "templates", f"fails with a sample digest: {message}")
