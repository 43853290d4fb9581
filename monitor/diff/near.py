"""Which titles of a large batch are nearly the same: the blocks of all at once, then letters.

The same blocks as `blocks` gives, worked out in columns: a title is a row of word numbers, its
rarest words are the smallest of the row, and two titles are compared where a block is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
from rapidfuzz import process
from rapidfuzz.distance import Indel

from monitor.diff.blocks import COMMON_FROM, RAREST, SIGNS, STOP_FROM, folded, number

Numbers = npt.NDArray[np.int64]

NEAR = 0.88
# One word more or less is near, too, where at least so many are the same.
SAME_WORDS = 3
# A block with more titles than this tells little; each is compared with so many that follow.
MOST_IN_BLOCK = 32
# Words beyond these are left out of a row; few titles have as many.
LONGEST = 40
# Titles of which more words differ than this are not compared letter by letter.
OTHER_WORDS = 6

_NONE = np.int64(2**62)
_END = -1
_BETWEEN = "|"  # a sign, and so in no folded title


class _Numbers(dict[str, int]):
    def __missing__(self, word: str) -> int:
        found = self[word] = number(word)
        return found


def near_titles(titles: Sequence[str], alike: float = NEAR) -> list[tuple[int, int]]:
    """Return the places (i, j), i < j, of titles that are nearly the same.

    Their letters agree to at least `alike` (normalised Indel similarity of the folded words,
    from 0 to 1), or one has a word more. Pairs are found by a block in common, so that nearly
    all, not all, of them are.
    """
    lines = _folded(titles)
    rows = _rows(lines)
    pairs = _same_block(*_blocks(rows))
    pairs = pairs[_few_words_differ(rows, pairs)]
    first, second = pairs.T.tolist()
    letters = {place: lines[place].replace(" ", "") for place in {*first, *second}}
    agree = process.cpdist(
        [letters[place] for place in first],
        [letters[place] for place in second],
        scorer=Indel.normalized_similarity,
        score_cutoff=alike,
    )
    return [
        (i, j)
        for i, j, near in zip(first, second, agree.tolist(), strict=True)
        if near or _one_word_more(lines[i].split(), lines[j].split())
    ]


def _folded(titles: Sequence[str]) -> list[str]:
    """Return the words of each title, parted by spaces: `blocks.words`, for all at once."""
    plainer = [folded(title).replace("\n", " ") for title in titles]
    return "\n".join(plainer).translate(SIGNS).split("\n")


def _one_word_more(a: Sequence[str], b: Sequence[str]) -> bool:
    if abs(len(a) - len(b)) != 1:
        return False
    fewer, more = (set(a), set(b)) if len(a) < len(b) else (set(b), set(a))
    return len(fewer) >= SAME_WORDS and fewer <= more


def _rows(lines: Sequence[str]) -> Numbers:
    """Return a row of word numbers for each title, in ascending order, each once."""
    known = _Numbers({_BETWEEN: _END})
    run = np.fromiter(map(known.__getitem__, f" {_BETWEEN} ".join(lines).split()), np.int64)
    ends = np.append(np.flatnonzero(run == _END), len(run))
    starts = np.concatenate(([0], ends[:-1] + 1))
    counts = ends - starts
    row = np.repeat(np.arange(len(lines)), counts)
    run = run[run != _END]
    place = np.arange(len(run)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = max(RAREST, min(LONGEST, int(counts.max(initial=0))))
    rows = np.full((len(lines), width), _NONE)
    kept = place < width
    rows[row[kept], place[kept]] = run[kept]
    rows.sort(axis=1)
    again = (rows[:, 1:] == rows[:, :-1]) & (rows[:, 1:] != _NONE)
    repeating = np.flatnonzero(again.any(axis=1))
    some = rows[repeating]
    some[:, 1:][again[repeating]] = _NONE
    some.sort(axis=1)
    rows[repeating] = some
    return rows


def _blocks(rows: Numbers) -> tuple[Numbers, Numbers]:
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
        told = (a >= COMMON_FROM) & (b < STOP_FROM) & (c < _NONE)
        keys.append((a ^ b ^ c)[told])
        owners.append(everyone[told])
        some |= told
    rest = ~some & (rows[:, 0] < _NONE)
    keys.append(np.bitwise_xor.reduce(np.where(rows[rest] == _NONE, 0, rows[rest]), axis=1))
    owners.append(everyone[rest])
    return np.concatenate(keys), np.concatenate(owners)


def _same_block(keys: Numbers, owners: Numbers) -> Numbers:
    """Return the pairs of rows that share a block, each once, the smaller first."""
    order = np.argsort(keys)
    keys, owners = keys[order], owners[order]
    found = []
    for ahead in range(1, MOST_IN_BLOCK + 1):
        same = np.flatnonzero(keys[ahead:] == keys[:-ahead])
        if not len(same):
            break
        pair = np.sort(np.stack((owners[same], owners[same + ahead])), axis=0)
        found.append((pair[0] << 32) | pair[1])
    both = np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
    return np.stack((both >> 32, both & 0xFFFFFFFF), axis=1)


def _few_words_differ(rows: Numbers, pairs: Numbers) -> npt.NDArray[np.bool_]:
    """Compare titles as sets of 64 bits: a typo changes two, another title nearly all."""
    bits = np.where(rows == _NONE, 0, np.int64(1) << (rows & 63))
    sketches = np.bitwise_or.reduce(bits, axis=1)
    differing = np.bitwise_count(sketches[pairs[:, 0]] ^ sketches[pairs[:, 1]])
    return np.asarray(differing <= OTHER_WORDS)
