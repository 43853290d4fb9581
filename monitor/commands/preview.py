"""`preview` and `digest --dry-run`: digests as files, with nothing sent or recorded."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from msgspec import structs

from monitor.app import DigestReport, open_app
from monitor.channels.base import Channel
from monitor.channels.email.channel import Mail, Mailbox
from monitor.channels.email.reader_links import ReaderLinks
from monitor.channels.email.settings import SmtpSettings
from monitor.channels.email.smtp import SmtpServer
from monitor.channels.file import Pages, page_name
from monitor.channels.slack.channel import Slack
from monitor.clocks import clock_at
from monitor.commands.send_test import unrecorded_delivery
from monitor.config import load
from monitor.digest.compose import explain_again
from monitor.errors import UsageError
from monitor.model import DeliveryState, Digest, Rendered
from monitor.pipeline.compose import rehearse
from monitor.pipeline.freeze import OnFailure, log_failure
from monitor.pipeline.runtime import Runtime
from monitor.resources import resource
from monitor.store.digests import digests


def dry_run(
    runtime: Runtime,
    names: Sequence[str] = (),
    early: bool = False,
    on_failure: OnFailure = log_failure,
    order: str | None = None,
) -> list[DigestReport]:
    """Write what would be sent now as pages; send nothing and change nothing else.

    `order` is another one than the subscriptions have.
    """
    folder = _temporary_folder()
    if order:
        ordered = [
            structs.replace(s, settings=s.settings.model_copy(update={"order": order}))
            for s in runtime.subscriptions
        ]
        runtime = replace(runtime, subscriptions=tuple(ordered))
    composed = rehearse(runtime, names, early=early, on_failure=on_failure)
    return [_write_page(runtime, folder, digest) for digest in composed]


def preview(
    runtime: Runtime, name: str = "", period: str = "", channel: str = "page"
) -> list[DigestReport]:
    """Write a past digest, or the next one, of one subscription or of all, as a channel sends it.

    `channel` is one of FORMS. Raises UsageError, and TemplateError for users' templates.
    """
    write = FORMS[channel]
    names = [name] if name else [s.name for s in runtime.subscriptions]
    if period:
        composed = [past_digest(runtime, name, period)]
    else:
        composed = list(rehearse(runtime, names, early=True))
    folder = _temporary_folder()
    return [write(runtime, folder, digest) for digest in composed]


def past_digest(runtime: Runtime, name: str, period: str) -> Digest:
    """Return a digest as it was frozen, its matches explained again where that was removed.

    Raises UsageError where there is none.
    """
    with runtime.database.reading() as tx:
        digest = digests.of_period(tx, name, period)
    if digest is None:
        raise UsageError(f"there is no digest of {name!r} for {period!r}")
    if digests.TEXTS_REMOVED in digest.notes:
        return explain_again(digest, runtime.in_force.explain(runtime.topics))
    return digest


def preview_templates(templates: Path | None, now: datetime | None) -> list[DigestReport]:
    """Write the digests of the sample dumps in each form, by a user's templates."""
    folder = _temporary_folder()
    for seed in resource("seeds").glob("*.*"):
        (folder / seed.name).write_bytes(seed.read_bytes())
    settings = load(folder / "monitor.yaml").model_copy(update={"templates": templates})
    with open_app(settings, clock_at(now)) as app:
        app.ingest()
        composed = rehearse(app.runtime, [], early=True)
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
    links = ReaderLinks(runtime.public_url, runtime.keys) if runtime.public_url else None
    mail = Mail("email", ("you@example.org",), server, links)
    stem = _stem(folder, digest)
    parts = mail.render(digest, runtime.templates)
    for part in parts:
        delivery = unrecorded_delivery(digest.subscription, digest.period, mail, part)
        number = f"-{part.part + 1}" if part.part else ""
        message = mail.message(delivery, Mailbox.parse(delivery.recipient))
        stem.with_name(f"{stem.name}{number}.eml").write_bytes(message)
    page = stem.with_name(f"{stem.name}.html")
    shown = links.fill(parts[0].body, mail.recipients()[0]) if links else parts[0].body
    page.write_text(shown["html"], encoding="utf-8")
    return _report(digest, mail, parts[0], page)


def _write_slack(runtime: Runtime, folder: Path, digest: Digest) -> DigestReport:
    """Write the messages of a digest as Slack gets them."""
    slack = Slack("slack", channel="#preview", token="not used")
    parts = slack.render(digest, runtime.templates)
    stem = _stem(folder, digest)
    file = stem.with_name(f"{stem.name}.json")
    messages = [part.body for part in parts]
    file.write_text(json.dumps(messages, ensure_ascii=False, indent=2), encoding="utf-8")
    return _report(digest, slack, parts[0], file)


def _stem(folder: Path, digest: Digest) -> Path:
    """Return where the files of a digest go, without their endings."""
    page = page_name(digest.period).removesuffix(".html")
    place = folder / page_name(digest.subscription).removesuffix(".html")
    place.mkdir(parents=True, exist_ok=True)
    return place / page


def _report(digest: Digest, channel: Channel, part: Rendered, file: Path) -> DigestReport:
    delivery = unrecorded_delivery(digest.subscription, digest.period, channel, part)
    written = replace(delivery, recipient=str(file), reference=str(file))
    return DigestReport(digest.subscription, digest.period, digest.papers, (written,))


def _write_page(runtime: Runtime, folder: Path, digest: Digest) -> DigestReport:
    pages = Pages("rehearsal", folder, runtime.templates)
    [rendered] = pages.render(digest, runtime.templates)
    delivery = unrecorded_delivery(digest.subscription, digest.period, pages, rendered)
    outcome = pages.send(delivery, lambda: True)
    written = replace(
        delivery,
        recipient=outcome.reference or delivery.recipient,
        state=DeliveryState.PLANNED if outcome.state is DeliveryState.SENT else outcome.state,
        error=outcome.error,
        reference=outcome.reference,
    )
    return DigestReport(digest.subscription, digest.period, digest.papers, (written,))


FORMS: dict[str, Callable[[Runtime, Path, Digest], DigestReport]] = {
    "page": _write_page,
    "email": _write_mail,
    "slack": _write_slack,
}
