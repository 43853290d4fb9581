"""The texts of a batch as one lattice of numbered words.

A text is cut into pieces, most of which were in earlier texts. What a new piece means is worked
out once, by `monitor.text`, and looked up from then on.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from monitor.match.index.arrays import Numbers, ranges
from monitor.text import Word, cut, form_of, words, words_of_piece
from monitor.text.symbols import look_alike

# About a hundred bytes each. Longer pieces than this are read again each time.
MAX_PIECES = 400_000
_MAX_PIECE_LENGTH = 64
MAX_NUMBERED_TEXTS = 2_000
SLOT_BITS = 17
_FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)
# Salted as Python's own hash tables are, so that no text can be written that fills one slot.
_SALTS = [np.uint64(hash(salt) & 0xFFFFFFFFFFFFFFFF | 1) for salt in ("high", "low")]
# A phrase whose words may be read in more ways than this is checked paper by paper.
MAX_READINGS = 32

Edge = tuple[int, int, int]  # the number of a form, and the positions where it starts and ends


class Lattices(NamedTuple):
    """Words of many texts: `forms[i]` goes from position `starts[i]` to `ends[i]` of `texts[i]`.

    Positions run through all texts, with a gap between two.
    """

    starts: Numbers
    ends: Numbers
    forms: Numbers
    texts: Numbers


class Pieces(NamedTuple):
    """Texts cut into pieces, from `begins` to `ends` of `written`: the position at which each
    starts, and by text how many pieces are before it.
    """

    written: bytes
    begins: Numbers
    ends: Numbers
    positions: Numbers
    before: Numbers

    def start_of(self, number: int) -> int:
        """Return the position at which a text starts, if it has pieces."""
        first, last = self.before[number : number + 2]
        return int(self.positions[first]) if first < last else 0

    def at(self, number: int) -> tuple[bytes, int]:
        """Return a piece, with its capitals, and where it starts."""
        piece = self.written[self.begins[number] : self.ends[number]]
        return piece, int(self.positions[number])


class NumberedText(NamedTuple):
    """A text in numbers: its words and beginnings, and each way to read it as a chain of forms.

    `readings` is None where there are too many.
    """

    edges: tuple[Edge, ...]
    length: int
    readings: tuple[tuple[int, ...], ...] | None


def readings_of(edges: Iterable[Edge], length: int) -> tuple[tuple[int, ...], ...] | None:
    """Return the chains of forms through sorted edges, from 0 to `length`; None for too many."""
    chains: dict[int, list[tuple[int, ...]]] = {0: [()]}
    for form, start, end in edges:
        chains.setdefault(end, []).extend((*before, form) for before in chains.get(start, ()))
        if len(chains[end]) > MAX_READINGS:
            return None
    return tuple(dict.fromkeys(chains.get(length, ()))) if length else ()


class Vocabulary(dict[bytes, int]):
    """By piece of a text: the number of its form, or below zero the row of its several words.

    Forms are numbered from 1: those that topics ask for, and then those of texts, which are
    numbered again when a topic asks for another form. `agent*` is a form, too: a word that begins
    so has it beside its own.
    """

    def __init__(self) -> None:
        self._asked: dict[str, int] = {}
        self._prefix_lengths: tuple[int, ...] = ()
        self._forget()

    def _forget(self) -> None:
        self.clear()
        # Pieces of up to 16 letters, as two numbers, and their codes: most have a slot alone.
        self._slots = np.zeros((1 << SLOT_BITS, 3), np.uint64)
        self._read: dict[str, int] = {}
        self._numbered_texts: dict[str, NumberedText] = {}
        # Of a piece with a number below zero: how many positions it takes, and its edges.
        self._widths, self._counts, self._firsts = (array("i", [0]) for _ in range(3))
        self._starts, self._ends, self._forms = (array("i") for _ in range(3))

    # ── topics ask ──────────────────────────────────────────────────────────────────

    def ask_for(self, form: str) -> int:
        """Return the number of a form that a topic asks for."""
        number = self._asked.get(form)
        if number is None:
            if self or self._read:
                self._forget()
            number = self._asked[form] = len(self._asked) + 1
        return number

    def ask_for_beginning(self, letters: str) -> int:
        """Return the number of the words that begin so."""
        self._prefix_lengths = tuple(sorted({*self._prefix_lengths, len(letters)}))
        return self.ask_for(f"{letters}*")

    def is_asked_for(self, edges: Iterable[Edge]) -> bool:
        """Return whether a topic asks for one of these forms."""
        last = len(self._asked)
        return any(form <= last for form, _, _ in edges)

    # ── papers have ─────────────────────────────────────────────────────────────────

    def read(self, texts: Iterable[str]) -> tuple[Lattices, Pieces]:
        """Return the words of texts, and the pieces they were cut into."""
        if len(self) + len(self._widths) > MAX_PIECES:
            self._forget()
        parts = [b" ", *map(cut, texts)]
        written = b"".join(parts)
        is_inside = np.frombuffer(written, np.uint8) != ord(" ")
        edges = np.flatnonzero(is_inside[1:] != is_inside[:-1]) + 1
        begins = edges[::2]
        ends = edges[1::2]
        before = np.searchsorted(begins, np.cumsum([len(part) for part in parts]))
        codes = self._codes(written.lower(), begins, ends)
        lattices, positions = self._lay_out(codes, before)
        return lattices, Pieces(written, begins, ends, positions, before)

    def _codes(self, written: bytes, begins: Numbers, ends: Numbers) -> Numbers:
        """Return the code of each piece: most are found at once, by their letters as numbers."""
        lengths = ends - begins
        eights = np.ndarray(len(written) + 8, "<u8", written + b" " * 15, strides=(1,))
        low = eights[begins] & _FIRST_BYTES[np.minimum(lengths, 8)]
        high = eights[begins + 8] & _FIRST_BYTES[np.clip(lengths - 8, 0, 8)]
        slots = ((low ^ (high * _SALTS[0] >> np.uint64(7))) * _SALTS[1]) >> np.uint64(
            64 - SLOT_BITS
        )
        known = self._slots.take(slots.view(np.int64), axis=0)
        codes: Numbers = known[:, 2].view(np.int64)
        is_known = (known[:, 0] == low) & (known[:, 1] == high)
        missing = np.flatnonzero(~is_known | (lengths > 16))
        spans = zip(begins[missing].tolist(), ends[missing].tolist(), strict=True)
        codes[missing] = [self[written[begin:end]] for begin, end in spans]
        free = (lengths[missing] <= 16) & (known[missing, 0] == 0)
        new = missing[free]
        self._slots[slots[new]] = np.stack([low[new], high[new], codes[new].view(np.uint64)], 1)
        return codes

    def __missing__(self, piece: bytes) -> int:
        code = self._single_form(piece) or self._code_of(self.number_words(words_of_piece(piece)))
        if len(piece) <= _MAX_PIECE_LENGTH:
            self[piece] = code
        return code

    def _single_form(self, piece: bytes) -> int:
        """Return the number of a piece that is one word of letters and digits, else 0."""
        if not piece.isalnum():
            return 0
        word = piece.decode()
        form = form_of(word)
        if (form != word and look_alike(word)) or (self._prefix_lengths and self._beginnings(word)):
            return 0
        return self._number(form)

    def _number(self, form: str) -> int:
        number = self._asked.get(form) or self._read.get(form)
        if number is None:
            number = self._read[form] = len(self._asked) + len(self._read) + 1
        return number

    def _beginnings(self, word: str) -> list[int]:
        lengths = (length for length in self._prefix_lengths if length <= len(word))
        return [n for length in lengths if (n := self._asked.get(f"{word[:length]}*"))]

    def _code_of(self, edges: Sequence[Edge]) -> int:
        if len(edges) == 1 and edges[0][1:] == (0, 1):
            return edges[0][0]
        self._widths.append(max((end for _, _, end in edges), default=0))
        self._counts.append(len(edges))
        self._firsts.append(len(self._starts))
        for form, start, end in edges:
            self._starts.append(start)
            self._ends.append(end)
            self._forms.append(form)
        return 1 - len(self._widths)

    def _lay_out(self, codes: Numbers, before: Numbers) -> tuple[Lattices, Numbers]:
        """Lay pieces side by side, and return at which positions they start."""
        texts = np.repeat(np.arange(len(before) - 1), np.diff(before))
        several = np.flatnonzero(codes < 0)
        rows = -codes[several]
        widths = np.ones(len(codes), np.int64)
        widths[several] = np.asarray(self._widths)[rows]
        at = np.cumsum(widths) - widths + texts
        counts = np.asarray(self._counts)[rows].astype(np.int64)
        edges = ranges(np.asarray(self._firsts)[rows], counts)
        base = np.repeat(at[several], counts)
        text = np.repeat(texts[several], counts)
        single = np.flatnonzero(codes > 0)
        lattices = Lattices(
            np.concatenate([at[single], base + np.asarray(self._starts)[edges]]),
            np.concatenate([at[single] + 1, base + np.asarray(self._ends)[edges]]),
            np.concatenate([codes[single], np.asarray(self._forms)[edges]]),
            np.concatenate([texts[single], text]),
        )
        return lattices, at

    def number_text(self, text: str) -> NumberedText:
        """Return a short text, which may come again, in numbers."""
        numbered = self._numbered_texts.get(text)
        if numbered is None:
            if len(self._numbered_texts) >= MAX_NUMBERED_TEXTS:
                self._numbered_texts.clear()
            lattice = sorted(words(text), key=lambda word: (word.start, word.end))
            edges = self.number_words(lattice)
            length = max((word.end for word in lattice), default=0)
            bare = [edge for edge, word in zip(edges, lattice, strict=False) if word.word]
            readings = readings_of(bare, length)
            numbered = NumberedText(tuple(edges), length, readings)
            self._numbered_texts[text] = numbered
        return numbered

    def number_words(self, lattice: Sequence[Word]) -> list[Edge]:
        """Return words in numbers, and after them the beginnings that they have."""
        edges = [(self._number(word.form), word.start, word.end) for word in lattice]
        if self._prefix_lengths:
            edges += [
                (n, word.start, word.end) for word in lattice for n in self._beginnings(word.word)
            ]
        return edges
