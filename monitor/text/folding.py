"""Folds a text for comparing: no case, accents, width, LaTeX or tags; Greek letters by name.

The folded text remembers where each character came from, so that words found in it have exact
places in the text as it was given.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from monitor.text.latex import FOLDED_LETTERS, FOLDED_SIGNS, FOLDED_STYLES, GREEK
from monitor.text.tables import pairs, word_set

_CHARACTERS = str.maketrans(
    {
        **{letter: name for name, letter in GREEK.items()},
        **pairs(
            "ο: omicron, ς: sigma, ø: o, ł: l, đ ð: d, þ: th, æ: ae, œ: oe, ı: i, ∞: infinity, ×: x"
        ),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2018\u2019\u02bc\u2032\u00b4", "'"),
        **dict.fromkeys("™℠®©\ufe0e\ufe0f", ""),
        "&": " and ",
    }
)
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")
_ESCAPES = {**dict.fromkeys("\"'`^~=.-/()[]", ""), "&": " and ", "_": "_", "#": "#"}
_BLOCK_TAGS = word_set("abstract br div h1 h2 h3 h4 li ol p sec title ul")

# Letters without small forms and accents, which folding leaves as they are: Thai, Chinese,
# Japanese, Korean. Texts in them are long runs of these.
UNFOLDED_LETTERS = (
    "\u0e01-\u0e32\u0e34-\u0e3a\u0e40-\u0e5b\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3"
)

_SPECIAL = re.compile(
    r"""
      (?P<tag></?(?:(?:jats|mml|m):[\w-]+|a|abbr|abstract|b|bold|br|code|div|em|font|h[1-4]|i|inf
          |inline-formula|ins|italic|li|mark|math|m(?:i|n|o|row|sub|sup|text)|ol|p|q|s|sc|scp|sec
          |small|span|strong|sub|sup|tex-math|title|tt|u|ul|underline|var|xref)
          (?:\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*\s*/?>)
    | (?P<entity>&(?:\#\d{1,7}|\#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});)
    | (?P<command>\\[a-z]+\*?\s*)
    | (?P<escape>\\.)
    | (?P<between>(?<=\w)\}\{(?=\w))
    | (?P<nothing>[{}$\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff])
    | (?P<raised>[\u00b2\u00b3\u00b9\u2070-\u207f]+)
    | (?P<lowered>[\u2080-\u208e]+)
    | (?P<other>&|\w[\u0300-\u036f\u3099\u309a]+|[\u1100-\u11ff]+|(?-i:[^\x00-\x7f"""
    + UNFOLDED_LETTERS
    + r"""]))
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
# Every special character or command begins at one of these, unless there is an accent apart.
_SPOT = re.compile(rf"[<&\\{{}}$]|[^\x00-\x7f{UNFOLDED_LETTERS}]")
_APART = re.compile("[\u0300-\u036f\u3099\u309a]")

# The rest of a text is not read, so that none takes unbounded time; the longest abstracts have a
# tenth of it.
MAX_TEXT_LENGTH = 50_000


class Folded(NamedTuple):
    """`text` folded; character i came from the characters starts[i]:ends[i] of the original."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


def is_plain(text: str) -> bool:
    """Whether folding `text` only makes its letters small."""
    return text.isascii() and not any(map(text.__contains__, "\\${}<&"))


def _specials(text: str) -> Iterator[re.Match[str]]:
    """Find what is folded in another way than by making letters small."""
    if _APART.search(text):
        yield from _SPECIAL.finditer(text)
        return
    done = 0
    for spot in _SPOT.finditer(text):
        if spot.start() >= done and (special := _SPECIAL.match(text, spot.start())):
            done = special.end()
            yield special


def _pieces(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield a text folded in pieces, every second one special, each with its place in the text."""
    done = 0
    for special in _specials(text):
        start, end = special.span()
        yield text[done:start].lower(), done, start
        yield _fold_special(special.lastgroup or "", special.group()), start, end
        done = end
    yield text[done:].lower(), done, len(text)


def fold(text: str) -> Folded:
    if is_plain(text):
        return Folded(text.lower(), range(len(text)), range(1, len(text) + 1))
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for number, (piece, start, end) in enumerate(_pieces(text)):
        pieces.append(piece)
        if number % 2 == 0:  # not special: character by character
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
        else:
            starts.extend([start] * len(piece))
            ends.extend([start + len(text[start:end].rstrip())] * len(piece))
    return Folded("".join(pieces), starts, ends)


def folded_text(text: str) -> str:
    """Return `text` folded, without where its characters came from; a plain one as it is."""
    return text if is_plain(text) else "".join(piece for piece, _, _ in _pieces(text))


@lru_cache(16_384)
def _fold_special(kind: str, written: str) -> str:
    match kind:
        case "tag":
            return _fold_tag(written)
        case "command":
            return _fold_command(written).lower()
        case "escape":
            return _ESCAPES.get(written[1], " ")
        case "nothing" | "between":
            return "" if kind == "nothing" else "/"
        case "raised" | "lowered":
            return ("^" if kind == "raised" else "_") + fold_characters(written)
        case _:
            return fold_characters(html.unescape(written))


def fold_characters(characters: str) -> str:
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", characters.translate(_CHARACTERS)))
    return unicodedata.normalize("NFC", bare).casefold().translate(_CHARACTERS)


def _fold_tag(tag: str) -> str:
    name = re.split(r"[\s>/]", tag.lstrip("</"), maxsplit=1)[0].rpartition(":")[2].lower()
    if name in _BLOCK_TAGS:
        return " "
    if tag.startswith("</"):
        return ""
    return {"sub": "_", "inf": "_", "sup": "^"}.get(name, "")


def _fold_command(command: str) -> str:
    """Fold `\\name` with the space behind it, which TeX swallows after a letter."""
    name = command[1:].rstrip().rstrip("*")
    space = " " if command[-1].isspace() else ""
    if name in FOLDED_LETTERS:
        return FOLDED_LETTERS[name]
    if name in FOLDED_STYLES or name.startswith(("text", "math")):
        return ""
    greek = name.lower().removeprefix("var")
    if greek in GREEK or greek == "omicron":
        return greek + space
    return " " if name in FOLDED_SIGNS else f" {name} "


def title_key(title: str) -> str:
    """Return a key that titles share when they differ only in how they are written.

    Case, accents, punctuation, spaces, dashes, tags, LaTeX or Unicode do not matter; words,
    numbers, `+` and `#` do. A candidate for being the same paper, never proof.
    """
    title = title[:MAX_TEXT_LENGTH]
    if is_plain(title) and not _KEY_SIGN.search(title):
        key = title.lower().encode().translate(None, _NOT_ALPHANUMERIC).decode()
    else:
        folded = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", fold(title).text)
        key = "".join(part.group("kept") or " " for part in _KEY_PART.finditer(folded))
    return key or "".join(unicodedata.normalize("NFKC", title).casefold().split())


# Where none of these is in a plain title, its key is its letters and digits.
_KEY_SIGN = re.compile(r"[+#]|\d[\W_]+\d")
_NOT_ALPHANUMERIC = bytes(byte for byte in range(128) if not chr(byte).isalnum())
# The characters of a key, and the gap between two numbers, which separates them.
_KEY_PART = re.compile(
    r"(?P<kept>[^\W_]|[\u0900-\u0dff]|(?<=\d)\.(?=\d)|(?<=[^\W_])(?:\+\+|[+#](?!\w)))"
    r"|(?<=\d)[\W_]+(?=\d)"
)
