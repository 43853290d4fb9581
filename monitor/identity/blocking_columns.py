"""The blocks of many titles at once, in columns, and the pairs of papers that share one.

A title is a row of word ranks in ascending order, so that its rarest words come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from monitor.identity.blocking import RAREST_WORDS, SIGNS, blocks_of_words, fold_title
from monitor.identity.word_rarity import COMMON_FROM, STOP_FROM, rank_of

Numbers = npt.NDArray[np.int64]

# A large block says little: each paper is compared with so many that follow.
MAX_NEIGHBOURS = 32
# Titles with more words are handled one by one.
MAX_ROW_WORDS = 40

NONE = np.int64(2**62)
_TITLE_END = -1
_TITLE_END_WORD = "|"  # a sign, so it is in no folded title


class _RankByWord(dict[str, int]):
    def __missing__(self, word: str) -> int:
        found = self[word] = rank_of(word)
        return found


def word_lines(titles: Sequence[str]) -> list[str]:
    """Return the words of each title, separated by spaces, as `words` does."""
    plainer = [fold_title(title).replace("\n", " ") for title in titles]
    return "\n".join(plainer).translate(SIGNS).split("\n")


def number_rows(lines: Sequence[str]) -> Numbers:
    """Return a row of distinct word ranks for each line, in ascending order, then NONE."""
    known = _RankByWord({_TITLE_END_WORD: _TITLE_END})
    run = np.fromiter(map(known.__getitem__, f" {_TITLE_END_WORD} ".join(lines).split()), np.int64)
    ends = np.append(np.flatnonzero(run == _TITLE_END), len(run))
    starts = np.concatenate(([0], ends[:-1] + 1))
    counts = ends - starts
    row = np.repeat(np.arange(len(lines)), counts)
    run = run[run != _TITLE_END]
    place = np.arange(len(run)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = max(RAREST_WORDS, min(MAX_ROW_WORDS, int(counts.max(initial=0))))
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


def blocks_of_rows(rows: Numbers) -> tuple[Numbers, Numbers]:
    """Return all blocks of all rows, and the row of each."""
    rarest = rows[:, :RAREST_WORDS].T
    keys, owners = [], []
    everyone = np.arange(len(rows))
    some = np.zeros(len(rows), dtype=bool)
    for a, b in combinations(rarest, 2):
        makes_block = (a < COMMON_FROM) & (b < STOP_FROM)
        keys.append((a ^ b)[makes_block])
        owners.append(everyone[makes_block])
        some |= makes_block
    for a, b, c in combinations(rarest, 3):
        makes_block = (a >= COMMON_FROM) & (b < STOP_FROM) & (c < NONE)
        keys.append((a ^ b ^ c)[makes_block])
        owners.append(everyone[makes_block])
        some |= makes_block
    rest = ~some & (rows[:, 0] < NONE)
    keys.append(np.bitwise_xor.reduce(np.where(rows[rest] == NONE, 0, rows[rest]), axis=1))
    owners.append(everyone[rest])
    return np.concatenate(keys), np.concatenate(owners)


def blocks_of_titles(titles: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the blocks of the words of each title as `blocks_of_words` does, in another order."""
    lines = word_lines(titles)
    keys, owners = blocks_of_rows(number_rows(lines))
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=len(lines))).tolist()
    every = keys[order].tolist()
    result = [tuple(every[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    for place, line in enumerate(lines):
        if len(line) > MAX_ROW_WORDS and line.count(" ") >= MAX_ROW_WORDS:
            result[place] = blocks_of_words(line.split())
    return result


def find_pairs(blocks: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return the pairs of papers, by their numbers, that share a block, the smaller first."""
    owners = np.repeat(np.arange(len(blocks)), [len(one) for one in blocks])
    keys = np.array(list(chain.from_iterable(blocks)), np.int64)
    return [(a, b) for a, b in pairs_sharing_a_block(keys, owners).tolist()]


def pairs_sharing_a_block(keys: Numbers, owners: Numbers) -> Numbers:
    """Return the distinct pairs of owners that share a block, the smaller first."""
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], owners[order]
    found = []
    for ahead in range(1, MAX_NEIGHBOURS + 1):
        same = np.flatnonzero(keys[ahead:] == keys[:-ahead])
        if not len(same):
            break
        pair = np.sort(np.stack((owners[same], owners[same + ahead])), axis=0)
        found.append((pair[0] << 32) | pair[1])
    both = np.sort(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
    both = both[np.diff(both, prepend=-1) > 0]  # sorting is faster than np.unique's hashing
    return np.stack((both >> 32, both & 0xFFFFFFFF), axis=1)
