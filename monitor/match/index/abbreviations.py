"""The abbreviations that papers define, in the lattice of a batch.

The same words at the same places as `occurrences.expand_abbreviations` adds to one text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from monitor.match.index.arrays import Numbers, ranges
from monitor.match.index.phrases import Phrases
from monitor.match.index.texts import Edge, Lattices, Pieces, Vocabulary
from monitor.match.meaning.evaluate import View
from monitor.match.meaning.occurrences import Lattice, expand_abbreviations, same_letters
from monitor.text import is_plain, words_of_piece, written_in_piece


class Expanded(NamedTuple):
    """A lattice with the meanings of abbreviations.

    `inner` positions are those within a meaning: it is written from `starts` to `ends`. Not for
    the papers in `hard`.
    """

    lattices: Lattices
    inner: Numbers
    starts: Numbers
    ends: Numbers
    hard: set[int]


class _Rule(NamedTuple):
    """In a paper, what stands for other words: `short` is empty where capitals do not count."""

    paper: int
    short: str
    readings: tuple[tuple[int, ...], ...]
    meaning: tuple[Edge, ...]
    length: int


class _Places(NamedTuple):
    """Which rule applies in which text, from which position to which: a place a row."""

    rules: Numbers
    texts: Numbers
    starts: Numbers
    ends: Numbers


def with_abbreviations(
    lattices: Lattices, pieces: Pieces, views: Sequence[View], fields: int, vocabulary: Vocabulary
) -> Expanded:
    """Return a lattice in which the abbreviations of each paper mean what it defines.

    The texts of paper p are p * fields, its title, the next, its abstract, and others.
    """
    rules, hard = _rules(views, vocabulary)
    inner = starts = ends = np.zeros(0, np.int64)
    if rules:
        places = _places(rules, lattices, fields)
        right = np.ones(len(places.rules), bool)
        right[_otherwise_written(rules, places, pieces, views, fields, hard)] = False
        right &= ~np.isin(places.texts // fields, list(hard))
        places = _Places(*(column[right] for column in places))
        lengths = np.array([rule.length for rule in rules])[places.rules]
        firsts = int(lattices.ends.max(initial=0)) + np.cumsum(lengths) - lengths + 1
        lattices = _add_meanings(lattices, rules, places, firsts)
        inner = ranges(firsts, lengths)
        starts, ends = np.repeat(places.starts, lengths), np.repeat(places.ends, lengths)
    if hard:
        lattices = _expand_plainly(lattices, pieces, views, fields, vocabulary, hard)
    return Expanded(lattices, inner, starts, ends, hard)


def _rules(views: Sequence[View], vocabulary: Vocabulary) -> tuple[list[_Rule], set[int]]:
    """Return the rules that matter to any topic, and the papers to be expanded plainly instead."""
    rules: list[_Rule] = []
    hard: set[int] = set()
    for paper, view in enumerate(views):
        for definition in view.definitions:
            short, long = map(vocabulary.number_text, definition)
            for written, asked, meaning in ((definition.short, short, long), ("", long, short)):
                if not vocabulary.is_asked_for(meaning.edges):
                    continue
                if asked.readings is None:
                    hard.add(paper)
                else:
                    rules.append(
                        _Rule(paper, written, asked.readings, meaning.edges, meaning.length)
                    )
    return rules, hard


def _places(rules: Sequence[_Rule], lattices: Lattices, fields: int) -> _Places:
    """Return where rules apply, but for capitals."""
    phrases = Phrases()
    numbered = [
        (phrases.number(forms) << 32 | rule.paper, number)
        for number, rule in enumerate(rules)
        for forms in rule.readings
    ]
    keys, rule = np.array(sorted(numbered), np.int64).reshape(-1, 2).T
    occurrences = phrases.find(lattices)
    texts = lattices.texts[occurrences.firsts]
    wanted = occurrences.phrases.astype(np.int64) << 32 | texts // fields
    first = np.searchsorted(keys, wanted)
    counts = np.searchsorted(keys, wanted, "right") - first
    counts[texts % fields > 1] = 0  # abbreviations count in the title and the abstract
    at = np.repeat(np.arange(len(wanted)), counts)
    starts = lattices.starts[occurrences.firsts]
    return _Places(rule[ranges(first, counts)], texts[at], starts[at], occurrences.ends[at])


def _add_meanings(
    lattices: Lattices, rules: Sequence[_Rule], places: _Places, firsts: Numbers
) -> Lattices:
    """Add what rules mean at their places; inner positions are from `firsts` on."""
    edges = np.array([edge for rule in rules for edge in rule.meaning], np.int64).reshape(-1, 3)
    per_rule = np.array([len(rule.meaning) for rule in rules])
    lengths = np.array([rule.length for rule in rules])[places.rules]
    counts = per_rule[places.rules]
    at = ranges((np.cumsum(per_rule) - per_rule)[places.rules], counts)
    forms, begins, stops = edges[at].T
    inner, length = np.repeat(firsts, counts), np.repeat(lengths, counts)
    new = (
        np.where(begins == 0, np.repeat(places.starts, counts), inner + begins),
        np.where(stops == length, np.repeat(places.ends, counts), inner + stops),
        forms,
        np.repeat(places.texts, counts),
    )
    return Lattices(*(np.concatenate(pair) for pair in zip(lattices, new, strict=True)))


def _otherwise_written(
    rules: Sequence[_Rule],
    places: _Places,
    pieces: Pieces,
    views: Sequence[View],
    fields: int,
    hard: set[int],
) -> list[int]:
    """Return where short forms stand with other capitals than their rule's.

    Papers with a place that is more than a piece are added to `hard`.
    """
    short = np.array([bool(rule.short) for rule in rules])
    doubtful = np.flatnonzero(short[places.rules])
    doubtful = doubtful[np.argsort(places.texts[doubtful], kind="stable")]
    columns = (column[doubtful].tolist() for column in places)
    wrong = []
    for number, rows in groupby(zip(doubtful.tolist(), *columns, strict=True), itemgetter(2)):
        text = _Text(_text(views, number, fields), number, pieces)
        for at, rule, _, start, end in rows:
            written = text.between(start, end)
            if written is None:
                hard.add(number // fields)
            elif not same_letters(written, rules[rule].short):
                wrong.append(at)
    return wrong


def _text(views: Sequence[View], number: int, fields: int) -> str:
    paper = views[number // fields].paper
    return paper.abstract if number % fields else paper.title


class _Text:
    """A text of the batch as it is written."""

    def __init__(self, text: str, number: int, pieces: Pieces) -> None:
        self._text = text
        self._is_plain = is_plain(text)
        self._pieces = pieces.of_text(number)

    def between(self, start: int, end: int) -> str | None:
        """Return what stands between two positions, None where they are of different pieces."""
        at = bisect_right(self._pieces, start, key=itemgetter(1)) - 1
        piece, first = self._pieces[at]
        if self._is_plain and end == start + 1 and (bare := piece.strip(b".,")).isalnum():
            return bare.decode()
        words = words_of_piece(piece)
        spans = {(word.start + first, word.end + first): word.span for word in words}
        span = spans.get((start, end))
        if span is None:
            return None
        if self._is_plain:
            return piece[slice(*span)].decode()
        return written_in_piece(self._text, at, span)


def _expand_plainly(
    lattices: Lattices,
    pieces: Pieces,
    views: Sequence[View],
    fields: int,
    vocabulary: Vocabulary,
    hard: set[int],
) -> Lattices:
    """Add to the papers of `hard` what the reference evaluation adds."""
    inner = int(lattices.ends.max(initial=0)) + 1
    new: list[tuple[int, int, int, int]] = []
    for number in [paper * fields + field for paper in sorted(hard) for field in (0, 1)]:
        first, last = pieces.before[number : number + 2]
        base = int(pieces.positions[first]) if first < last else 0
        lattice = Lattice(_text(views, number, fields))
        added = expand_abbreviations(lattice, views[number // fields].definitions)
        for form, *ends in vocabulary.number_words(added):
            start, end = (base + end if end >= 0 else inner - end for end in ends)
            new.append((start, end, form, number))
        inner += max((-min(word.start, word.end, 0) for word in added), default=0)
    columns = zip(lattices, np.array(new, np.int64).reshape(-1, 4).T, strict=True)
    return Lattices(*(np.concatenate(pair) for pair in columns))
