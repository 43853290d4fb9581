"""Mentions in chats (`@everyone`, `<!channel>`, `<@1>`), broken by a zero-width space: pure."""

from __future__ import annotations

import re

from monitor.digest.wording import ZERO_WIDTH

# A sign that begins the name of a person or channel, or an address.
_OPENS = rf"[@<](?![\s{ZERO_WIDTH}])"
_SIGN = re.compile(f"({_OPENS})")
_LINK_OR_SIGN = re.compile(rf"https?://\S+|({_OPENS})")


def break_mentions(value: str) -> str:
    """Break the mentions in a value of a template, even those in addresses."""
    return _break(_SIGN, value)


def without_mentions(message: str) -> str:
    """Break the mentions in a whole message; its links stay as they are."""
    return _break(_LINK_OR_SIGN, message)


def _break(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: f"{match[1]}{ZERO_WIDTH}" if match[1] else match[0], text)
