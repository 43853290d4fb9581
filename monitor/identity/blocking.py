"""Blocking: a few numbers of each paper, of which noisy copies share one.

The four rarest words of a title make up to six *blocks*: every two that are rare enough together,
and every three of which no pair is. With two words mistyped, lost or added, two are still there, in
any order. A retitled copy is found by its authors, whose list is one more block. A title with a
subtitle also has the first block of the title without it.

A shared block makes a candidate, and proves nothing: the papers are then compared.

    blocks("Dropout as a Bayesian Approximation")         dropout+bayesian  dropout+approximation
bayesian+approximation+a
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from operator import xor

import numpy as np
import numpy.typing as npt

from monitor.identity.word_rarity import COMMON_FROM, STOP_FROM, hash_of, rank_of
from monitor.text import plain

# A change of these rules needs a migration that writes all stored blocks again.

# How many words of a title make blocks: with two of them damaged, two are left.
RAREST_WORDS = 4

# What folding changes in ASCII text beside case: LaTeX, tags and entities.
_MARKED = re.compile(r"[\\${}<&]")
# The signs before a subtitle.
_SUBTITLE = re.compile(r"[:?!](?=\s)|\s[-\u2013\u2014]+(?=\s)")
# Signs in a name other than letters, spaces and separators.
_MORE_THAN_LETTERS = re.compile(r"[\\${}<&+#\d\n]")
SIGNS = str.maketrans(
    {sign: " " for sign in map(chr, range(128)) if not sign.isalnum() and sign != "\n"}
)


def blocks(title: str, authors: Sequence[str] = ()) -> tuple[int, ...]:
    """Return up to eight numbers from 0 to 2^62, the same in every process and release.

    Empty for a title without words and no authors.
    """
    return (*add_head_block(blocks_of_words(words(title)), title), *blocks_of_authors(authors))


def add_head_block(blocks: tuple[int, ...], title: str) -> tuple[int, ...]:
    """Add the block of the rarest words before the subtitle, if there is one."""
    if not (sign := _SUBTITLE.search(title)):
        return blocks
    numbers = sorted(set(map(rank_of, words(title[: sign.start()]))))
    head = _of_rarest(numbers[:RAREST_WORDS])[:1]
    return (*blocks, *head) if head and head[0] not in blocks else blocks


def words(title: str) -> list[str]:
    """Return the folded words of a title: runs of letters and digits."""
    return fold_title(title).translate(SIGNS).split()


def fold_title(title: str) -> str:
    """Fold a title, keeping its signs. Nine of ten titles need only lower case."""
    return title.lower() if title.isascii() and not _MARKED.search(title) else plain(title)


def blocks_of_words(words: Sequence[str]) -> tuple[int, ...]:
    """Return the blocks, up to six, of a title's folded words.

    Each block has a rare word and another, or three common ones, so that no block is large.
    """
    numbers = sorted(set(map(rank_of, words)))
    return tuple(_of_rarest(numbers[:RAREST_WORDS])) or ((reduce(xor, numbers),) if numbers else ())


def _of_rarest(rarest: Sequence[int]) -> list[int]:
    rare = sum(one < COMMON_FROM for one in rarest)
    telling = sum(one < STOP_FROM for one in rarest)
    found = [a ^ b for i, a in enumerate(rarest[:rare]) for b in rarest[i + 1 : telling]]
    if len(rarest) - rare > 2:
        three = combinations(rarest[rare:], 3)
        found += [a ^ b ^ c for a, b, c in three if b < STOP_FROM]
    return found


def blocks_of_authors(authors: Sequence[str]) -> tuple[int, ...]:
    """Return one block of two or more authors: their family names and first initials."""
    people = {person for name in authors if (person := _person(name))}
    return (hash_of("authors " + " ".join(sorted(people))),) if len(people) > 1 else ()


def _person(name: str) -> str:
    """Return "lovelace a" for Ada Lovelace, A. Lovelace and Lovelace, Ada."""
    family, comma, given = name.partition(",")
    text = f"{given} {family}" if comma else name
    if text.isascii() and text.replace(" ", "").isalpha():
        words = text.lower().split()
    elif text.isascii() and not _MORE_THAN_LETTERS.search(text):
        words = text.lower().translate(SIGNS).split()
    else:
        words = plain(text).split()
    return f"{words[-1]} {words[0][0]}" if words else ""


# Many titles at once, in columns. A title is a row of word ranks in ascending order, so that its
# rarest words come first. `blocks_of` gives the same blocks as `blocks`.

Numbers = npt.NDArray[np.int64]

# A large block says little: each paper is compared with so many that follow.
MAX_NEIGHBOURS = 32
# Fewer titles are faster one by one.
COLUMNS_FROM = 200
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


def blocks_of(titles: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the blocks of each title as `blocks` does, in another order."""
    if len(titles) < COLUMNS_FROM:
        return [add_head_block(blocks_of_words(words(title)), title) for title in titles]
    lines = word_lines(titles)
    keys, owners = blocks_of_rows(number_rows(lines))
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=len(lines))).tolist()
    every = keys[order].tolist()
    result = [tuple(every[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    for place, line in enumerate(lines):
        if len(line) > MAX_ROW_WORDS and line.count(" ") >= MAX_ROW_WORDS:
            result[place] = blocks_of_words(line.split())
    return list(map(add_head_block, result, titles))


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
