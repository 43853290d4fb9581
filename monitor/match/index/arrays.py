"""Arrays of whole numbers, and rows of bits with one bit a paper."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[Any]


def ranges(firsts: Numbers, counts: Numbers) -> Numbers:
    """Return first, first + 1, ... of each range, one range after another."""
    ends = np.cumsum(counts)
    numbers: Numbers = np.arange(ends[-1] if len(ends) else 0)
    numbers += np.repeat(firsts - (ends - counts), counts)
    return numbers


def distinct(numbers: Numbers) -> Numbers:
    """Return the different numbers, sorted: `np.unique` of NumPy 2.4 takes twenty times as long."""
    ordered = np.sort(numbers)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=-1))]


def bit_rows(rows: Numbers, bits: Numbers, width: int) -> Numbers:
    """Return rows of `width` words of 64 bits, where row `rows[i]` has the bit `bits[i]`.

    Sorted by row, then by bit. Row 0 has no bits, and there are no rows after the last of `rows`.
    """
    table = np.zeros((int(rows[-1]) + 1 if len(rows) else 1, width), np.uint64)
    if len(rows):
        words = rows * width + (bits >> 6)
        firsts = np.flatnonzero(np.diff(words, prepend=-1))
        masks = np.uint64(1) << (bits & 63).astype(np.uint64)
        table.reshape(-1)[words[firsts]] = np.bitwise_or.reduceat(masks, firsts)
    return table


def set_bits(rows: Numbers) -> tuple[Numbers, Numbers]:
    """Return (row, bit) of every bit that is set, in order."""
    flat = rows.reshape(-1)
    words = np.flatnonzero(flat)
    bits = np.unpackbits(flat[words].view(np.uint8), bitorder="little")
    at = np.flatnonzero(bits.view(bool))
    row, word = np.divmod(words, rows.shape[1])
    return row[at >> 6], (64 * word)[at >> 6] + (at & 63)
