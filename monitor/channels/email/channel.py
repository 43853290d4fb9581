"""E-mail: one multipart/alternative message a digest, text first, the same bytes at each attempt.

What a digest says is frozen when it is rendered; a message is that, put into an envelope for one
recipient under the Message-ID of its delivery (RFC 5322, RFC 2046, RFC 3834, RFC 2919).
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email.header import Header
from email.utils import format_datetime, formataddr
from functools import lru_cache
from typing import Annotated

import idna

from monitor.channels.base import Channel, ChannelOptions, Shared
from monitor.channels.email.mime import multipart
from monitor.channels.email.pool import MailServer
from monitor.channels.email.session import Letter
from monitor.errors import UsageError
from monitor.model import (
    Delivery,
    DeliveryState,
    Digest,
    Notice,
    Outcome,
    Rendered,
    Step,
    Templates,
)
from monitor.setting_types import SOME, Recipients
from monitor.text import clean

__all__ = ["Mail", "Mailbox", "message_id"]

# The outage group of all mail: there is one server.
SMTP_SERVER = "smtp"

# Gmail cuts off what is longer than about 102 KB, and the end of the digest with it.
HTML_LIMIT = 80_000

# Longer ones are folded into encoded words by some libraries, and then match nothing.
MESSAGE_ID_LIMIT = 60

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_SENDER = re.compile(r'\s*"?(?P<name>.*?)"?\s*<(?P<address>[^<>]*)>\s*')
_LOCAL_PART = re.compile(r'[^\s\x00-\x1f\x7f()<>\[\]:;@\\,"]{1,64}')


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address as it is written on an envelope: the domain in A-labels (IDNA 2008)."""

    local: str
    domain: str

    @classmethod
    def parse(cls, address: str) -> Mailbox:
        """Read `local@domain`. Raises ValueError, in words, for what is no address."""
        local, at, domain = address.strip().rpartition("@")
        if not at or not _LOCAL_PART.fullmatch(local):
            raise ValueError(f"{address!r} is not an e-mail address")
        try:
            return cls(local, _a_labels(domain))
        except idna.IDNAError as error:
            raise ValueError(f"{address!r} has no valid domain: {error}") from error

    @property
    def utf8(self) -> bool:
        """Whether a server has to know SMTPUTF8 (RFC 6531) to take it."""
        return not self.local.isascii()

    def __str__(self) -> str:
        return f"{self.local}@{self.domain}"


@lru_cache(maxsize=4096)
def _a_labels(domain: str) -> str:
    """Return a domain in A-labels; many recipients share one. Raises idna.IDNAError."""
    return idna.encode(domain, uts46=True).decode("ascii")


def message_id(token: str, sender: str) -> str:
    """Return a Message-ID for `token`, always the same one, in the sender's domain.

    It has at most 60 characters: of a long domain only the end is taken.
    """
    left = hashlib.sha256(token.encode()).hexdigest()[:24]
    domain = sender_domain(sender)
    while len(left) + len(domain) + 3 > MESSAGE_ID_LIMIT and "." in domain:
        domain = domain.partition(".")[2]
    return f"<{left}@{domain}>"


class EmailOptions(ChannelOptions):
    """A channel of kind `email`: addresses that several subscriptions share."""

    to: Annotated[Recipients, SOME]


class Mail(Channel):
    """The channel `kind: email`: one message to each of `to`, one recipient a transaction."""

    kind = "email"
    Options = EmailOptions

    def __init__(self, name: str, to: Sequence[str], server: MailServer) -> None:
        """Raises UsageError when the server's `sender` is no address."""
        self.name = name
        self.outage_group = SMTP_SERVER
        self._to = tuple(to)
        self._server = server
        self._from_name, self._from = _sender(server.sender)

    @classmethod
    def open(cls, name: str, options: EmailOptions, shared: Shared) -> Mail:
        return cls(name, options.to, shared.smtp)

    def recipients(self) -> tuple[str, ...]:
        return self._to

    def render(self, digest: Digest, templates: Templates) -> tuple[Rendered, ...]:
        text = templates.render("mail/digest.txt.j2", digest=digest, full=digest.full)
        html = _fitting(digest, templates)
        body = _body(_subject(digest), text, html, digest.composed_at, digest.subscription)
        return (Rendered(0, body),)

    def render_notice(self, notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
        text = templates.render("mail/notice.txt.j2", notice=notice)
        html = templates.render("mail/notice.html.j2", notice=notice)
        subject = f"{clean(notice.subject)[:180]} ({notice.at:%Y-%m-%d %H:%M} UTC)"
        return (Rendered(0, _body(subject, text, html, notice.at, "@operator")),)

    def send(self, delivery: Delivery, commit_handoff: Callable[[], bool]) -> Outcome:
        try:
            recipient = Mailbox.parse(delivery.recipient)
        except ValueError as error:
            return Outcome(DeliveryState.FAILED, str(error))
        content = self.message(delivery, recipient)
        letter = Letter(str(self._from), str(recipient), content, recipient.utf8)
        return self._server.send(letter, commit_handoff)

    def check(self) -> str:
        return self._server.check()

    def steps(self) -> tuple[Step, ...]:
        return self._server.steps()

    def close(self) -> None:
        self._server.close()

    def message(self, delivery: Delivery, recipient: Mailbox) -> bytes:
        """Return the message in full, CRLF at each end of line: nothing in it is left to chance.

        What machines read stands in one unfolded ASCII line each (RFC 5322 allows 998 octets),
        since `EmailMessage` would encode a long one.
        """
        body = delivery.rendered.body
        sent = format_datetime(datetime.fromisoformat(body["date"]))
        lines = [
            f"From: {_format_mailbox(self._from_name, str(self._from))}",
            f"To: {recipient}",
            f"Date: {sent}",
            f"Message-ID: {delivery.message_id}",
            f"List-Id: <{_label(body['list'])}.{self._from.domain}>",
            "Auto-Submitted: auto-generated",
        ]
        boundary = f"=_{hashlib.sha256(delivery.message_id.encode()).hexdigest()[:32]}"
        return "".join(f"{line}\r\n" for line in lines).encode() + multipart(
            body["subject"], body["text"], body["html"], boundary
        )


def _sender(sender: str) -> tuple[str, Mailbox]:
    """Read `Name <local@domain>` or `local@domain`; the name needs no quotes."""
    written = _SENDER.fullmatch(sender)
    name, address = written.group("name", "address") if written else ("", sender)
    try:
        mailbox = Mailbox.parse(address)
    except ValueError as error:
        raise UsageError(f"smtp.from: {error}", "write Papers <papers@example.org>") from error
    if mailbox.utf8:
        raise UsageError(f"smtp.from: {address} has letters that not every server takes")
    return clean(name)[:60], mailbox


def _format_mailbox(name: str, address: str) -> str:
    if name.isascii():
        return formataddr((name, address))
    encoded = Header(name, "utf-8").encode(linesep="\r\n")
    return f"{encoded} <{address}>"


def sender_domain(sender: str) -> str:
    """Return the domain that mail is from, `localhost` where there is none."""
    try:
        return _sender(sender)[1].domain
    except UsageError:
        return "localhost"


def _body(subject: str, text: str, html: str, at: datetime, list_name: str) -> dict[str, str]:
    return {
        "subject": subject,
        "text": _UNPRINTABLE.sub("", text.replace("\r\n", "\n")),
        "html": _UNPRINTABLE.sub("", html.replace("\r\n", "\n")),
        "date": at.isoformat(),
        "list": list_name,
    }


def _subject(digest: Digest) -> str:
    """One for each digest, since mail programs fold repeats into one conversation."""
    found = {0: "no papers", 1: "1 paper"}.get(digest.papers, f"{digest.papers} papers")
    period = digest.period.replace("T", " ")
    if period.isdigit():
        period = f"{digest.due_at:%Y-%m-%d} #{period}"
    return f"{clean(digest.subscription)[:100]}: {found}, {period}"


def _fitting(digest: Digest, templates: Templates) -> str:
    """Render the HTML within its limit: fewer papers in full, then fewer papers.

    The text part of the same mail always has all of them.
    """

    def in_full(full: int) -> str:
        return templates.render("mail/digest.html.j2", digest=digest, full=full)

    def by_title(papers: int) -> str:
        kept = _best(digest, papers)
        return templates.render("mail/digest.html.j2", digest=kept, full=0)

    html = in_full(digest.full)
    if _fits(html):
        return html
    if _fits(html := in_full(0)):
        return in_full(_most(in_full, min(digest.full, digest.papers)))
    return by_title(_most(by_title, digest.papers))


def _most(render: Callable[[int], str], limit: int) -> int:
    """Return the largest number below `limit` for which `render` fits; 0 if none does."""
    return bisect_right(range(1, limit), False, key=lambda n: not _fits(render(n)))


def _fits(html: str) -> bool:
    return len(html.encode("utf-8", "replace")) <= HTML_LIMIT


def _best(digest: Digest, papers: int) -> Digest:
    """Return the digest with only its best papers, and a note on where the others are."""
    entries = [entry for group in digest.groups for entry in group.entries]
    best = sorted(entries, key=lambda entry: (entry.late, -entry.score))[:papers]
    kept = {entry.paper_id for entry in best}
    groups = (
        replace(group, entries=tuple(e for e in group.entries if e.paper_id in kept))
        for group in digest.groups
    )
    note = f"{len(entries) - len(best)} more papers are in the text part of this mail."
    return replace(
        digest, groups=tuple(g for g in groups if g.entries), notes=(*digest.notes, note)
    )


def _label(name: str) -> str:
    """Return a name as one label of a List-Id: two different names never share one."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    if plain == name:
        return plain
    return f"{plain or 'list'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
