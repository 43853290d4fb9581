"""In how many of 10,000 papers each word is: the shipped counts, in two tables.

For `like:` topics half of the papers are of computing with robotics, half of medicine and the life
sciences with chemistry, so that no field's own subjects count as common words of all. The order by
ratings keeps the older table of computing alone: the other one helps no order, and would move those
that readers have.

A word is known by a hash of its form (`monitor.text`) to one of 2^18 places, so that rare words may
share one. `benchmarks/count_words.py` makes the tables.
"""

from __future__ import annotations

import zlib
from enum import StrEnum
from functools import cache
from importlib.resources import files
from math import log

from monitor.match.meaning.idf import STOP_WORDS
from monitor.text import sign_pattern

PLACES = 1 << 18
COUNTED_PAPERS = 10_000


class CountedIn(StrEnum):
    """The file of a table."""

    COMPUTING = "word_counts_of_computing.z"
    TWO_FIELDS = "word_counts_of_two_fields.z"


def counts_as_word(form: str) -> bool:
    """Whether a word says anything: a letter does not, but a sign of Chinese or Thai does."""
    if len(form) > 1:
        return form not in STOP_WORDS
    return not form.isascii() and bool(sign_pattern().match(form))


def place_of(form: str) -> int:
    return zlib.crc32(form.encode("utf-8", "surrogatepass")) % PLACES


def information(form: str) -> float:
    """Return the inverse document frequency of a word, 0 for one that is in all papers."""
    at = 2 * place_of(form)
    in_papers = int.from_bytes(packed_counts(CountedIn.TWO_FIELDS)[at : at + 2], "little")
    return log((1 + COUNTED_PAPERS) / (1 + in_papers))


@cache
def packed_counts(table: CountedIn) -> bytes:
    """Return in how many papers each place occurs, as 16-bit little-endian numbers."""
    return zlib.decompress(files("monitor.match.meaning").joinpath(table.value).read_bytes())
