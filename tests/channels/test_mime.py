"""The fast MIME says the same as the standard library's, and keeps to the RFCs."""

from __future__ import annotations

import email
import email.policy
import re
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import SMTP

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from monitor.channels.email.channel import multipart

BOUNDARY = "=_0123456789abcdef0123456789abcdef"
# What `Mail` hands over: printable, and no carriage returns.
TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc")) | st.sampled_from("\n\t =."))
SUBJECT = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), max_size=300)


def theirs(subject: str, text: str, html: str) -> bytes:
    message = EmailMessage(SMTP.clone(cte_type="7bit"))
    message["Subject"] = subject
    message.set_content(text)
    message.add_alternative(html, subtype="html")
    message.set_boundary(BOUNDARY)
    return message.as_bytes()


def read(content: bytes) -> list[object]:
    """What a mail program finds: subject, kinds, charsets and texts of the parts; no defects."""
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert message.defects == []
    parts = list(message.iter_parts())
    assert [part.defects for part in parts] == [[], []]
    kinds = [(part.get_content_type(), part.get_content_charset()) for part in parts]
    return [message["Subject"], kinds, [part.get_content() for part in parts]]


@given(SUBJECT, TEXT, TEXT)
@example("ada: 12 papers, 2026-11-21", "plain\n", "<p>plain</p>\n")
@example("ada: “zwölf”, 2026-11-21", "a\n" * 50 + "é" * 500, "<p>" + "word " * 400 + "</p>")
@example("=?utf-8?q?x?=", ".\n..\nFrom me\n", " trailing \t\n=\n")
@example("long " * 50, "論文" * 3000, "論文の要約。" * 2000)
@example("33 papers: Reinforcement learning methods 21, Planning and search 9 · 23 Nov", "a", "b")
@example("", "", "")
def test_a_mail_program_reads_the_same(subject: str, text: str, html: str) -> None:
    ours = multipart(subject, text, html, BOUNDARY)
    of_library = read(theirs("", text, html) + b"\r\n")
    assert read(ours) == [subject, *of_library[1:]]


@given(SUBJECT)
@example("33 papers: Reinforcement learning methods 21, Planning and search 9 · 23 Nov")
@example("Re: Abo actualités 20 semaines d’abonnement à 24 heures, Tribune de Genève et tous" * 2)
def test_a_folded_subject_has_no_space_more_or_less(subject: str) -> None:
    """RFC 5322, 2.2.3: unfolding removes each CRLF. RFC 2047, 2: encoded words have 75 octets."""
    header = re.match(rb"Subject: ((?:[^\r]|\r\n )*)\r\n", multipart(subject, "", None, BOUNDARY))
    assert header
    lines = header[1].split(b"\r\n ")
    assert all(line == line.strip() and len(line) <= 75 for line in lines)
    unfolded = b" ".join(lines).decode()
    assert str(make_header(decode_header(unfolded))) == subject


@given(SUBJECT, TEXT, TEXT)
def test_E23_the_wire_has_short_lines_of_ascii(subject: str, text: str, html: str) -> None:
    """RFC 5322 2.1.1 and 2.3, RFC 2045 6.7 and 6.8: no line over 78, no bare CR or LF, 7 bits."""
    ours = multipart(subject, text, html, BOUNDARY)
    assert ours.isascii()
    assert ours.endswith(b"\r\n")
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)", ours)
    assert max(map(len, ours.split(b"\r\n"))) <= 78
    for encoded in re.findall(rb"quoted-printable\r\n\r\n(.*?)\r\n--=_", ours, re.DOTALL):
        assert max(map(len, encoded.split(b"\r\n"))) <= 76


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("plain and short\n" * 40, "7bit"),
        ("plain and long " * 40, "quoted-printable"),
        ("a few “quotes” in much else that is plain\n" * 40, "quoted-printable"),
        ("Результаты опытов\n" * 40, "base64"),
    ],
)
def test_a_text_is_encoded_as_little_as_it_needs(text: str, encoding: str) -> None:
    ours = multipart("s", text, "<p>", BOUNDARY).decode()
    assert ours.partition("Content-Transfer-Encoding: ")[2].startswith(f"{encoding}\r\n")
