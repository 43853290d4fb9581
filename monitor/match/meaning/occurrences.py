"""Where a term occurs in a text: words by form, phrases, words near each other, abbreviations."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, count
from typing import NamedTuple

from monitor.match.language.synonyms import bare_term
from monitor.match.language.tree import Edge, Near, Words
from monitor.text import MAX_TEXT_LENGTH, Word, words

MAX_SHORT_LENGTH = 10
MAX_DEFINITIONS = 50

_PARENTHESES = re.compile(r"\(([^()]{2,200})\)")
_LISTED = re.compile("[,;]")
# Up to the last boundary, since `.*` takes as much as it can.
_UP_TO_SENTENCE = re.compile(r".*(?:[.;:!?](?=\s)|[()])", re.DOTALL)
_SHORT = re.compile(r"\w[^\s]*(?: [^\s]+)?")

Span = tuple[int, int]


class Occurrence(NamedTuple):
    """A place where a term occurs: its positions in the lattice, and its characters."""

    start: int
    end: int
    span: Span


class Lattice:
    """The words of one text, found by form or by their first letters.

    Where the text writes an abbreviation that the paper defines, the words it stands for are in
    the lattice as well, and the abbreviation where those words are: each further chain of words
    begins and ends where what is written does, has its characters as its span, and inner
    positions of its own, which are negative. `expand_abbreviations` adds them.
    """

    def __init__(self, text: str, defined: Iterable[Definition] = ()) -> None:
        self.text = text
        self._occurrences: dict[Words | Near, list[Span]] = {}
        self.by_form: dict[str, list[Word]] = {}
        for word in words(text):
            self.by_form.setdefault(word.form, []).append(word)
        for word in expand_abbreviations(self, defined):
            self.by_form.setdefault(word.form, []).append(word)

    @cached_property
    def by_word(self) -> dict[str, list[Word]]:
        by_word: dict[str, list[Word]] = {}
        for alike in self.by_form.values():
            for word in alike:
                by_word.setdefault(word.word, []).append(word)
        return by_word

    def occurrences(self, term: Words | Near) -> list[Span]:
        """Return where `term` stands, as spans of the original text in order."""
        spans = self._occurrences.get(term)
        if spans is None:
            hits = self._near(term) if isinstance(term, Near) else self.find(term)
            spans = self._occurrences[term] = sorted({hit.span for hit in hits})
        return spans

    def find(self, term: Words) -> list[Occurrence]:
        """Return every occurrence of a word or phrase."""
        hits = self._chains(term)
        if term.exact:
            wanted = _normalize(term.exact)
            return [hit for hit in hits if _normalize(self.text[slice(*hit.span)]) == wanted]
        return hits

    def _words_of(self, edge: Edge) -> Sequence[Word]:
        if not edge.prefix:
            return self.by_form.get(edge.key, ())
        return [w for word, at in self.by_word.items() if word.startswith(edge.key) for w in at]

    def _chains(self, term: Words) -> list[Occurrence]:
        """Follow the term's edges, in order, through the adjoining words of this text.

        `reached` holds, for each position of the term, where in the text it can be, and the
        first words of the chains that lead there.
        """
        reached: list[dict[int, set[Word]]] = [{} for _ in range(term.length + 1)]
        hits: set[Occurrence] = set()
        for edge in term.edges:
            for word in self._words_of(edge):
                firsts = {word} if edge.start == 0 else reached[edge.start].get(word.start)
                if firsts is None:
                    continue
                if edge.end < term.length:
                    reached[edge.end].setdefault(word.end, set()).update(firsts)
                    continue
                for first in firsts:
                    hits.add(Occurrence(first.start, word.end, (first.span[0], word.span[1])))
        return sorted(hits)

    def _near(self, term: Near) -> Iterator[Occurrence]:
        """Yield the occurrences of the term's words in each stretch that holds all of them."""
        by_word = [
            [hit for hit in self.find(word) if min(hit.start, hit.end) >= 0] for word in term.words
        ]
        if not all(by_word):
            return
        stretches = _stretches([_by_length(alike) for alike in by_word], term.distance)
        starts = [start for start, _ in stretches]
        furthest = list(accumulate((end for _, end in stretches), max))
        for hit in chain.from_iterable(by_word):
            before = bisect_right(starts, hit.start)
            if before and hit.end <= furthest[before - 1]:
                yield hit


# The positions at which a word of a proximity begins, in order, by how many positions it takes.
_ByLength = Mapping[int, Sequence[int]]


def _by_length(hits: Iterable[Occurrence]) -> _ByLength:
    lengths: dict[int, list[int]] = {}
    for start, end in sorted({(hit.start, hit.end) for hit in hits}):
        lengths.setdefault(end - start, []).append(start)
    return dict(sorted(lengths.items(), reverse=True))


def _stretches(words: Sequence[_ByLength], distance: int) -> list[tuple[int, int]]:
    """Return, for each start in order, the longest stretch of positions that has every word.

    At most `distance` positions of a stretch are of none of the words.
    """
    at = [(begin, begin + length) for by in words for length, all in by.items() for begin in all]
    ends = sorted({end for _, end in at})
    longest = sum(max(by) for by in words) + distance
    stretches = []
    for start in sorted({start for start, _ in at}):
        last = bisect_right(ends, start + longest)
        for end in reversed(ends[bisect_right(ends, start, 0, last) : last]):
            lengths = [_longest_inside(by, start, end) for by in words]
            if not all(lengths):
                break  # a shorter stretch has no more words
            if end - start - sum(lengths) <= distance:
                stretches.append((start, end))
                break
    return stretches


def _longest_inside(by_length: _ByLength, start: int, end: int) -> int:
    """Return the positions that the longest occurrence in a stretch takes, 0 for none."""
    for length, begins in by_length.items():
        first = bisect_left(begins, start)
        if first < len(begins) and begins[first] + length <= end:
            return length
    return 0


# ── abbreviations that a paper defines: `graph neural networks (GNNs)` ──────────────
#
# After A. Schwartz and M. Hearst, A simple algorithm for identifying abbreviation definitions in
# biomedical text, Pacific Symposium on Biocomputing 8 (2003), 451-462: the letters of the short
# form are looked for from right to left in the words before its parentheses, and the first one
# must begin a word. Beyond the paper, a short form needs a capital letter here, so that no common
# word is ever taken for one.


class Definition(NamedTuple):
    """A short form and what it stands for, both as the paper writes them."""

    short: str
    long: str


def find_definitions(*texts: str) -> tuple[Definition, ...]:
    """Return what the texts define, the first definition of each short form, at most 50."""
    definitions: dict[str, Definition] = {}
    for text in (each[:MAX_TEXT_LENGTH] for each in texts):
        if "(" in text:
            for definition in _definitions_in(text):
                definitions.setdefault(definition.short, definition)
                if len(definitions) == MAX_DEFINITIONS:
                    return tuple(definitions.values())
    return tuple(definitions.values())


def _definitions_in(text: str) -> Iterator[Definition]:
    done = 0
    for parentheses in _PARENTHESES.finditer(text):
        written = text[done : parentheses.start()]
        done = parentheses.end()
        inside = _LISTED.split(parentheses[1], maxsplit=1)[0].strip()
        inside_is_short = _is_short(inside)
        if not inside_is_short and "".join(written.rsplit(None, 1)[-1:]).islower():
            continue  # as most parentheses: neither side is a short form
        before = _sentence(written)
        if before and inside_is_short:
            long = _long_form(inside, _last_words(before, inside))
            if long:
                yield Definition(inside, long)
        elif before and _is_short(short := before.rsplit(None, 1)[-1]):
            long = _long_form(short, inside)
            if long == inside:
                yield Definition(short, long)


def _sentence(before: str) -> str:
    """Return what stands before a parenthesis, back to the end of the sentence before."""
    earlier = _UP_TO_SENTENCE.match(before)
    return before[earlier.end() if earlier else 0 :].strip()


def _is_short(text: str) -> bool:
    return (
        2 <= len(text) <= MAX_SHORT_LENGTH
        and not text.islower()  # as most are, which is seen at once
        and _SHORT.fullmatch(text) is not None
        and any(letter.isupper() for letter in text)
    )


def _last_words(before: str, short: str) -> str:
    """Return as many words before a short form as it can stand for."""
    count = min(len(short) + 5, 2 * len(short))
    return " ".join(before.rsplit(None, count)[-count:])


def _long_form(short: str, text: str) -> str:
    """Return the shortest end of `text` that has the letters of `short` in order; "" if none."""
    at = len(text) - 1
    letters = [(i, letter) for i, letter in enumerate(short.lower()) if letter.isalnum()]
    lowered = text.lower()
    for index, letter in reversed(letters):
        at = lowered.rfind(letter, 0, at + 1)
        while index == letters[0][0] and at > 0 and lowered[at - 1].isalnum():
            at = lowered.rfind(letter, 0, at)
        if at < 0:
            return ""
        at -= 1
    long = text[text.rfind(" ", 0, at + 1) + 1 :]
    return long if _is_likely(short, long, len(letters)) else ""


def _is_likely(short: str, long: str, letters: int) -> bool:
    words = re.split(r"[\s-]+", long)
    return (
        len(long) > len(short)
        and len(words) <= min(letters + 5, 2 * letters)
        and short.lower() not in (word.lower() for word in words)
    )


def expand_abbreviations(lattice: Lattice, defined: Iterable[Definition]) -> list[Word]:
    """Return what abbreviations add to a lattice that has none: long for short, short for long.

    The short form counts where its capitals are those of the definition, with or without the s
    of a plural; the long form in all its spellings.
    """
    added: list[Word] = []
    inner = count(-1, -1)
    for short, long in defined:
        for form, other in ((short, long), (long, short)):
            meaning = words(other)
            for hit in lattice.find(Words((), *bare_term(form))):
                if form is long or same_letters(lattice.text[slice(*hit.span)], short):
                    added += _place_over(meaning, hit, inner)
    return added


def same_letters(written: str, short: str) -> bool:
    return written in (short, f"{short}s") or short == f"{written}s"


def _place_over(meaning: Sequence[Word], hit: Occurrence, inner: Iterator[int]) -> Iterator[Word]:
    length = max((word.end for word in meaning), default=0)
    at = {0: hit.start, length: hit.end}
    for word in meaning:
        for position in (word.start, word.end):
            if position not in at:
                at[position] = next(inner)
        yield Word(word.form, word.word, at[word.start], at[word.end], hit.span)


def _normalize(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())
