"""A sample digest, with which users' templates are tried before a real one needs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import get_args

from msgspec.structs import replace as replace_fields

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
    MatchReason,
    Notice,
    Paper,
    ReferenceChange,
    ReferenceEvent,
    ReturnedPaper,
    SourceReport,
    TopicWhy,
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


def long_digest() -> Digest:
    """Return a digest of several topics that becomes several messages, and has what few have.

    That is changes of references, papers of earlier digests, and a paper without link, authors and
    reason.
    """
    made = sample_digest([f"{TITLES[number % 3]}, part {number}" for number in range(150)])
    [entries] = [group.entries for group in made.groups]
    found = MatchReason("title", ("Agents",), ((0, 6),), ("agents",))
    long = tuple(
        replace_fields(
            entry,
            paper=replace_fields(entry.paper, abstract=f"{_SIGNS}. {entry.paper.abstract} " * 8),
            matched=(TopicWhy("agents", (found,), "Agents"), TopicWhy("plans", (found,))),
        )
        for entry in entries
    )
    bare = replace_fields(long[0], paper=Paper(_SIGNS, "", ()), matched=())
    events = tuple(
        ReferenceEvent(change, Paper(_SIGNS, "", ("Ada Lovelace",)), (f"doi:10.1/{n}",), AT, "down")
        for n, change in enumerate(ReferenceChange)
    )
    return replace(
        made,
        groups=(
            DigestGroup("agents", (bare, *long[1:50])),
            DigestGroup("plans", long[50:100], more=3),
            DigestGroup("rest", long[100:]),
        ),
        full=120,
        titles=10,
        waiting=2,
        notes=(_SIGNS,),
        returned=(ReturnedPaper(_SIGNS, 2),),
        references=events,
    )


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
    webhooks: list[Callable[[Digest, JinjaTemplates], object]] = []
    for name, channel in channels.items():
        if isinstance(channel.options, WebhookOptions) and channel.options.template:
            webhook = Webhook(name, channel.options, templates)
            webhooks.append(webhook.render)
            notices.append(webhook.shape_notice)
    full = replace(sample_digest((*TITLES, _SIGNS)), full=1, titles=1)
    samples = {"a sample digest": full, "a digest without papers": sample_digest(())}
    problems = dict[str, str]()
    tries: list[tuple[str, Callable[[JinjaTemplates], object]]] = [
        (name, partial(form, digest))
        for form in (*forms, *webhooks)
        for name, digest in samples.items()
    ]
    tries += [("a long sample digest", partial(form, long_digest())) for form in webhooks]
    notice = Notice(_SIGNS, ("since 08:00",), AT)
    tries += [("a sample notice", partial(form, notice)) for form in notices]
    for name, render in tries:
        try:
            render(templates)
        except TemplateError as fault:
            problems.setdefault(str(fault), name)
    for problem, sample in problems.items():
        place = _PLACE.fullmatch(problem)
        file, line, message = place.groups() if place else (str(folder), "1", problem)
        yield Fault(file, int(line), "templates", f"fails with {sample}: {message}")
