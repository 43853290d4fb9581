"""Slack's messages, kept within Slack's limits: pure.

Every limit is used to nine tenths. A whole message of about 13,200 characters is refused,
which Slack does not document, so one message holds at most 10,000.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from monitor.model import Json

SECTION_LIMIT = 2_700
BLOCKS_LIMIT = 45
MESSAGE_LIMIT = 10_000
TEXT_LIMIT = 3_600

# What is never cut in two: a link or mention, an escaped character, a word; then single characters.
_ATOM = re.compile(r"<[^<>\n]*>|&\w{1,6};|\n|[^\S\n]+|[^\s<&]+|.")
_LINK = re.compile(r"<[^<>|]*\|([^<>]*)>")
_MIN_SPLIT_LENGTH = 200


def escape(text: str) -> str:
    """Escape what Slack would take for its own markup, and nothing else."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def message(sections: Iterable[str], text: str) -> Json:
    """Return a message; `text` is what notifications and screen readers get."""
    return {"text": text[:TEXT_LIMIT], "blocks": [_section(section) for section in sections]}


def messages(sections: Iterable[str], text: str) -> list[Json]:
    """Return as many messages as the mrkdwn `sections` need, in order; at least one."""
    pages: list[list[str]] = [[]]
    for piece in (piece for section in sections for piece in cut(section, SECTION_LIMIT)):
        if _is_full(pages[-1], piece):
            pages.append([])
        pages[-1].append(piece)
    if len(pages) == 1:
        return [message(pages[0], text)]
    count = len(pages)
    return [message(page, f"{text} ({n} of {count})") for n, page in enumerate(pages, 1)]


def join_lines(lines: Iterable[str], limit: int = SECTION_LIMIT) -> Iterator[str]:
    """Join short lines into sections, so that 400 titles do not take 400 blocks."""
    section = ""
    for line in lines:
        if section and len(section) + len(line) + 1 > limit:
            yield section
            section = ""
        section = f"{section}\n{line}" if section else line
    if section:
        yield section


def cut(mrkdwn: str, limit: int) -> list[str]:
    """Cut text into pieces of at most `limit` characters, never within a link or `&amp;`."""
    if len(mrkdwn) <= limit:
        return [mrkdwn] if mrkdwn.strip() else []
    pieces = [""]
    for atom in _atoms(mrkdwn, limit):
        if len(pieces[-1]) + len(atom) > limit:
            pieces.append("")
        pieces[-1] += atom
    return [piece.strip() for piece in pieces if piece.strip()]


def halve(whole: Json) -> tuple[Json, Json] | None:
    """Split a message that Slack finds too long into two; None when nothing is left to split."""
    sections: Sequence[str] = [block["text"]["text"] for block in whole["blocks"]]
    if len(sections) == 1 and len(sections[0]) > _MIN_SPLIT_LENGTH:
        sections = cut(sections[0], len(sections[0]) // 2 + 1)
    if len(sections) < 2:
        return None
    middle = len(sections) // 2
    return message(sections[:middle], whole["text"]), message(sections[middle:], whole["text"])


def _section(text: str) -> Json:
    """`verbatim` keeps Slack from making links and mentions of what only looks like one."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _is_full(page: Sequence[str], section: str) -> bool:
    size = sum(map(len, page)) + len(section)
    return bool(page) and (len(page) >= BLOCKS_LIMIT or size > MESSAGE_LIMIT)


def _atoms(mrkdwn: str, limit: int) -> Iterator[str]:
    for atom in _ATOM.findall(mrkdwn):
        if len(atom) <= limit:
            yield atom
            continue
        link = _LINK.fullmatch(atom)
        if link:
            yield from cut(link[1], limit)
        else:
            yield from (atom[at : at + limit] for at in range(0, len(atom), limit))
