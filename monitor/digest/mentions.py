"""Mentions in chats (`@everyone`, `<!channel>`, `<@1>`), parted by a space of no width: pure."""

from __future__ import annotations

import re

from monitor.digest.wording import ZERO_WIDTH

# A sign that begins the name of a person or channel, or an address.
_OPENS = rf"[@<](?![\s{ZERO_WIDTH}])"
_SIGN = re.compile(f"({_OPENS})")
_LINK_OR_SIGN = re.compile(rf"https?://\S+|({_OPENS})")


def part_mentions(value: str) -> str:
    """Return a value of a template in which nothing is a mention, in an address neither."""
    return _part(_SIGN, value)


def without_mentions(message: str) -> str:
    """Return a whole message in which nothing is a mention; its links stay as they are."""
    return _part(_LINK_OR_SIGN, message)


def _part(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: f"{match[1]}{ZERO_WIDTH}" if match[1] else match[0], text)
