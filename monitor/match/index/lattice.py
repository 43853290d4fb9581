"""The texts of a batch as one lattice of numbered words.

Most pieces of a text were seen before, so that a text is cut and its pieces are looked up. What
a piece means is worked out once, by `monitor.text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from monitor.match.index.arrays import Column, Numbers, ranges
from monitor.text import Word, form_of, pieces, words, words_of_piece

MAX_PIECES = 400_000
MAX_NUMBERED_TEXTS = 20_000
MAX_WAYS = 32


class Lattices(NamedTuple):
    """Words of many texts: `forms[i]` goes from position `starts[i]` to `ends[i]` of `texts[i]`.

    Positions run through all texts, with a gap between two.
    """

    starts: Numbers
    ends: Numbers
    forms: Numbers
    texts: Numbers


class NumberedText(NamedTuple):
    """A text in numbers: its words (form, start, end), and each way to read it as forms.

    None where the ways are too many.
    """

    words: tuple[tuple[int, int, int], ...]
    length: int
    ways: tuple[tuple[int, ...], ...] | None


def ways_through(
    edges: Iterable[tuple[int, int, int]], length: int
) -> tuple[tuple[int, ...], ...] | None:
    """Return the chains of forms through sorted edges (form, start, end), from 0 to `length`.

    None where they are too many.
    """
    ways: dict[int, list[tuple[int, ...]]] = {0: [()]}
    for form, start, end in edges:
        longer = [(*way, form) for way in ways.get(start, ())]
        ways.setdefault(end, []).extend(longer)
        if len(ways[end]) > MAX_WAYS:
            return None
    return tuple(dict.fromkeys(ways.get(length, ()))) if length else ()


class Cut(NamedTuple):
    """Texts in pieces: all pieces one after another, the position each starts at, and by text
    how many pieces are before it.
    """

    pieces: list[bytes]
    positions: Numbers
    upto: Numbers


class Reader:
    """Forms and beginnings of words by number, from 1, and texts in these numbers.

    `agent*` is the number of a beginning: a word that begins so has it beside its form's.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._used = Column("b")
        self._free: list[int] = []
        self._lengths: tuple[int, ...] = ()
        self._pieces = _Pieces(self)
        self._numbered_texts: dict[str, NumberedText] = {}
        self._used.append(0)

    def __len__(self) -> int:
        """Return how many numbers there are, with 0."""
        return len(self._used)

    def form(self, form: str) -> int:
        """Return the number of a form that a topic asks for."""
        number = self._number(form)
        self._used[number] = 1
        return number

    def beginning(self, letters: str) -> int:
        """Return the number of a beginning that a topic asks for."""
        key = f"{letters}*"
        if key not in self._numbers:
            self._lengths = tuple(sorted({*self._lengths, len(letters)}))
            self._pieces = _Pieces(self)
            self._numbered_texts.clear()
        return self.form(key)

    def _number(self, form: str) -> int:
        number = self._numbers.get(form)
        if number is None:
            if self._free:
                number = self._free.pop()
            else:
                number = len(self._used)
                self._used.append(0)
            self._numbers[form] = number
        return number

    def read(self, texts: Sequence[str]) -> tuple[Lattices, Cut]:
        """Return the words of texts, and the pieces they were cut into."""
        if len(self._pieces) > MAX_PIECES:
            self._forget()
        cut: list[bytes] = []
        upto = [0]
        for text in texts:
            cut += pieces(text)
            upto.append(len(cut))
        codes = np.fromiter(map(self._pieces.__getitem__, cut), np.int64, len(cut))
        lattices, positions = self._pieces.laid_out(codes, np.array(upto))
        return lattices, Cut(cut, positions, np.array(upto))

    def is_used(self, forms: Iterable[int]) -> bool:
        """Return whether a topic asks for one of these forms."""
        used = self._used
        return any(used[form] for form in forms)

    def number_text(self, text: str) -> NumberedText:
        """Return the lattice of a short text that may come again."""
        found = self._numbered_texts.get(text)
        if found is None:
            if len(self._numbered_texts) >= MAX_NUMBERED_TEXTS:
                self._numbered_texts.clear()
            lattice = sorted(words(text), key=lambda word: (word.start, word.end))
            number_words = self.number_words(lattice)
            length = max((word.end for word in lattice), default=0)
            ways = ways_through(number_words[: len(lattice)], length)
            found = NumberedText(tuple(number_words), length, ways)
            self._numbered_texts[text] = found
        return found

    def number_words(self, lattice: Sequence[Word]) -> list[tuple[int, int, int]]:
        """Return (form, start, end) of words, and of the beginnings that they have."""
        found = [(self._number(word.form), word.start, word.end) for word in lattice]
        for word in lattice:
            for length in self._lengths:
                number = self._numbers.get(f"{word.word[:length]}*")
                if number and len(word.word) >= length:
                    found.append((number, word.start, word.end))
        return found

    def simple(self, piece: bytes) -> int:
        """Return the form of a piece that is one word of letters and digits, else 0."""
        bare = piece.strip(b".,")
        word = bare.decode().lower() if bare.isalnum() else ""
        if not word or (self._lengths and self._begins(word)):
            return 0
        return self._number(form_of(word))

    def _begins(self, word: str) -> bool:
        """Return whether a word has one of the beginnings that topics ask for."""
        return any(f"{word[:length]}*" in self._numbers for length in self._lengths)

    def _forget(self) -> None:
        """Forget what was only read in papers."""
        used = self._used.values()
        kept = {form: number for form, number in self._numbers.items() if used[number]}
        self._free += set(self._numbers.values()) - set(kept.values())
        self._numbers = kept
        self._pieces = _Pieces(self)
        self._numbered_texts.clear()


class _Pieces(dict[bytes, int]):
    """What each piece means: a form's number, or below zero one of the `many` that mean more."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self._reader = reader
        # By code: how many positions a piece takes, and where its words stand in the others.
        self._widths, self._counts, self._firsts = Column("i"), Column("i"), Column("i")
        self._starts, self._ends, self._forms = Column("i"), Column("i"), Column("i")
        for column in (self._widths, self._counts, self._firsts):
            column.append(0)

    def __missing__(self, piece: bytes) -> int:
        code = self._reader.simple(piece) or self._complex(words_of_piece(piece))
        self[piece] = code
        return code

    def _complex(self, words: Sequence[Word]) -> int:
        found = self._reader.number_words(words)
        if len(found) == 1 and found[0][1:] == (0, 1):
            return found[0][0]
        self._widths.append(max((word.end for word in words), default=0))
        self._counts.append(len(found))
        self._firsts.append(len(self._starts))
        for form, start, end in found:
            self._starts.append(start)
            self._ends.append(end)
            self._forms.append(form)
        return 1 - len(self._widths)

    def laid_out(self, codes: Numbers, upto: Numbers) -> tuple[Lattices, Numbers]:
        """Lay pieces, by their codes, side by side, and return at which positions they start.

        `upto` is how many pieces are before each text, and before the end.
        """
        texts = np.repeat(np.arange(len(upto) - 1), np.diff(upto))
        many = np.flatnonzero(codes < 0)
        kinds = -codes[many]
        widths = np.ones(len(codes), np.int64)
        widths[many] = self._widths.values()[kinds]
        at = np.cumsum(widths) - widths + texts
        counts = self._counts.values()[kinds].astype(np.int64)
        words = ranges(self._firsts.values()[kinds], counts)
        base, text = np.repeat(at[many], counts), np.repeat(texts[many], counts)
        single = np.flatnonzero(codes > 0)
        lattices = Lattices(
            np.concatenate([at[single], base + self._starts.values()[words]]),
            np.concatenate([at[single] + 1, base + self._ends.values()[words]]),
            np.concatenate([codes[single], self._forms.values()[words]]),
            np.concatenate([texts[single], text]),
        )
        return lattices, at
