"""The key of a title: the same for titles that differ only in case, punctuation or markup."""

from __future__ import annotations

import re
import unicodedata

from monitor.text.folding import MAX_TEXT_LENGTH, fold, is_plain


def title_key(title: str) -> str:
    """Return a key that titles share when they differ only in how they are written.

    Case, accents, punctuation, spaces, dashes, tags, LaTeX or Unicode do not matter; words,
    numbers, `+` and `#` do. A candidate for being the same paper, never proof.
    """
    title = title[:MAX_TEXT_LENGTH]
    if is_plain(title) and not _has_key_sign(title):
        key = title.lower().encode().translate(None, _NOT_ALPHANUMERIC).decode()
    else:
        folded = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", fold(title).text)
        key = "".join(part.group("kept") or " " for part in _KEY_PART.finditer(folded))
    return key or "".join(unicodedata.normalize("NFKC", title).casefold().split())


# Where none of these is in a plain title, its key is its letters and digits.
_KEY_SIGN = re.compile(r"[+#]|\d[\W_]+\d")

_NO_KEY_SIGN = bytes(byte for byte in range(128) if chr(byte) not in "+#0123456789")


def _has_key_sign(ascii_title: str) -> bool:
    """Whether a title has one; most have no digits, and checking for those is faster."""
    rest = ascii_title.encode().translate(None, _NO_KEY_SIGN)
    return bool(rest) and _KEY_SIGN.search(ascii_title) is not None


_NOT_ALPHANUMERIC = bytes(byte for byte in range(128) if not chr(byte).isalnum())
# What a key keeps, and the gap between two numbers, which keeps them apart.
_KEY_PART = re.compile(
    r"(?P<kept>[^\W_]|[\u0900-\u0dff]|(?<=\d)\.(?=\d)|(?<=[^\W_])(?:\+\+|[+#](?!\w)))"
    r"|(?<=\d)[\W_]+(?=\d)"
)
