"""The abbreviations that papers define, in the lattice of a batch.

The same words at the same places as `occurrences.expand_abbreviations` adds to one text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from monitor.match.index.arrays import Numbers, ranges
from monitor.match.index.phrases import Phrases
from monitor.match.index.texts import Lattices, NumberedText, Pieces, Vocabulary
from monitor.match.language.synonyms import bare_term
from monitor.match.language.tree import Words
from monitor.match.meaning.evaluate import View
from monitor.match.meaning.occurrences import Lattice, same_letters
from monitor.text import is_plain, words_of_piece, written_between


class Expanded(NamedTuple):
    """A lattice with the meanings of abbreviations.

    `inner` positions are those within a meaning: it is written from `starts` to `ends`.
    """

    lattices: Lattices
    inner: Numbers
    starts: Numbers
    ends: Numbers


class _Rule(NamedTuple):
    """In a paper, `written` stands for other words; capitals count in a `short` form.

    `readings` is None for too many.
    """

    paper: int
    written: str
    short: bool
    readings: tuple[tuple[int, ...], ...] | None
    meaning: NumberedText


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
    rules = list(_rules(views, vocabulary))
    inner = starts = ends = np.zeros(0, np.int64)
    if rules:
        places = _places(rules, lattices, pieces, views, fields)
        wrong = list(_otherwise_written(rules, places, pieces, views, fields))
        places = _Places(*(np.delete(column, wrong) for column in places))
        lengths = np.array([rule.meaning.length for rule in rules])[places.rules]
        firsts = int(lattices.ends.max(initial=0)) + np.cumsum(lengths) - lengths + 1
        lattices = _add_meanings(lattices, rules, places, firsts)
        inner = ranges(firsts, lengths)
        starts = np.repeat(places.starts, lengths)
        ends = np.repeat(places.ends, lengths)
    return Expanded(lattices, inner, starts, ends)


def _rules(views: Sequence[View], vocabulary: Vocabulary) -> Iterator[_Rule]:
    """Yield the rules that matter to any topic."""
    for paper, view in enumerate(views):
        for definition in view.definitions:
            short, long = map(vocabulary.number_text, definition)
            for written, asked, meaning in zip(
                definition, (short, long), (long, short), strict=True
            ):
                if vocabulary.is_asked_for(meaning.edges):
                    yield _Rule(paper, written, asked is short, asked.readings, meaning)


def _places(
    rules: Sequence[_Rule], lattices: Lattices, pieces: Pieces, views: Sequence[View], fields: int
) -> _Places:
    """Return where rules apply, but for capitals."""
    phrases = Phrases()
    numbered = [
        (phrases.number(forms) << 32 | rule.paper, number)
        for number, rule in enumerate(rules)
        for forms in rule.readings or ()
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
    places = _Places(rule[ranges(first, counts)], texts[at], starts[at], occurrences.ends[at])
    hard = [
        (number, text, *place)
        for number, rule in enumerate(rules)
        if rule.readings is None
        for text in (rule.paper * fields, rule.paper * fields + 1)
        for place in _find(rule.written, _text(views, text, fields), pieces.start_of(text))
    ]
    columns = zip(places, np.array(hard, np.int64).reshape(-1, 4).T, strict=True)
    return _Places(*map(np.concatenate, columns))


def _find(written: str, text: str, start: int) -> set[tuple[int, int]]:
    """Return where a text has some words, in any of their readings; it begins at `start`."""
    hits = Lattice(text).find(Words((), *bare_term(written)))
    return {(start + hit.start, start + hit.end) for hit in hits}


def _add_meanings(
    lattices: Lattices, rules: Sequence[_Rule], places: _Places, firsts: Numbers
) -> Lattices:
    """Add what rules mean at their places; inner positions are from `firsts` on."""
    edges = np.array([edge for rule in rules for edge in rule.meaning.edges], np.int64)
    per_rule = np.array([len(rule.meaning.edges) for rule in rules])
    lengths = np.array([rule.meaning.length for rule in rules])[places.rules]
    counts = per_rule[places.rules]
    at = ranges((np.cumsum(per_rule) - per_rule)[places.rules], counts)
    forms, begins, stops = edges.reshape(-1, 3)[at].T
    inner = np.repeat(firsts, counts)
    length = np.repeat(lengths, counts)
    new = (
        np.where(begins == 0, np.repeat(places.starts, counts), inner + begins),
        np.where(stops == length, np.repeat(places.ends, counts), inner + stops),
        forms,
        np.repeat(places.texts, counts),
    )
    return Lattices(*(np.concatenate(pair) for pair in zip(lattices, new, strict=True)))


def _otherwise_written(
    rules: Sequence[_Rule], places: _Places, pieces: Pieces, views: Sequence[View], fields: int
) -> Iterator[int]:
    """Yield which places have other capitals than the short form of their rule."""
    short = np.array([rule.short for rule in rules])
    doubtful = np.flatnonzero(short[places.rules])
    rule, number, starts, ends = (column[doubtful] for column in places)
    firsts = np.searchsorted(pieces.positions, starts, "right") - 1
    lasts = np.searchsorted(pieces.positions, ends) - 1
    columns = (doubtful, rule, number, firsts, lasts, starts, ends)
    for at, rule_at, text, *place in zip(*(c.tolist() for c in columns), strict=True):
        written = _written(_text(views, text, fields), pieces, int(pieces.before[text]), place)
        if not same_letters(written, rules[rule_at].written):
            yield at


def _text(views: Sequence[View], number: int, fields: int) -> str:
    paper = views[number // fields].paper
    return paper.abstract if number % fields else paper.title


def _written(text: str, pieces: Pieces, before: int, place: Sequence[int]) -> str:
    """Return a part of a text as it is written.

    `place` has its first and last piece, and the positions where it starts and ends; `before` is
    how many pieces the earlier texts of the batch have.
    """
    first, last, start, end = place
    piece, base = pieces.at(first)
    if end == start + 1 and (bare := piece.strip(b".,")).isalnum() and is_plain(text):
        return bare.decode()
    words = [word for word in words_of_piece(piece) if word.word]
    begin = min(w.span[0] for w in words if base + w.start == start)
    if last != first:
        piece, base = pieces.at(last)
        words = [word for word in words_of_piece(piece) if word.word]
    stop = max(w.span[1] for w in words if base + w.end == end)
    if last == first and is_plain(text):
        return piece[begin:stop].decode()
    return written_between(text, (first - before, begin), (last - before, stop))
