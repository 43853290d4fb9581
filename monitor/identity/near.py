"""The blocks of many titles at once, in columns, and which of many papers share a block.

A title is a row of word numbers in ascending order, so that its rarest words are the first of
the row: `blocks_of` gives the very numbers that `blocks.blocks` gives for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from monitor.identity.blocking import (
    COMMON_FROM,
    RAREST,
    SIGNS,
    STOP_FROM,
    folded,
    number,
    of_words,
    with_head,
    words,
)

Numbers = npt.NDArray[np.int64]

# A block with more papers than this tells little; each is compared with so many that follow.
MOST_IN_BLOCK = 32
# To set columns up takes as long as so many titles, one by one.
FEW = 200
# No row is wider. The few titles with as many words are worked out one by one.
LONGEST = 40

NONE = np.int64(2**62)
_END = -1
_BETWEEN = "|"  # a sign, and so in no folded title


class _Numbers(dict[str, int]):
    def __missing__(self, word: str) -> int:
        found = self[word] = number(word)
        return found


def lines(titles: Sequence[str]) -> list[str]:
    """Return the words of each title, parted by spaces: `blocks.words`, for all at once."""
    plainer = [folded(title).replace("\n", " ") for title in titles]
    return "\n".join(plainer).translate(SIGNS).split("\n")


def rows(lines: Sequence[str]) -> Numbers:
    """Return a row of word numbers for each line, in ascending order, each once, then NONE."""
    known = _Numbers({_BETWEEN: _END})
    run = np.fromiter(map(known.__getitem__, f" {_BETWEEN} ".join(lines).split()), np.int64)
    ends = np.append(np.flatnonzero(run == _END), len(run))
    starts = np.concatenate(([0], ends[:-1] + 1))
    counts = ends - starts
    row = np.repeat(np.arange(len(lines)), counts)
    run = run[run != _END]
    place = np.arange(len(run)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = max(RAREST, min(LONGEST, int(counts.max(initial=0))))
    found = np.full((len(lines), width), NONE)
    kept = place < width
    found[row[kept], place[kept]] = run[kept]
    found.sort(axis=1)
    again = (found[:, 1:] == found[:, :-1]) & (found[:, 1:] != NONE)
    repeating = np.flatnonzero(again.any(axis=1))
    some = found[repeating]
    some[:, 1:][again[repeating]] = NONE
    some.sort(axis=1)
    found[repeating] = some
    return found


def blocks(rows: Numbers) -> tuple[Numbers, Numbers]:
    """Return all blocks of all rows, and the row of each."""
    rarest = rows[:, :RAREST].T
    keys, owners = [], []
    everyone = np.arange(len(rows))
    some = np.zeros(len(rows), dtype=bool)
    for a, b in combinations(rarest, 2):
        told = (a < COMMON_FROM) & (b < STOP_FROM)
        keys.append((a ^ b)[told])
        owners.append(everyone[told])
        some |= told
    for a, b, c in combinations(rarest, 3):
        told = (a >= COMMON_FROM) & (b < STOP_FROM) & (c < NONE)
        keys.append((a ^ b ^ c)[told])
        owners.append(everyone[told])
        some |= told
    rest = ~some & (rows[:, 0] < NONE)
    keys.append(np.bitwise_xor.reduce(np.where(rows[rest] == NONE, 0, rows[rest]), axis=1))
    owners.append(everyone[rest])
    return np.concatenate(keys), np.concatenate(owners)


def blocks_of(titles: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the blocks of each title as `blocks.blocks` does, in another order."""
    if len(titles) < FEW:
        return [with_head(of_words(words(title)), title) for title in titles]
    told = lines(titles)
    keys, owners = blocks(rows(told))
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=len(told))).tolist()
    every = keys[order].tolist()
    found = [tuple(every[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    for place, line in enumerate(told):
        if len(line) > LONGEST and line.count(" ") >= LONGEST:
            found[place] = of_words(line.split())
    return list(map(with_head, found, titles))


def sharing(keys: Numbers, owners: Numbers) -> Numbers:
    """Return the pairs of owners that share a block, each once, the smaller first."""
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], owners[order]
    found = []
    for ahead in range(1, MOST_IN_BLOCK + 1):
        same = np.flatnonzero(keys[ahead:] == keys[:-ahead])
        if not len(same):
            break
        pair = np.sort(np.stack((owners[same], owners[same + ahead])), axis=0)
        found.append((pair[0] << 32) | pair[1])
    both = np.sort(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
    both = both[np.diff(both, prepend=-1) > 0]  # sorting is faster than np.unique's hashing
    return np.stack((both >> 32, both & 0xFFFFFFFF), axis=1)
