"""Numbers kept close together: columns that grow, and a table from numbers to numbers.

A million topics fit in memory because all that is kept of them is in these.
"""

from __future__ import annotations

from array import array
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[Any]

_FRESH = 16_384


def ranges(firsts: Numbers, counts: Numbers) -> Numbers:
    """Return first, first + 1, ... of each range, one range after another."""
    ends = np.cumsum(counts)
    found: Numbers = np.arange(ends[-1] if len(ends) else 0)
    found += np.repeat(firsts - (ends - counts), counts)
    return found


def distinct(numbers: Numbers) -> Numbers:
    """Return the different numbers, sorted."""
    ordered = np.sort(numbers)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=-1))]


class Column:
    """Numbers of one type (an array typecode), appended one by one and read all at once."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._fresh: array[Any] = array(code)
        self._kept: Numbers = np.empty(0, code)
        self._size = 0

    def __len__(self) -> int:
        return self._size + len(self._fresh)

    def append(self, value: float) -> None:
        self._fresh.append(value)
        if len(self._fresh) >= _FRESH:
            self._settle()

    def extend(self, values: list[int]) -> None:
        self._fresh.extend(values)
        if len(self._fresh) >= _FRESH:
            self._settle()

    def reach(self, size: int) -> None:
        """Append zeros until there are `size` numbers."""
        if size > len(self):
            self._fresh.extend(array(self._code, [0]) * (size - len(self)))

    def values(self) -> Numbers:
        """Return the numbers, to be read or changed in place before the next one is appended."""
        if self._fresh:
            self._settle()
        return self._kept[: self._size]

    def __getitem__(self, at: int) -> int:
        if at >= self._size:
            return int(self._fresh[at - self._size])
        return int(self._kept[at])

    def __setitem__(self, at: int, value: int) -> None:
        if at >= self._size:
            self._fresh[at - self._size] = value
        else:
            self._kept[at] = value

    def _settle(self) -> None:
        size = len(self)
        if size > len(self._kept):
            grown = np.empty(size + size // 8 + 16, self._code)
            grown[: self._size] = self._kept[: self._size]
            self._kept = grown
        self._kept[self._size : size] = self._fresh
        self._size, self._fresh = size, array(self._code)


_MIXER = 0x9E3779B97F4A7C15
_ALL = 0xFFFFFFFFFFFFFFFF


class Table:
    """From positive numbers below 2**63 to positive numbers: a hash table that is read in bulk."""

    def __init__(self) -> None:
        self._bits = 4
        self._size = 0
        self._make_room()

    def _make_room(self) -> None:
        self._keys = np.zeros(1 << self._bits, np.int64)
        self._values = np.zeros(1 << self._bits, np.int32)
        self._fast_keys, self._fast_values = self._keys.data, self._values.data

    def get(self, key: int) -> int:
        """Return the value of `key`, 0 for none."""
        return self._fast_values[self._slot(key)]

    def put(self, key: int, value: int) -> None:
        """Keep a new key."""
        if 2 * self._size >= len(self._keys):
            self._grow()
        slot = self._slot(key)
        self._fast_keys[slot], self._fast_values[slot] = key, value
        self._size += 1

    def _slot(self, key: int) -> int:
        """Return where `key` stands, or the free place where it would."""
        keys, last = self._fast_keys, len(self._keys) - 1
        slot = ((key * _MIXER) & _ALL) >> (64 - self._bits)
        while (found := keys[slot]) and found != key:
            slot = (slot + 1) & last
        return slot

    def find(self, keys: Numbers) -> Numbers:
        """Return the values of many keys, 0 where there is none."""
        found = np.zeros(len(keys), np.int32)
        slots = self._slots(keys)
        there = self._keys[slots]
        hit = np.flatnonzero(there == keys)
        found[hit] = self._values[slots[hit]]
        left = np.flatnonzero((there != keys) & (there != 0))
        while len(left):
            slots[left] = (slots[left] + 1) & (len(self._keys) - 1)
            there = self._keys[slots[left]]
            hit = left[there == keys[left]]
            found[hit] = self._values[slots[hit]]
            left = left[(there != keys[left]) & (there != 0)]
        return found

    def _slots(self, keys: Numbers) -> Numbers:
        mixed = keys.view(np.uint64) * np.uint64(_MIXER)
        return (mixed >> np.uint64(64 - self._bits)).view(np.int64)

    def _grow(self) -> None:
        full = np.flatnonzero(self._keys)
        keys, values = self._keys[full], self._values[full]
        self._bits += 1
        self._make_room()
        slots = self._slots(keys)
        left = np.arange(len(keys))
        while len(left):
            free = left[self._keys[slots[left]] == 0]
            self._keys[slots[free]] = keys[free]  # of several for one place the last one stays
            self._values[slots[free]] = values[free]
            left = left[self._keys[slots[left]] != keys[left]]
            slots[left] = (slots[left] + 1) & (len(self._keys) - 1)
