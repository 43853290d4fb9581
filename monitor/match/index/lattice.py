"""The texts of a batch as one lattice of numbered words.

Most pieces of a text were seen before, so that a text is cut and its pieces are looked up
(`pieces`). What a piece means is worked out once, by `monitor.text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from weakref import proxy

from monitor.kept import times_forgotten
from monitor.match.index.arrays import Column
from monitor.match.index.pieces import Cut, Lattices, Pieces
from monitor.text import Word, form_of, words, words_of_piece

MAX_PIECES = 400_000
MAX_NUMBERED_TEXTS = 20_000
MAX_WAYS = 32


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


class Reader:
    """Forms and beginnings of words by number, from 1, and texts in these numbers.

    `agent*` is the number of a beginning: a word that begins so has it beside its form's.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._used = Column("b")
        self._free: list[int] = []
        self._lengths: tuple[int, ...] = ()
        self._pieces = self._no_pieces()
        self._numbered_texts: dict[str, NumberedText] = {}
        self._used.append(0)
        self._times_forgotten = times_forgotten()

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
            self._pieces = self._no_pieces()
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
        if len(self._pieces) > MAX_PIECES or self._times_forgotten != times_forgotten():
            self._forget()
        return self._pieces.read(texts)

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

    def _simple(self, pieces: Sequence[bytes]) -> list[int]:
        """Return the forms of pieces that are one word of letters and digits, 0 for others."""
        # Thousands at a time are new in a search: what `_number` does stands here for many.
        numbers, free, size = self._numbers, self._free, len(self._used)
        found: list[int] = []
        for piece in pieces:
            word = piece.decode() if piece.isalnum() else ""
            if not word or (self._lengths and self._has_beginning(word)):
                found.append(0)
                continue
            form = form_of(word)
            number = numbers.get(form)
            if number is None:
                if free:
                    number = free.pop()
                else:
                    number, size = size, size + 1
                numbers[form] = number
            found.append(number)
        self._used.reach(size)
        return found

    def _has_beginning(self, word: str) -> bool:
        return any(f"{word[:length]}*" in self._numbers for length in self._lengths)

    def _no_pieces(self) -> Pieces:
        # A proxy, so that a reader is freed, with its many megabytes, as soon as it is let go.
        own = proxy(self)
        return Pieces(
            lambda pieces: own._simple(pieces),
            lambda piece: own.number_words(words_of_piece(piece)),
        )

    def _forget(self) -> None:
        """Forget what was only read in papers."""
        self._times_forgotten = times_forgotten()
        used = self._used.values()
        kept = {form: number for form, number in self._numbers.items() if used[number]}
        self._free += set(self._numbers.values()) - set(kept.values())
        self._numbers = kept
        self._pieces = self._no_pieces()
        self._numbered_texts.clear()
