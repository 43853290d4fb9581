"""The texts of a record, folded once for all that compares them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from monitor.identity import authors, titles, venues
from monitor.identity.authors import Name
from monitor.identity.blocking import fold_title
from monitor.identity.mojibake import repair
from monitor.identity.titles import Title
from monitor.identity.venues import Venue
from monitor.identity.word_rarity import rarity
from monitor.model import Paper
from monitor.text import plain, title_lengths
from monitor.text.spelling import american

# How many characters are compared, beside `title_lengths.COMPARED`, so that no record takes
# unbounded time. All authors may come as one string, which is split later.
MAX_ABSTRACT_LENGTH = 20_000
MAX_AUTHOR_LENGTH = 10_000
# How many letters say which script a text is in, and the least share of them that a script has:
# with fewer it is that of a name or a formula.
MAX_LETTERS = 2_000
MAIN_SCRIPT = 0.25
# PubMed's note in place of a title, or behind one: "[Article in Chinese]".
_LANGUAGE_NOTE = re.compile(r"\[(?:article|title|text|in)\b[^\[\]]{0,60}\]\.?", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_]{2,}")
# A record is compared with several candidates, each by several rules, and the next record with
# some of the same: of 1,500 made records, 660 folds serve 3,500 uses.
KEPT = 256


@dataclass(frozen=True, slots=True)
class FoldedAbstract:
    """The words of an abstract as `written` and in American spelling, its pairs of neighbouring
    words, and its rare words.
    """

    written: tuple[str, ...]
    words: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    terms: frozenset[str]


class FoldedRecord:
    """The title, authors, venue and abstract of a record as they are compared.

    Each is repaired, folded and split where it is first needed: most records are compared with
    none, and nearly all others by title and authors only.
    """

    def __init__(self, title: str, names: tuple[str, ...], venue: str, abstract: str) -> None:
        self.names = tuple(name[:MAX_AUTHOR_LENGTH] for name in names)
        self._title = title[: title_lengths.COMPARED]
        self._venue = venue[: title_lengths.COMPARED]
        self._abstract = abstract[:MAX_ABSTRACT_LENGTH]

    @cached_property
    def repaired_title(self) -> str:
        return repair(self._title)

    @cached_property
    def title(self) -> Title:
        return titles.title(self.repaired_title)

    @cached_property
    def title_without_note(self) -> Title:
        """The title without a note on its language."""
        bare = _LANGUAGE_NOTE.sub("", self.repaired_title)
        return self.title if bare == self.repaired_title else titles.title(bare)

    @cached_property
    def title_words(self) -> tuple[str, ...]:
        """All words of the title, those of notes as well."""
        return tuple(plain(self.repaired_title).split())

    @cached_property
    def title_scripts(self) -> frozenset[str]:
        return scripts(self._title)

    @cached_property
    def people(self) -> tuple[Name, ...]:
        return authors.people(self.names)

    @cached_property
    def words_of_names(self) -> frozenset[str]:
        return words_of_names(fold_names(self.names))

    @cached_property
    def venue(self) -> Venue:
        return venues.venue(self._venue)

    @cached_property
    def abstract(self) -> FoldedAbstract:
        return _fold_abstract(self._abstract)

    @cached_property
    def abstract_numbers(self) -> frozenset[str | tuple[str, str]]:
        words = self.abstract.written
        numerals = {word for word in words if any(map(str.isdigit, word))}
        return titles.numbers(words) | titles.find_counts(words) | numerals

    @cached_property
    def abstract_scripts(self) -> frozenset[str]:
        return scripts(self._abstract)


def fold_record(paper: Paper) -> FoldedRecord:
    """Return the folded texts of a paper; one whose texts were folded just before is the same."""
    return _fold(paper.title, paper.authors, paper.venue, paper.abstract)


@lru_cache(KEPT)
def _fold(title: str, names: tuple[str, ...], venue: str, abstract: str) -> FoldedRecord:
    return FoldedRecord(title, names, venue, abstract)


# Copies of a work have one abstract: with them, `same_work` takes a fifth less time.
@lru_cache(64)
def _fold_abstract(text: str) -> FoldedAbstract:
    written = tuple(plain(text).split())
    words = tuple(map(american, written))
    rare = frozenset(word for word in set(words) if rarity(word) > 1)
    return FoldedAbstract(written, words, frozenset(pairwise(words)), rare)


def fold_names(names: tuple[str, ...]) -> str:
    """Return the names of authors in one string, folded."""
    return fold_title(" ".join(names)).casefold()


def words_of_names(folded: str) -> frozenset[str]:
    """Return the words of folded names, without initials."""
    return frozenset(_NAME.findall(folded))


def scripts(text: str) -> frozenset[str]:
    """Return the scripts in which a text is written, as Unicode names them: "LATIN", "CJK"."""
    letters = Counter(filter(str.isalpha, text[:MAX_LETTERS]))
    of_scripts = Counter[str]()
    for letter, count in letters.items():
        of_scripts[unicodedata.name(letter, "?").partition(" ")[0]] += count
    least = MAIN_SCRIPT * of_scripts.total()
    return frozenset(script for script, count in of_scripts.items() if count >= least)
