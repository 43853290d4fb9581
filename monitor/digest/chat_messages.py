"""JSON and Markdown for chats, split into messages of limited size: pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from markupsafe import Markup

from monitor.digest import links
from monitor.digest.layout import byte_count, share_texts
from monitor.digest.mentions import break_mentions
from monitor.digest.passage import Passage
from monitor.digest.wording import ZERO_WIDTH
from monitor.text import clean

_OPENS_MARKDOWN = re.compile(r"[\\`*_~|\[\]]")


class Message(NamedTuple):
    """A message of a chat, ready to stand between quotes: its text, and the lines of it."""

    text: Markup
    lines: list[Markup]


class Paragraphs(list[str]):
    """The paragraphs of a digest or notice, to be shared among messages."""


_LOOP = "write {% for message in (notice or digest)|markdown|messages(4000) %}"


def refuse_messages(value: object) -> None:
    """Raise TypeError for messages that a template writes into its text as a whole."""
    if isinstance(value, Message):
        raise TypeError("this is a message; write {{ message.text }}")
    if isinstance(value, list) and value and isinstance(value[0], Message):
        raise TypeError(f"this is a list of messages; {_LOOP}")
    if isinstance(value, Paragraphs):
        raise TypeError(f"this is a list of paragraphs; {_LOOP}")


def escape_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def escape_markdown(text: str) -> str:
    return break_mentions(_OPENS_MARKDOWN.sub(lambda sign: f"\\{sign[0]}", text))


def escape_zulip(text: str) -> str:
    """Put a zero-width space after each sign, as Zulip knows no backslashes."""
    return break_mentions(_OPENS_MARKDOWN.sub(lambda sign: f"{sign[0]}{ZERO_WIDTH}", text))


def markdown_link(escape_text: Callable[[str], str], text: str | Passage, url: str) -> Markup:
    """Return a link, or only its text where the URL is not one that may be linked to."""
    label = escape_text(clean(text.text if isinstance(text, Passage) else text))
    target = links.web_url(url).replace("(", "%28").replace(")", "%29")
    return Markup(f"[{label}]({target})" if target else label)


def to_json(value: object) -> Markup:
    """Write a value as JSON; what a macro wrote is escaped already."""
    if isinstance(value, Markup):
        return Markup(f'"{value}"')
    return Markup(json.dumps(value, ensure_ascii=False))


def in_messages(paragraphs: Iterable[str], limit: int, around_line: int = 0) -> list[Message]:
    """Return paragraphs in few messages of `limit` bytes of UTF-8: no chat counts more.

    For a chat that counts the whole JSON, `around_line` are the bytes that a template writes around
    each line; escapes then count, too.
    """

    def size_in_json(text: str) -> int:
        return byte_count(escape_json(text)) + around_line * text.count("\n")

    size_of = size_in_json if around_line else byte_count
    return [
        Message(
            Markup(escape_json("\n\n".join(batch))),
            [Markup(escape_json(line)) for piece in batch for line in piece.split("\n")],
        )
        for batch in share_texts(paragraphs, "\n\n", limit, size_of)
    ]
