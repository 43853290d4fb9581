"""The MIME of a mail: text and HTML as they go over the wire, each encoded once (RFC 2045).

`email.message.EmailMessage` takes several milliseconds for a digest, nearly all of them to encode
its two parts in Python. They are encoded here by the C of `binascii`, and kept for the other
recipients of the same digest. What a reader of mail sees is the same: a test holds that.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from email.header import Header
from functools import lru_cache

from monitor.model import Json

# Lines longer than this are encoded: RFC 5322 asks for 78 characters, and some servers break them.
LINE = 78
BASE64_LINE = 76
ENCODED_LINE = 76  # of a header with encoded words (RFC 2047, 2)
# A digest to many has a few parts of up to some 100 KB each; several may be under way at once.
KEPT = 32
# Where UTF-8 takes so many bytes more than there are characters, a share of all, base64 is shorter.
_BASE64_FROM = 1 / 10

# Encoded paragraphs of at most so many bytes are kept.
_SHORT = 1_000

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
    """Return the encoding that makes it shortest, and the content in it, on the wire.

    The content ends with an end of line.
    """
    raw = content.encode("utf-8", "replace")
    if raw.isascii() and not _TOO_LONG.search(raw):
        return "7bit", raw.replace(b"\n", b"\r\n")
    if len(raw) - len(content) > len(raw) * _BASE64_FROM:
        return "base64", _base64(raw.replace(b"\n", b"\r\n"))
    paragraphs = raw[:-1].split(b"\n\n")
    return "quoted-printable", b"\r\n".join(map(_quote_paragraph, paragraphs))


def _quote_paragraph(paragraph: bytes) -> bytes:
    return (_quote_short if len(paragraph) <= _SHORT else _quote)(paragraph)


def _quote(paragraph: bytes) -> bytes:
    """Return a paragraph, and an end of line after it, as quoted-printable on the wire."""
    return binascii.b2a_qp(paragraph + b"\n", istext=True).replace(b"\n", b"\r\n")


# The digests of a day list the same papers, each a paragraph of its own.
_quote_short = lru_cache(maxsize=4_096)(_quote)


def _base64(raw: bytes) -> bytes:
    whole = binascii.b2a_base64(raw, newline=False)
    lines = [whole[at : at + BASE64_LINE] for at in range(0, len(whole), BASE64_LINE)]
    return b"\r\n".join(lines) + b"\r\n"
