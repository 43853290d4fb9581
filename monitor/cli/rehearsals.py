"""Digests written as files, in the form of each channel: nothing is sent and nothing recorded."""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

from monitor.app import open_app
from monitor.channels.base import Channel
from monitor.channels.email.channel import Mail, Mailbox, message_id
from monitor.channels.email.render import ReaderLinks
from monitor.channels.email.settings import SmtpSettings
from monitor.channels.email.smtp import SmtpServer
from monitor.channels.file import FileOptions, Pages, page_name
from monitor.channels.slack.api import Bot
from monitor.channels.slack.channel import Slack
from monitor.channels.webhook.channel import Webhook
from monitor.cli.options import write_json
from monitor.cli.terminal import console, file_link, show_table, stderr
from monitor.clocks import clock_at
from monitor.commands.shown_papers import past_digest
from monitor.config import load
from monitor.errors import MonitorError, UsageError
from monitor.model import Delivery, DeliveryState, Digest, Rendered
from monitor.pipeline.compose import rehearse
from monitor.pipeline.flow import DigestReport
from monitor.pipeline.runtime import Runtime
from monitor.resources import resource

Write: TypeAlias = Callable[[Runtime, Path, Digest], DigestReport]
# The forms of channels by their kinds; of another kind, its messages are shown.
_FORM_OF_KIND: dict[str, str] = {Pages.kind: "page", Mail.kind: "email", Slack.kind: "slack"}


def dry_run(
    runtime: Runtime,
    names: Sequence[str] = (),
    early: bool = False,
    failed: dict[str, Exception] | None = None,
    order: str | None = None,
) -> list[DigestReport]:
    """Write what would be sent now as pages, maybe in another `order`; send and store nothing."""
    folder = _temporary_folder()
    if order:
        ordered = [
            structs.replace(s, settings=s.settings.model_copy(update={"order": order}))
            for s in runtime.subscriptions
        ]
        runtime = replace(runtime, subscriptions=tuple(ordered))
    composed = rehearse(runtime, names, early=early, failed=failed)
    return [_write_page(runtime, folder, digest) for digest in composed]


def write_digests(
    runtime: Runtime, name: str = "", period: str = "", form: str = "page"
) -> list[DigestReport]:
    """Write a past digest, or the next one, of one subscription or all. Raises MonitorError.

    `form` is one of `FORMS` or the name of a channel; without a name, all that use it are meant.
    """
    write = FORMS.get(form) or _write_of(runtime, form)
    names = [name] if name else _names_with(runtime, "" if form in FORMS else form)
    composed: Iterable[Digest] = (
        [past_digest(runtime, name, period)]
        if period
        else rehearse(runtime, names, ahead=True)
        if names
        else ()
    )
    folder = _temporary_folder()
    return [write(runtime, folder, digest) for digest in composed]


def has_messages(runtime: Runtime, form: str) -> bool:
    """Return whether digests are written as the messages of a channel, for which no form stands."""
    return form not in FORMS and runtime.channels[form].kind not in _FORM_OF_KIND


def _write_of(runtime: Runtime, name: str) -> Write:
    """Return what writes digests as a channel sends them. Raises UsageError."""
    if name not in runtime.channels:
        there = ", ".join(dict.fromkeys((*FORMS, *runtime.channels)))
        raise UsageError(f"{name!r} is neither a form nor a channel", f"there are: {there}")
    channel = runtime.channels[name]
    form = _FORM_OF_KIND.get(channel.kind)
    return FORMS[form] if form else partial(_write_messages, channel)


def _names_with(runtime: Runtime, channel: str) -> list[str]:
    """Return the names of the subscriptions that use a channel, or of all."""
    return [
        known.name
        for known in runtime.subscriptions
        if not channel or any(to.channel == channel for to in known.destinations)
    ]


def write_samples(templates: Path | None, now: datetime | None) -> list[DigestReport]:
    """Write the digests of the sample dumps in each form, by a user's templates."""
    folder = _temporary_folder()
    for seed in resource("seeds").glob("*.*"):
        (folder / seed.name).write_bytes(seed.read_bytes())
    settings = load(folder / "monitor.yaml").model_copy(update={"templates": templates})
    with open_app(settings, clock_at(now)) as app:
        app.once.ingest()
        composed = rehearse(app.runtime, [], ahead=True)
        return [
            write(app.runtime, folder / form, digest)
            for form, write in FORMS.items()
            for digest in composed
        ]


def _temporary_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="paper-monitor-"))


def _write_mail(runtime: Runtime, folder: Path, digest: Digest) -> DigestReport:
    """Write each mail of a digest as it goes to the server, and its HTML for a browser."""
    sender = runtime.sender or "Papers <papers@example.org>"
    server = SmtpServer(SmtpSettings(host="localhost", sender=sender))
    url = runtime.settings.public_url
    links = ReaderLinks(url, runtime.keys) if url else None
    mail = Mail("email", ("you@example.org",), server, links)
    stem = _stem(folder, digest)
    parts = mail.render(digest, runtime.templates)
    for part in parts:
        delivery = _delivery(digest.subscription, digest.period, mail, part)
        number = f"-{part.part + 1}" if part.part else ""
        message = mail.message(delivery, Mailbox.parse(delivery.recipient))
        stem.with_name(f"{stem.name}{number}.eml").write_bytes(message)
    page = stem.with_name(f"{stem.name}.html")
    shown = links.fill(parts[0].body, mail.recipients()[0]) if links else parts[0].body
    page.write_text(shown["html"], encoding="utf-8")
    return _report(digest, mail, parts[0], page)


def _write_slack(runtime: Runtime, folder: Path, digest: Digest) -> DigestReport:
    menus = runtime.settings.takes_slack_answers
    slack = Slack("slack", "#preview", Bot("not used", ""), menus=menus)
    return _write_messages(slack, runtime, folder, digest)


def _write_messages(
    channel: Channel, runtime: Runtime, folder: Path, digest: Digest
) -> DigestReport:
    """Write the messages of a digest as a list in JSON: of a webhook, the bodies that it posts."""
    parts = channel.render(digest, runtime.templates)
    stem = _stem(folder, digest)
    file = stem.with_name(f"{stem.name}.json")
    messages = [
        json.loads(part.body["json"]) if isinstance(channel, Webhook) else part.body
        for part in parts
    ]
    file.write_text(json.dumps(messages, ensure_ascii=False, indent=2), encoding="utf-8")
    return _report(digest, channel, parts[0], file)


def _stem(folder: Path, digest: Digest) -> Path:
    """Return where the files of a digest go, without their endings."""
    own = folder / page_name(digest.subscription).removesuffix(".html")
    own.mkdir(parents=True, exist_ok=True)
    return own / page_name(digest.period).removesuffix(".html")


def _write_page(runtime: Runtime, folder: Path, digest: Digest) -> DigestReport:
    """Write a digest as its page, and the pages that follow it. Raises MonitorError."""
    pages = Pages("rehearsal", FileOptions(path=folder), runtime.templates)
    [part] = pages.render(digest, runtime.templates)
    delivery = _delivery(digest.subscription, digest.period, pages, part)
    outcome = pages.send(delivery, lambda: True)
    if outcome.state is not DeliveryState.SENT:
        raise MonitorError(outcome.error)
    return _report(digest, pages, part, pages.page(delivery))


def _report(digest: Digest, channel: Channel, part: Rendered, path: Path) -> DigestReport:
    """Return a digest that was written, with one delivery: planned, to a file."""
    delivery = _delivery(digest.subscription, digest.period, channel, part, str(path))
    return DigestReport(
        digest.subscription, digest.period, digest.papers, digest.changes, (delivery,)
    )


def _delivery(
    subscription: str,
    period: str,
    channel: Channel,
    part: Rendered,
    recipient: str = "",
    sender: str = "",
) -> Delivery:
    """Return a delivery that is not in the store."""
    return Delivery(
        id=0,
        digest_id=0,
        subscription=subscription,
        period=period,
        channel=channel.name,
        recipient=recipient or channel.recipients()[0],
        part=part.part,
        state=DeliveryState.PLANNED,
        attempts=0,
        message_id=message_id(secrets.token_hex(12), sender),
        created_at=datetime.now(UTC),
        next_attempt_at=None,
        rendered=part,
    )


FORMS: dict[str, Write] = {
    "page": _write_page,
    "email": _write_mail,
    "slack": _write_slack,
}


def show_rehearsals(written: Sequence[DigestReport]) -> None:
    """Show digests that were written as pages: each has one delivery, to a page."""
    rows = [(d.subscription, d.period, d.news, file_link(page_of(d))) for d in written]
    show_table(("Subscription", "Period", "News", "Page"), rows)
    console.print("[dim]Nothing was sent.[/]")


def show_messages(written: Sequence[DigestReport]) -> None:
    """Print the messages of digests that were written as such, one JSON document each."""
    for digest in written:
        for message in json.loads(Path(page_of(digest)).read_text(encoding="utf-8")):
            write_json(message)
    stderr.print("[dim]Nothing was sent.[/]")


def page_of(written: DigestReport) -> str:
    [delivery] = written.deliveries
    return delivery.recipient
