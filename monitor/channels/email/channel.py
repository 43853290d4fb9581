"""E-mail: one multipart/alternative message a digest, text first, the same bytes at each attempt.

RFC 5322, RFC 2046, RFC 3834, RFC 2919. The Message-ID is that of the delivery.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.utils import format_datetime, formataddr
from functools import lru_cache
from typing import Annotated

import idna
from pydantic import Field

from monitor.channels.base import Channel, ChannelOptions, Shared
from monitor.channels.email import render
from monitor.channels.email.render import ReaderLinks
from monitor.channels.email.sendmail import Sendmail
from monitor.channels.email.smtp import Letter, SmtpServer
from monitor.errors import UsageError
from monitor.model import (
    Delivery,
    DeliveryState,
    Digest,
    Json,
    Notice,
    Outcome,
    Rendered,
    Step,
    Templates,
)
from monitor.setting_types import SOME, Recipients
from monitor.text import clean

# The outage group of all mail: there is one server.
SMTP_SERVER = "smtp"

# Longer ones are folded into encoded words by some libraries, and then match nothing.
MESSAGE_ID_LIMIT = 60
LIST_ID_LIMIT = 255

_SENDER = re.compile(r"(?P<name>.*)<(?P<address>[^<>]*)>")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9 .,:;'()/&+-]{1,100}")
_LOCAL_PART = re.compile(r'[^\s\x00-\x1f\x7f()<>\[\]:;@\\,"]{1,64}')


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address as it is written on an envelope: the domain in A-labels (IDNA 2008)."""

    local: str
    domain: str

    @classmethod
    def parse(cls, address: str) -> Mailbox:
        """Read `local@domain`. Raises ValueError, which explains what is wrong."""
        local, at, domain = address.strip().rpartition("@")
        if not at or not _LOCAL_PART.fullmatch(local):
            raise ValueError(f"{address!r} is not an e-mail address")
        try:
            return cls(local, idna.encode(domain, uts46=True).decode("ascii"))
        except idna.IDNAError as error:
            raise ValueError(f"{address!r} has no valid domain: {error}") from error

    @property
    def utf8(self) -> bool:
        """Whether a server has to know SMTPUTF8 (RFC 6531) to take it."""
        return not self.local.isascii()

    def __str__(self) -> str:
        return f"{self.local}@{self.domain}"


def message_id(token: str, sender: str) -> str:
    """Return the only Message-ID of `token`, in the sender's domain, or the end of a long one."""
    left = hashlib.sha256(token.encode()).hexdigest()[:24]
    domain = sender_domain(sender)
    while len(left) + len(domain) + 3 > MESSAGE_ID_LIMIT and "." in domain:
        domain = domain.partition(".")[2]
    return f"<{left}@{domain}>"


class EmailOptions(ChannelOptions):
    """A channel of kind `email`: addresses that several subscriptions share."""

    to: Annotated[Recipients, SOME] = Field(description="one address or a list")


class Mail(Channel):
    """The channel `kind: email`: one message to each of `to`, one recipient a transaction."""

    kind = "email"
    is_personal = True
    Options = EmailOptions

    def __init__(
        self,
        name: str,
        to: Sequence[str],
        server: SmtpServer | Sendmail,
        links: ReaderLinks | None = None,
    ) -> None:
        """Raises UsageError when the server's `sender` is no address."""
        self.name = name
        self.outage_group = SMTP_SERVER
        self.unknown = server.unknown
        self._to = tuple(to)
        self._server = server
        self._links = links
        self._from_name, self._from = _sender(server.sender)

    @classmethod
    def open(cls, name: str, options: EmailOptions, shared: Shared) -> Mail:
        return cls(name, options.to, shared.smtp, shared.links)

    def recipients(self) -> tuple[str, ...]:
        return self._to

    def render(self, digest: Digest, templates: Templates) -> tuple[Rendered, ...]:
        return render.render_digest(digest, templates, self._links)

    def render_notice(self, notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
        return render.render_notice(notice, templates)

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

    def leaves_papers(self, digest: Digest) -> bool:
        return bool(digest.at_most)

    def steps(self) -> tuple[Step, ...]:
        return self._server.steps()

    def close(self) -> None:
        self._server.close()

    def message(self, delivery: Delivery, recipient: Mailbox) -> bytes:
        """Return the whole message, with CRLF at each end of line.

        Headers that programs read are single ASCII lines, not folded (RFC 5322 allows 998 octets):
        `EmailMessage` would encode a long one.
        """
        body = delivery.rendered.body
        if self._links:
            body = self._links.fill(body, delivery.recipient)
        sent = format_datetime(datetime.fromisoformat(body["date"]))
        label = _label(body["list"])
        lines = [
            f"From: {_format_mailbox(self._from_name, str(self._from))}",
            f"To: {recipient}",
            f"Date: {sent}",
            f"Message-ID: {delivery.message_id}",
            f"List-Id: {_list_id(label, self._from.domain, body)}",
            "Auto-Submitted: auto-generated",
            f"Feedback-ID: {label}:digest:paper-monitor",
        ]
        lines += _stop_headers(body)
        boundary = f"=_{hashlib.sha256(delivery.message_id.encode()).hexdigest()[:32]}"
        head = "".join(f"{line}\r\n" for line in lines).encode()
        return head + multipart(
            body["subject"], body["text"], body["html"] or None, boundary, body.get("attachment")
        )


def _stop_headers(body: Json) -> list[str]:
    """Return how a mail program stops the digests: by a page, by a mail (RFC 2369, RFC 8058)."""
    urls = [url for url in (body.get("one_click"), body.get("stop")) if url]
    headers = [f"List-Unsubscribe: {', '.join(f'<{url}>' for url in urls)}"] if urls else []
    if str(body.get("one_click", "")).startswith("https:"):
        headers.append("List-Unsubscribe-Post: List-Unsubscribe=One-Click")
    return headers


def _sender(sender: str) -> tuple[str, Mailbox]:
    """Read `Name <local@domain>` or `local@domain`; the name needs no quotes."""
    written = _SENDER.fullmatch(sender.strip())
    name, address = written.group("name", "address") if written else ("", sender)
    name = name.strip().removeprefix('"').removesuffix('"')
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


def sender_address(sender: str) -> str:
    """Return the address that mail is from, "" where there is none."""
    try:
        return str(_sender(sender)[1])
    except UsageError:
        return ""


def sender_domain(sender: str) -> str:
    """Return the domain that mail is from, `localhost` where there is none."""
    return sender_address(sender).rpartition("@")[2] or "localhost"


def _list_id(label: str, domain: str, body: Json) -> str:
    """Return a list's id (RFC 2919), after its name in quotes where that is plain and short."""
    name = str(body.get("title", ""))
    plain = f"<{label}.{domain}>"
    named = f'"{name}" {plain}'
    return named if _PLAIN_NAME.fullmatch(name) and len(named) <= LIST_ID_LIMIT else plain


def _label(name: str) -> str:
    """Return a name as one label of a List-Id: two different names never share one."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    if plain == name:
        return plain
    return f"{plain or 'list'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


# ── MIME (RFC 2045): text and HTML as they go over the wire, each encoded once ──────

# `email.message.EmailMessage` encodes in Python, which takes several milliseconds for a digest.
# Here the C of `binascii` does it, and parts are kept for the other recipients of the digest.

# Lines longer than this are encoded: RFC 5322 asks for 78 characters, and some servers break them.
LINE = 78
ENCODED_LINE = 76  # of a header with encoded words (RFC 2047, 2)
# A digest to many has a few parts of up to some 100 KB each; several may be under way at once.
KEPT = 32
# Base64 is shorter where this share of the bytes of UTF-8 are beyond one a character.
_BASE64_FROM = 1 / 10

_PLAIN_SUBJECT = re.compile(r"[!-~](?:[ -~]{0,66}[!-~])?")
_TOO_LONG = re.compile(rb"[^\n]{%d}" % (LINE + 1))


def multipart(
    subject: str, text: str, html: str | None, boundary: str, attachment: Json | None = None
) -> bytes:
    """Return Subject, MIME headers and body of a mail, CRLF at each end of line.

    Text comes first and HTML, if there is some, last; an attachment is `name` and `text`.
    """
    parts = [_part(text, "plain"), *([] if html is None else [_part(html, "html")])]
    content = parts[0] if len(parts) == 1 else _join("alternative", parts, boundary)
    if attachment:
        parts = [content, _part(attachment["text"], "plain", attachment["name"])]
        content = _join("mixed", parts, f"{boundary}.2")
    return _subject(subject) + b"MIME-Version: 1.0\r\n" + content


def _join(kind: str, parts: Iterable[bytes], boundary: str) -> bytes:
    line = f"--{boundary}".encode()
    head = f'Content-Type: multipart/{kind};\r\n boundary="{boundary}"\r\n\r\n'
    pieces = (piece for part in parts for piece in (line, b"\r\n", part))
    return b"".join((head.encode(), *pieces, line, b"--\r\n"))


def _subject(subject: str) -> bytes:
    """Return a short plain subject as it is, and any other as encoded words of RFC 2047.

    All of it: `email.policy` encodes single words only, and where it folds between them, it adds a
    space or leaves one out (https://github.com/python/cpython/issues/144156).
    """
    if _PLAIN_SUBJECT.fullmatch(subject) and "=?" not in subject:
        return f"Subject: {subject}\r\n".encode()
    header = Header(subject, "utf-8", maxlinelen=ENCODED_LINE, header_name="Subject")
    return b"Subject: %b\r\n" % header.encode(linesep="\r\n").encode()


@lru_cache(maxsize=KEPT)
def _part(content: str, subtype: str, name: str = "") -> bytes:
    """Return a part with its headers; it ends with an end of line, as the next boundary wants."""
    encoding, body = _encode(content if content.endswith("\n") else f"{content}\n")
    head = (
        f'Content-Type: text/{subtype}; charset="utf-8"\r\n'
        f"Content-Transfer-Encoding: {encoding}\r\n"
    )
    if name:
        head += f'Content-Disposition: attachment; filename="{name}"\r\n'
    return f"{head}\r\n".encode() + body + b"\r\n"


def _encode(content: str) -> tuple[str, bytes]:
    """Return the shortest encoding, and in it the content, which ends with an end of line."""
    raw = content.encode("utf-8", "replace")
    if raw.isascii() and not _TOO_LONG.search(raw):
        return "7bit", raw.replace(b"\n", b"\r\n")
    if len(raw) - len(content) > len(raw) * _BASE64_FROM:
        whole = base64.encodebytes(raw.replace(b"\n", b"\r\n"))
        return "base64", whole.replace(b"\n", b"\r\n")
    return "quoted-printable", binascii.b2a_qp(raw, istext=True).replace(b"\n", b"\r\n")
