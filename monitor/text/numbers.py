"""Whole numbers as people and programs type them."""

from __future__ import annotations

# Numbers of so many digits fit into the 64 bits of a database.
MAX_DIGITS = 18


def whole_number(text: str) -> int | None:
    """Return the number that a text is; None for anything but 1 to 18 digits of ASCII."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= MAX_DIGITS else None
