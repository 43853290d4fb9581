"""Blocking: a few numbers of each paper, of which noisy copies share one.

The four rarest words of a title make up to six *blocks*: every two that are rare enough together,
and every three of which no pair is. With two words mistyped, lost or added, two are still there, in
any order. A retitled copy is found by its authors, whose list is one more block. A title with a
subtitle also has the first block of the title without it.

A shared block makes a candidate, and proves nothing: the papers are then compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from operator import xor

from monitor.identity.word_rarity import COMMON_FROM, STOP_FROM, hash_of, rank_of
from monitor.text import plain

# A change of these rules needs a migration that writes all stored blocks again.
# How many words of a title make blocks: with two of them damaged, two are left.
RAREST_WORDS = 4

# LaTeX, tags and entities: folding changes them in ASCII text, beside case.
_MARKED = re.compile(r"[\\${}<&]")
# The signs before a subtitle.
_SUBTITLE = re.compile(r"[:?!](?=\s)|\s[-\u2013\u2014]+(?=\s)")
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
    rare = sum(count < COMMON_FROM for count in rarest)
    telling = sum(count < STOP_FROM for count in rarest)
    blocks = [a ^ b for i, a in enumerate(rarest[:rare]) for b in rarest[i + 1 : telling]]
    if len(rarest) - rare > 2:
        three = combinations(rarest[rare:], 3)
        blocks += [a ^ b ^ c for a, b, c in three if b < STOP_FROM]
    return blocks


def blocks_of_authors(authors: Sequence[str]) -> tuple[int, ...]:
    """Return one block of two or more authors: their family names and first initials."""
    people = {person for name in authors if (person := _person(name))}
    return (hash_of("authors " + " ".join(sorted(people))),) if len(people) > 1 else ()


def _person(name: str) -> str:
    """Return "lovelace a" for Ada Lovelace, A. Lovelace and Lovelace, Ada.

    Blocks are stored: `given_name_first`, which knows suffixes, would change those of each Jr.
    """
    family, comma, given = name.partition(",")
    words = plain(f"{given} {family}" if comma else name).split()
    return f"{words[-1]} {words[0][0]}" if words else ""
