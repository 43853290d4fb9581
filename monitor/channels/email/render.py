"""Digests and notices as the bodies of mails, each within its limits: pure.

The papers that do not fit follow as a list in a text attachment, and of very many in further mails.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from monitor.digest.about import archive_link, stop_link, subject
from monitor.digest.layout import batches, byte_count, fit
from monitor.digest.wording import format_count, format_moment
from monitor.model import Digest, DigestGroup, Json, Notice, Rendered, Templates
from monitor.model.delivery import OPERATOR
from monitor.signing import KeyRing
from monitor.text import clean

# Gmail cuts off what is longer than about 102 KB, and the end of the digest with it.
HTML_LIMIT = 80_000
TEXT_LIMIT = 60_000
ATTACHMENT_LIMIT = 250_000
ATTACHMENT = "more-papers.txt"

# Each is one byte in UTF-8, and a part of no other character.
_UNPRINTABLE = bytes({*range(32), 127} - set(b"\t\n"))


def render_digest(
    digest: Digest, templates: Templates, links: ReaderLinks | None = None
) -> tuple[Rendered, ...]:
    """Return the mail of a digest, with places for `links`, and more mails for a very long list."""
    about: Json = {"stop": stop_link(digest), "title": clean(digest.heading)}
    if links:
        about = {**about, "links": links.describe(digest)}
        digest = links.with_placeholders(digest)

    def render(shown: Digest, full: int) -> tuple[str, str]:
        values = {"digest": _noting(shown), "full": full}
        html = templates.render("mail/digest.html.j2", **values)
        return html, templates.render("mail/digest.txt.j2", **values)

    def fits(rendered: tuple[str, str]) -> bool:
        html, text = map(byte_count, rendered)
        return html <= HTML_LIMIT and text <= TEXT_LIMIT

    (html, text), rest = fit(digest, render, fits, digest.at_most)
    if archive_link(digest):
        rest = ()
    first = _body(subject(digest), text, html, digest.composed_at, digest.subscription)
    bodies = [{**first, **about}]
    lists = [*batches(_titles(digest, rest, templates), ATTACHMENT_LIMIT, byte_count)]
    for part, lines in enumerate(lists, 1):
        if part > 1:
            bodies.append({**_further(digest, part, len(lists)), **about})
        bodies[-1]["attachment"] = {"name": ATTACHMENT, "text": _printable("".join(lines))}
    return tuple(Rendered(part, body) for part, body in enumerate(bodies))


def render_notice(notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
    text = templates.render("mail/notice.txt.j2", notice=notice)
    html = templates.render("mail/notice.html.j2", notice=notice)
    title = f"{clean(notice.subject)[:180]} ({format_moment(notice.at, notice.timezone)})"
    return (Rendered(0, _body(title, text, html, notice.at, OPERATOR)),)


def _noting(shown: Digest) -> Digest:
    """Return the shortened digest with a note that names the attachment with the other papers."""
    if not shown.more or archive_link(shown):
        return shown
    are = "is" if shown.more == 1 else "are"
    note = f"{format_count(shown.more, 'more paper')} {are} listed in the attached {ATTACHMENT}."
    return replace(shown, notes=(note, *shown.notes), remarks=(*shown.remarks, note))


def _titles(digest: Digest, rest: Iterable[DigestGroup], templates: Templates) -> Iterator[str]:
    """Yield the headings and title lines of the papers that the mail does not show."""
    write = templates.render  # looked up once: there are hundreds of lines
    for group in rest:
        heading = f"{clean(group.heading)[:200]} ({len(group.entries)})"
        yield f"{heading}\n{'-' * 78}\n\n"
        for entry in group.entries:
            line = write("mail/title_line.txt.j2", entry=entry, digest=digest)
            yield f"{line}\n\n"


def _further(digest: Digest, part: int, parts: int) -> Json:
    text = f"Part {part} of {parts}: more papers are listed in the attached {ATTACHMENT}."
    title = f"{subject(digest)} ({part} of {parts})"
    return _body(title, text, "", digest.composed_at, digest.subscription)


def _body(title: str, text: str, html: str, at: datetime, list_name: str) -> Json:
    return {
        "subject": title,
        "text": _printable(text),
        "html": _printable(html),
        "date": at.isoformat(),
        "list": list_name,
    }


def _printable(text: str) -> str:
    """Return a text without control characters and halves of surrogate pairs."""
    encoded = text.replace("\r\n", "\n").encode("utf-8", "ignore")
    return encoded.translate(None, _UNPRINTABLE).decode("utf-8")


STOP = "stop"
VIEW = "view"
RATE = "rate"
PATHS = {STOP: "/u/", VIEW: "/v/", RATE: "/r/"}


@dataclass(frozen=True, slots=True)
class ReaderLinks:
    """The beginning of the links of each recipient, and the keys that sign them."""

    base: str
    keys: KeyRing

    def with_placeholders(self, digest: Digest) -> Digest:
        """Return a digest with its links, in which a placeholder stands for the token."""
        stop, view, rate = (self._url(name, self._placeholder(name)) for name in PATHS)
        about = replace(digest.about, stop_url=stop, view_url=view, rate_url=rate)
        return replace(digest, about=about)

    def sign_answers(self, digest: Digest, recipient: str) -> Digest:
        """Return a stored digest with the links by which this recipient answers."""
        token = self.keys.sign(RATE, digest.subscription, digest.period, recipient)
        about = replace(digest.about, rate_url=self._url(RATE, token))
        return replace(digest, about=about)

    def describe(self, digest: Digest) -> Json:
        """Return the values that `fill` needs, to be stored with the digest."""
        places = {purpose: self._placeholder(purpose) for purpose in PATHS}
        return {
            "base": self.base,
            "key": self.keys.current,
            "subscription": digest.subscription,
            "period": digest.period,
            "places": places,
        }

    def fill(self, body: Json, recipient: str) -> Json:
        """Return a stored body with the links of a recipient: always the same."""
        links = body.get("links")
        if not links:
            return body
        filled = dict(body)
        for purpose, placeholder in links["places"].items():
            token = self._token(purpose, links, recipient)
            filled |= {part: filled[part].replace(placeholder, token) for part in ("text", "html")}
        url = f"{links['base']}{PATHS[STOP]}{self._token(STOP, links, recipient)}"
        return filled | {"one_click": url}

    def _token(self, purpose: str, links: Json, recipient: str) -> str:
        of_digest = () if purpose == STOP else (links["period"],)
        names = (links["subscription"], *of_digest, recipient)
        return self.keys.sign(purpose, *names, key=links["key"])

    def _url(self, purpose: str, token: str) -> str:
        return f"{self.base}{PATHS[purpose]}{token}"

    def _placeholder(self, purpose: str) -> str:
        """Return a text as long as a token, which no paper can contain: the key is secret."""
        return hashlib.sha512(self.keys.sign("place", purpose).encode()).hexdigest()
