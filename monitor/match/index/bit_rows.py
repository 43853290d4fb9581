"""Rows of bits, one bit a paper: which papers of a batch have a leaf."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.match.index.arrays import Numbers


class FoundLeaves(NamedTuple):
    """Which leaves the papers of a batch have, as rows of bits, one bit a paper.

    `row_of` gives the row of each leaf; row 0 is that of leaves that no paper has.
    """

    present: Numbers
    row_of: Numbers
    rows: Numbers

    def papers(self, leaf: int) -> list[int]:
        """Return the papers that have a leaf."""
        bits = np.unpackbits(self.rows[self.row_of[leaf]].view(np.uint8), bitorder="little")
        found: list[int] = np.flatnonzero(bits).tolist()
        return found


def bit_rows(keys: Numbers, leaves: int, papers: int) -> FoundLeaves:
    """Turn sorted (leaf, paper) keys into rows of bits."""
    width = -(-papers // 64)
    leaf = keys >> 32
    new = np.diff(leaf, prepend=-1) != 0
    present, row = leaf[new], np.cumsum(new)
    row_of = np.zeros(leaves, np.int32)
    row_of[present] = np.arange(1, len(present) + 1)
    rows = np.zeros((len(present) + 1, width), np.uint64)
    if len(keys):
        paper = keys & 0xFFFFFFFF
        words = row * width + (paper >> 6)
        firsts = np.flatnonzero(np.diff(words, prepend=-1))
        bits = np.uint64(1) << (paper & 63).astype(np.uint64)
        rows.reshape(-1)[words[firsts]] = np.bitwise_or.reduceat(bits, firsts)
    return FoundLeaves(present, row_of, rows)


def set_bits(rows: Numbers) -> tuple[Numbers, Numbers]:
    """Return (row, bit) of every bit that is set."""
    width = rows.shape[1]
    flat = rows.reshape(-1)
    at = np.flatnonzero(flat)
    words = flat[at]
    found_at, found_bits = [], []
    while len(at):
        lowest = words & (~words + np.uint64(1))
        found_at.append(at)
        found_bits.append(np.bitwise_count(lowest - np.uint64(1)))
        words = words ^ lowest
        left = np.flatnonzero(words)
        at, words = at[left], words[left]
    if not found_at:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    where, bits = np.concatenate(found_at), np.concatenate(found_bits)
    return where // width, (where % width) * 64 + bits
