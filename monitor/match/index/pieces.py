"""What each piece of a text means: looked up for all texts of a batch at once.

A piece of up to 16 bytes is two numbers, by which NumPy finds it in one hash table; the few longer
ones are in a dict. What a new piece means is worked out once, by the `Reader`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from monitor.match.index.arrays import Column, Numbers, ranges
from monitor.text import cut

# A piece of so many bytes is two numbers of eight.
_SHORT = 16
_BYTES = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)
# Salted as Python's own hash tables are, so that no text can be written that fills one place.
_MIXERS = [np.uint64(hash(salt) & 0xFFFFFFFFFFFFFFFF | 1) for salt in ("first", "second")]

_Word = tuple[int, int, int]


class Lattices(NamedTuple):
    """Words of many texts: `forms[i]` goes from position `starts[i]` to `ends[i]` of `texts[i]`.

    Positions run through all texts, with a gap between two.
    """

    starts: Numbers
    ends: Numbers
    forms: Numbers
    texts: Numbers


class Cut(NamedTuple):
    """Texts in pieces, from `begins` to `ends` of `written`: the position each starts at, and by
    text how many pieces are before it.
    """

    written: bytes
    begins: Numbers
    ends: Numbers
    positions: Numbers
    upto: Numbers

    def piece(self, number: int) -> bytes:
        """Return a piece with its capitals."""
        return self.written[self.begins[number] : self.ends[number]]


class Pieces:
    """The code of each piece: a form's number, or below zero one of the `many` that mean more.

    `simple` returns the form of a piece that is one word, 0 where it means more; `edges` what it
    means then.
    """

    def __init__(
        self,
        simple: Callable[[Sequence[bytes]], list[int]],
        edges: Callable[[bytes], Sequence[_Word]],
    ) -> None:
        self._simple = simple
        self._edges = edges
        self._known = _Known()
        self._long: dict[bytes, int] = {}
        self._long_bytes = 0
        # By code: how many positions a piece takes, and where its words stand in the others.
        self._widths, self._counts, self._firsts = Column("i"), Column("i"), Column("i")
        self._starts, self._ends, self._forms = Column("i"), Column("i"), Column("i")
        for column in (self._widths, self._counts, self._firsts):
            column.append(0)

    def __len__(self) -> int:
        """Return how many pieces are known: a long one counts as the short ones it has room for."""
        return len(self._known) + self._long_bytes // _SHORT

    def read(self, texts: Iterable[str]) -> tuple[Lattices, Cut]:
        """Return the words of texts, and the pieces they were cut into."""
        parts = [b" ", *map(cut, texts)]
        written = b"".join(parts)
        inside = np.frombuffer(written, np.uint8) != ord(" ")
        edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
        begins, ends = edges[::2], edges[1::2]
        upto = np.searchsorted(begins, np.cumsum([len(part) for part in parts]))
        lattices, positions = self._lay_out(self._codes(written.lower(), begins, ends), upto)
        return lattices, Cut(written, begins, ends, positions, upto)

    def _codes(self, written: bytes, begins: Numbers, ends: Numbers) -> Numbers:
        """Return what each piece means: capitals mean nothing."""
        lengths = ends - begins
        eights = np.ndarray(len(written) + 8, "<u8", written + b" " * 15, strides=(1,))
        first = eights[begins] & _BYTES[np.minimum(lengths, 8)]
        second = eights[begins + 8] & _BYTES[np.clip(lengths - 8, 0, 8)]
        long = np.flatnonzero(lengths > _SHORT)
        first[long] = second[long] = 0  # no piece: its code is 1 until it is looked up
        found = self._known.find(first, second)
        missing = np.flatnonzero(found == 0)
        while len(missing):
            # Of pieces that are mixed alike, which are nearly always equal, one is learned.
            new = missing[_firsts_of_each(_mix(first[missing], second[missing]))]
            spans = zip(begins[new].tolist(), ends[new].tolist(), strict=True)
            learned = self._learn([written[begin:end] for begin, end in spans])
            self._known.add(first[new], second[new], np.array(learned, np.int32))
            found[missing] = self._known.find(first[missing], second[missing])
            missing = missing[found[missing] == 0]
        for at in long.tolist():
            found[at] = self._of_long(written[begins[at] : ends[at]])
        return found

    def _of_long(self, piece: bytes) -> int:
        code = self._long.get(piece)
        if code is None:
            [code] = self._learn([piece])
            self._long[piece] = code
            self._long_bytes += len(piece)
        return code

    def _learn(self, pieces: Sequence[bytes]) -> list[int]:
        """Return the codes of pieces: the forms of those that are one word, and of others new."""
        found = zip(pieces, self._simple(pieces), strict=True)
        return [form or self._learn_other(piece) for piece, form in found]

    def _learn_other(self, piece: bytes) -> int:
        found = self._edges(piece)
        if len(found) == 1 and found[0][1:] == (0, 1):
            return found[0][0]
        self._widths.append(max((end for _, _, end in found), default=0))
        self._counts.append(len(found))
        self._firsts.append(len(self._starts))
        for form, start, end in found:
            self._starts.append(start)
            self._ends.append(end)
            self._forms.append(form)
        return 1 - len(self._widths)

    def _lay_out(self, codes: Numbers, upto: Numbers) -> tuple[Lattices, Numbers]:
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


class _Known:
    """From two numbers to a code that is not 0: a hash table that is read and written in bulk.

    Two zeros, which are no piece, have code 1.
    """

    def __init__(self) -> None:
        self._size = 0
        self._make_room(10)

    def __len__(self) -> int:
        return self._size

    def _make_room(self, bits: int) -> None:
        self._bits = bits
        self._keys = np.zeros((2, 1 << bits), np.uint64)
        self._codes = np.zeros(1 << bits, np.int32)

    def find(self, first: Numbers, second: Numbers) -> Numbers:
        """Return the codes of keys, 0 where there is none."""
        slots, there = self._slots(first, second)
        found = np.where(there, self._codes[slots], 0)
        left = np.flatnonzero(~there & (self._keys[0, slots] != 0))
        while len(left):
            slots[left] = (slots[left] + 1) & (len(self._codes) - 1)
            at = slots[left]
            hit = (self._keys[0, at] == first[left]) & (self._keys[1, at] == second[left])
            found[left[hit]] = self._codes[at[hit]]
            left = left[~hit & (self._keys[0, at] != 0)]
        found[first == 0] = 1
        return found

    def _slots(self, first: Numbers, second: Numbers) -> tuple[Numbers, Numbers]:
        """Return where keys stand, if they stand in their first place, and which do."""
        slots = (_mix(first, second) >> np.uint64(64 - self._bits)).view(np.int64)
        return slots, (self._keys[0, slots] == first) & (self._keys[1, slots] == second)

    def add(self, first: Numbers, second: Numbers, codes: Numbers) -> None:
        """Keep keys that are new, each given once."""
        self._size += len(codes)
        if 2 * self._size >= len(self._codes):
            full = np.flatnonzero(self._keys[0])
            kept = self._keys[0, full], self._keys[1, full], self._codes[full]
            self._make_room((2 * self._size).bit_length())
            self._place(*kept)
        self._place(first, second, codes)

    def _place(self, first: Numbers, second: Numbers, codes: Numbers) -> None:
        slots, _ = self._slots(first, second)
        left = np.arange(len(codes))
        while len(left):
            free = left[self._keys[0, slots[left]] == 0]
            # Of several for one place the last one stays; `codes` holds for the same one.
            self._codes[slots[free]] = free
            free = free[self._codes[slots[free]] == free]
            self._keys[0, slots[free]], self._keys[1, slots[free]] = first[free], second[free]
            self._codes[slots[free]] = codes[free]
            placed = np.zeros(len(codes), bool)
            placed[free] = True
            left = left[~placed[left]]
            slots[left] = (slots[left] + 1) & (len(self._codes) - 1)


def _mix(first: Numbers, second: Numbers) -> Numbers:
    mixed: Numbers = (first ^ (second * _MIXERS[1] >> np.uint64(7))) * _MIXERS[0]
    return mixed


def _firsts_of_each(numbers: Numbers) -> Numbers:
    """Return where each number stands, once for equal ones."""
    order = np.argsort(numbers)
    ordered = numbers[order]
    new = np.ones(len(order), bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return order[new]
