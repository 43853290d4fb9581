"""The words of a text, as a lattice: `multi-agent` has multi [0-1], agent [1-2], multiagent [0-2].

A phrase is any chain of adjoining words, so that a hyphen may join or separate. Words are found in
the folded text (`folding`) and have exact positions in the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from monitor.text.folding import MAX_TEXT_LENGTH, Folded, fold, folded_text, is_plain
from monitor.text.plurals import form_of
from monitor.text.symbols import SIGN, is_signed, join_signs, look_alike, signed_words

_SPACELESS = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30fa\u30fc-\u30ff"
    "\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = rf"(?:[^\W_{_SPACELESS}]|[\u0900-\u0963\u0966-\u0dff])"


def _patterns(letter: str, spaceless: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Words joined by hyphens, and one: 3.5 and 10,000 stay whole, C++, C# and A+ keep signs."""
    word = (
        rf"{letter}+(?:(?<=\d)(?:\.(?=\d)|,(?=\d{{3}}(?!\d))){letter}+)*"
        r"(?:(?<=\b\w)(?:\+\+|[+#](?!\w)))?"
    )
    chain = rf"({spaceless}{word})(?:[-'_^]{{1,3}}{word})*(?P<sign>{SIGN})?"
    return re.compile(chain), re.compile(rf"{spaceless}{word}")


_ASCII_CHAIN, _ASCII_PART = _patterns("[a-z0-9]", "")


@cache
def _unicode_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compiled for the first text that needs them: it takes as long as to import a library."""
    return _patterns(_LETTER, rf"[{_SPACELESS}]|")


@cache
def sign_pattern() -> re.Pattern[str]:
    """Finds signs of scripts that are written without spaces: each is a word of its own."""
    return re.compile(f"[{_SPACELESS}]")


_LINKS = "by|from|in|of|or|out|per|to"
_LINKED_LETTERS = re.compile(rf"(?:[a-z]-)+(?:{_LINKS})(?:-[a-z])*|(?:{_LINKS})(?:-[a-z])+")
_LONGEST_JOIN = 4
# Longer than any name of a chemical: in a chain of more parts no parts are joined.
_LONGEST_CHAIN = 100


class Word(NamedTuple):
    """A word of a text: an edge of its lattice, from position `start` to position `end`.

    `form` is what the word is compared by: its singular in American spelling. `word` is the
    folded word as it was written, and `span` its (start, end) characters in the original text.
    Positions count the parts of words; an edge longer than one is several parts joined over
    their hyphens. Ions, names with a star and look-alikes of Greek letters have an edge beside
    that of the bare word, with "" as `word`.
    """

    form: str
    word: str
    start: int
    end: int
    span: tuple[int, int]


def words(text: str) -> tuple[Word, ...]:
    """Return the word lattice of `text`, in the order of positions, single parts first."""
    return _lattice(fold(join_signs(text[:MAX_TEXT_LENGTH])))


def words_to_find(text: str) -> tuple[Word, ...]:
    """Return the word lattice of what is looked for, in which no ion is a bare word, too."""
    lattice = words(text)
    signed = [word for word in lattice if not word.word and is_signed(word.form)]
    return tuple(
        word
        for word in lattice
        if word in signed or not any(s.start < word.end and word.start < s.end for s in signed)
    )


def _lattice(folded: Folded) -> tuple[Word, ...]:
    text, starts, ends = folded
    chains, single = (_ASCII_CHAIN, _ASCII_PART) if text.isascii() else _unicode_patterns()
    edges: list[Word] = []
    position = 0
    for chain in chains.finditer(text):
        start, end = chain.span()
        if end == chain.end(1):
            word = text[start:end].replace(",", "")
            span = starts[start], ends[end - 1]
            form = form_of(word)
            edges.append(Word(form, word, position, position + 1, span))
            if form != word and (alike := look_alike(word)):
                edges.append(Word(alike, "", position, position + 1, span))
            position += 1
            continue
        places = [part.span() for part in single.finditer(text, start, end)]
        parts = [text[begin:stop].replace(",", "") for begin, stop in places]
        for first, last in _runs(parts):
            word = "".join(parts[first:last])
            span = starts[places[first][0]], ends[places[last - 1][1] - 1]
            form = form_of(word)
            edges.append(Word(form, word, position + first, position + last, span))
            if form != word and (alike := look_alike(word)):
                edges.append(Word(alike, "", position + first, position + last, span))
        if sign := chain["sign"]:
            for first, form in signed_words(parts, sign[-1]):
                span = starts[places[first][0]], ends[end - 1]
                edges.append(Word(form, "", position + first, position + len(parts), span))
        position += len(parts)
    return tuple(edges)


# All of ASCII that a chain of words may have inside it; everything else in ASCII parts words.
_WITHIN_CHAINS = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-'_^.,+#*"
)
_GAPS = bytes(code if code > 127 or code in _WITHIN_CHAINS else 32 for code in range(256))


def cut(text: str) -> bytes:
    """Return a text folded, as UTF-8, with spaces wherever no word goes on, one at its end.

    The words of its pieces between spaces (`words_of_piece`), one piece after another, are the
    `words` of the text. A piece of a plain text (`is_plain`) keeps its capitals.
    """
    return _cut(folded_text(join_signs(text[:MAX_TEXT_LENGTH])))


def _cut(folded: str) -> bytes:
    parted = f"{folded} ".encode("utf-8", "surrogatepass").translate(_GAPS)
    return parted.replace(b", ", b"  ").replace(b". ", b"  ")


def words_of_piece(piece: bytes) -> tuple[Word, ...]:
    """Return the word lattice of a piece of `cut`; positions and spans count from its start."""
    folded = piece.decode("utf-8", "surrogatepass")
    if folded.isascii():
        folded = folded.lower()
    return _lattice(Folded(folded, range(len(folded)), range(1, len(folded) + 1)))


def written_between(text: str, begin: tuple[int, int], end: tuple[int, int]) -> str:
    """Return what `text` writes between two places, each a piece's number and a position in it."""
    (_, starts, ends), pieces = _placed_pieces(text)
    first, last = (pieces[number] + position for number, position in (begin, end))
    return text[starts[first] : ends[last - 1]]


@lru_cache(8)
def _placed_pieces(text: str) -> tuple[Folded, list[int]]:
    folded = fold(join_signs(text[:MAX_TEXT_LENGTH]))
    parted = _cut(folded.text).decode("utf-8", "surrogatepass")
    return folded, [piece.start() for piece in re.finditer("[^ ]+", parted)]


def _runs(parts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield which neighbouring parts make a word: each alone, then those that may be joined.

    Two numbers are never joined: 3-5 is not 35. Nor are letters with linking words: M-of-N.
    """
    count = len(parts)
    for i in range(count):
        yield i, i + 1
    if count == 1 or count > _LONGEST_CHAIN:
        return
    parted = [a[-1].isdigit() and b[0].isdigit() for a, b in pairwise(parts)]
    for first in range(count - 1):
        for last in range(first + 2, min(first + _LONGEST_JOIN, count) + 1):
            if any(parted[first : last - 1]):
                break
            if not _LINKED_LETTERS.fullmatch("-".join(parts[first:last])):
                yield first, last


def plain(text: str) -> str:
    """Return the words of `text` in plain folded Unicode, parted by spaces, for comparing."""
    text = text[:MAX_TEXT_LENGTH]
    if is_plain(text):
        return " ".join(_ASCII_PART.findall(text.lower()))
    folded = folded_text(text)
    part = _ASCII_PART if folded.isascii() else _unicode_patterns()[1]
    return " ".join(part.findall(folded))
