"""The abbreviations that papers define, laid over the lattice of a batch.

The same words at the same places as `occurrences.expand_abbreviations` adds to one text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monitor.match.evaluate import View
from monitor.match.index.arrays import Numbers, ranges
from monitor.match.index.lattice import Reader
from monitor.match.index.phrases import Phrases
from monitor.match.index.pieces import Cut, Lattices
from monitor.match.occurrences import Lattice, expand_abbreviations, same_letters
from monitor.text import is_plain, words_of_piece, written_in_piece


class _Rule(NamedTuple):
    """In a paper, what stands for other words: `short` is empty where its capitals do not count."""

    paper: int
    short: str
    ways: tuple[tuple[int, ...], ...]
    meant: tuple[tuple[int, int, int], ...]
    length: int


class _Places(NamedTuple):
    """Which rule applies in which text, from which position to which: a place a row."""

    rules: Numbers
    texts: Numbers
    starts: Numbers
    ends: Numbers


class Laid(NamedTuple):
    """A lattice with what abbreviations mean laid over it.

    `inner` positions lie over the words that are written from `starts` to `ends`; those of the
    papers in `hard` are not among them.
    """

    day: Lattices
    inner: Numbers
    starts: Numbers
    ends: Numbers
    hard: set[int]


def with_abbreviations(
    day: Lattices, cut: Cut, views: Sequence[View], fields: int, reader: Reader
) -> Laid:
    """Return a lattice in which the abbreviations of each paper mean what it defines.

    The texts of paper p are p * fields, its title, the next, its abstract, and others.
    """
    rules, hard = _rules(views, reader)
    inner = starts = ends = np.zeros(0, np.int64)
    if rules:
        places = _places(rules, day, fields)
        wrong = _Texts(cut, views, fields).otherwise_written(rules, places, hard)
        right = np.ones(len(places.rules), bool)
        right[wrong] = False
        right &= ~np.isin(places.texts // fields, list(hard))
        places = _Places(*(column[right] for column in places))
        lengths = np.array([one.length for one in rules])[places.rules]
        firsts = int(day.ends.max(initial=0)) + np.cumsum(lengths) - lengths + 1
        day = _lay_over(day, rules, places, firsts)
        inner, starts, ends = (
            ranges(firsts, lengths),
            np.repeat(places.starts, lengths),
            np.repeat(places.ends, lengths),
        )
    if hard:
        day = _with_hard_ones(day, cut, views, fields, reader, hard)
    return Laid(day, inner, starts, ends, hard)


def _rules(views: Sequence[View], reader: Reader) -> tuple[list[_Rule], set[int]]:
    """Return the rules that matter to any topic, and the papers to be read plainly instead."""
    rules: list[_Rule] = []
    hard: set[int] = set()
    for paper, view in enumerate(views):
        for definition in view.definitions:
            short, long = map(reader.number_text, definition)
            for written, looked_for, other in ((definition.short, short, long), ("", long, short)):
                if not reader.is_used(form for form, _, _ in other.words):
                    continue
                if looked_for.ways is None:
                    hard.add(paper)
                else:
                    rules.append(_Rule(paper, written, looked_for.ways, other.words, other.length))
    return rules, hard


def _places(rules: Sequence[_Rule], day: Lattices, fields: int) -> _Places:
    """Return where rules apply, but for capitals."""
    phrases = Phrases()
    number_words = [
        (phrases.number(way) << 32 | rule.paper, number)
        for number, rule in enumerate(rules)
        for way in rule.ways
    ]
    keys, rule = np.array(sorted(number_words), np.int64).reshape(-1, 2).T
    found = phrases.find(day)
    text = day.texts[found.firsts]
    wanted = found.phrases.astype(np.int64) << 32 | text // fields
    first = np.searchsorted(keys, wanted)
    counts = np.searchsorted(keys, wanted, "right") - first
    counts[text % fields > 1] = 0  # abbreviations count in the title and the abstract
    at = np.repeat(np.arange(len(wanted)), counts)
    starts = day.starts[found.firsts]
    return _Places(rule[ranges(first, counts)], text[at], starts[at], found.ends[at])


def _lay_over(day: Lattices, rules: Sequence[_Rule], places: _Places, firsts: Numbers) -> Lattices:
    """Lay what rules mean over places; inner positions, from `firsts` on, lie behind all others."""
    meant = np.array([word for one in rules for word in one.meant], np.int64).reshape(-1, 3)
    per_rule = np.array([len(one.meant) for one in rules])
    lengths = np.array([one.length for one in rules])[places.rules]
    counts = per_rule[places.rules]
    at = ranges((np.cumsum(per_rule) - per_rule)[places.rules], counts)
    form, begins, stops = meant[at].T
    inner, length = np.repeat(firsts, counts), np.repeat(lengths, counts)
    new = (
        np.where(begins == 0, np.repeat(places.starts, counts), inner + begins),
        np.where(stops == length, np.repeat(places.ends, counts), inner + stops),
        form,
        np.repeat(places.texts, counts),
    )
    return Lattices(*(np.concatenate(pair) for pair in zip(day, new, strict=True)))


class _Texts:
    """What stands in texts, as it is written."""

    def __init__(self, cut: Cut, views: Sequence[View], fields: int) -> None:
        self._cut = cut
        self._views = views
        self._fields = fields
        self._plain: dict[int, bool] = {}

    def otherwise_written(
        self, rules: Sequence[_Rule], places: _Places, hard: set[int]
    ) -> list[int]:
        """Return where short forms stand with other capitals than their rule's.

        Papers with a place that is more than a piece are added to `hard`.
        """
        short = np.array([bool(rule.short) for rule in rules])
        doubtful = np.flatnonzero(short[places.rules])
        doubtful = doubtful[np.argsort(places.texts[doubtful], kind="stable")]
        pieces = np.searchsorted(self._cut.positions, places.starts[doubtful], "right") - 1
        rows = zip(
            doubtful.tolist(),
            pieces.tolist(),
            *(column[doubtful].tolist() for column in places),
            strict=True,
        )
        wrong = []
        for at, piece, rule, text, start, end in rows:
            written = self._written(text, piece, start, end)
            if written is None:
                hard.add(text // self._fields)
            elif not same_letters(written, rules[rule].short):
                wrong.append(at)
        return wrong

    def _written(self, text: int, at: int, start: int, end: int) -> str | None:
        """Return what stands at a place that begins in a piece, None where it ends in another."""
        piece = self._cut.piece(at)
        plain = self._is_plain(text)
        if plain and end == start + 1 and (bare := piece.strip(b".,")).isalnum():
            return bare.decode()
        first = int(self._cut.positions[at])
        places = {
            (word.start + first, word.end + first): word.span for word in words_of_piece(piece)
        }
        span = places.get((start, end))
        if span is None:
            return None
        if plain:
            return piece[slice(*span)].decode()
        return written_in_piece(self._whole(text), at - int(self._cut.upto[text]), span)

    def _is_plain(self, text: int) -> bool:
        if text not in self._plain:
            self._plain[text] = is_plain(self._whole(text))
        return self._plain[text]

    def _whole(self, text: int) -> str:
        paper = self._views[text // self._fields].paper
        return paper.abstract if text % self._fields else paper.title


def _with_hard_ones(
    day: Lattices, cut: Cut, views: Sequence[View], fields: int, reader: Reader, hard: set[int]
) -> Lattices:
    """Add to the papers of `hard` what the plain reading adds."""
    inner = int(day.ends.max(initial=0)) + 1
    new: list[tuple[int, int, int, int]] = []
    for text in [paper * fields + field for paper in sorted(hard) for field in (0, 1)]:
        view = views[text // fields]
        written = view.paper.abstract if text % fields else view.paper.title
        first = int(cut.upto[text])
        base = int(cut.positions[first]) if first < cut.upto[text + 1] else 0
        added = expand_abbreviations(Lattice(written), view.definitions)
        for form, start, end in reader.number_words(added):
            new.append(
                (
                    base + start if start >= 0 else inner - start,
                    base + end if end >= 0 else inner - end,
                    form,
                    text,
                )
            )
        inner += max((-min(word.start, word.end, 0) for word in added), default=0)
    columns = zip(day, np.array(new, np.int64).reshape(-1, 4).T, strict=True)
    return Lattices(*(np.concatenate(pair) for pair in columns))
