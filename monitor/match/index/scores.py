"""How well papers match topics, for all pairs of a batch at once.

The same as `meaning.explain.score` gives for one pair. That is called for topics in which a leaf
occurs twice, or leaves share a clause or have weights, and for some papers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from monitor.match.index.abbreviations import Expanded
from monitor.match.index.arrays import Numbers
from monitor.match.index.phrases import Occurrences
from monitor.match.index.shapes import Tree, evaluate
from monitor.match.meaning.explain import combine

TITLE = 0


class Hits(NamedTuple):
    """Leaves found in the fields of papers, each by one of the `occurrences` of phrases."""

    leaves: Numbers
    papers: Numbers
    fields: Numbers
    which: Numbers
    occurrences: Occurrences
    expanded: Expanded


class Counts(NamedTuple):
    """By sorted keys, leaf << 32 | paper: how often a leaf stands in the title, and in all."""

    keys: Numbers
    in_title: Numbers
    in_all: Numbers
    hard: set[int]

    def at(self, leaves: Numbers, papers: Numbers) -> tuple[Numbers, Numbers]:
        """Return the two counts of leaves in papers, 0 where there is none."""
        if not len(self.keys):
            return np.zeros(leaves.shape, np.int64), np.zeros(leaves.shape, np.int64)
        keys = leaves.astype(np.int64) << 32 | papers
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        there = self.keys[at] == keys
        return self.in_title[at] * there, self.in_all[at] * there


def count_occurrences(hits: Hits, checked: Iterable[tuple[int, int, int, int]]) -> Counts:
    """Count the different places in which each paper writes what a leaf asks for.

    What stands inside an abbreviation is written where the abbreviation is. `checked` are rows
    of (leaf, paper, in the title, in all) from the reference evaluation.
    """
    (lattices, inner, inner_starts, inner_ends, _), occurrences = hits.expanded, hits.occurrences
    last = max(int(lattices.ends.max(initial=0)), int(inner.max(initial=0)))
    begins = np.arange(last + 1)
    stops = begins.copy()
    begins[inner], stops[inner] = inner_starts, inner_ends
    starts = begins[lattices.starts[occurrences.firsts[hits.which]]]
    ends = stops[occurrences.ends[hits.which]]
    keys = hits.leaves.astype(np.int64) << 32 | hits.papers
    places = starts.astype(np.int64) << 32 | ends
    order = np.lexsort((places, keys))
    keys, places, fields = keys[order], places[order], hits.fields[order]
    new = (np.diff(keys, prepend=-1) != 0) | (np.diff(places, prepend=-1) != 0)
    keys, in_title = keys[new], fields[new] == TITLE
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    in_all = np.diff(np.append(firsts, len(keys)))
    titles = np.add.reduceat(in_title.astype(np.int64), firsts) if len(firsts) else in_all
    keys = keys[firsts]
    for leaf, paper, title, every in checked:
        at = int(np.searchsorted(keys, leaf << 32 | paper))
        titles[at], in_all[at] = title, every
    return Counts(keys, titles, in_all, hits.expanded.hard)


def score_pairs(
    shape: Tree,
    leaves: Numbers,
    has: Numbers,
    counts: tuple[Numbers, Numbers],
    information: Numbers,
) -> Numbers:
    """Return the scores of pairs of topics of one shape; NaN for what `explain.score` decides.

    A row a pair: the `leaves` in the places of its topic, whether the paper `has` each, how often
    it does (in the title, in all), and how informative that is.
    """
    positive = np.zeros(leaves.shape[1], bool)
    counts_for = np.zeros(leaves.shape, bool)
    _note_places(shape, has, np.ones(len(leaves), bool), counts_for, positive)
    in_title = counts_for & (counts[0] > 0)
    occurrences = (counts_for * counts[1]).sum(axis=1)
    whole = (information * positive).sum(axis=1)
    shares = (information * (2.0 * in_title + counts_for)).sum(axis=1) / whole
    scores: Numbers = combine(in_title.any(axis=1), shares, np.maximum(occurrences, 1))
    ordered = np.sort(leaves[:, positive], axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] > 0)).any(axis=1)
    scores[twice] = np.nan
    return scores


def _note_places(
    tree: Tree, has: Numbers, within: Numbers, counts_for: Numbers, positive: Numbers
) -> None:
    """Mark the places that are not excluded, and those by which each pair matches."""
    if isinstance(tree, int):
        if tree > 0:
            positive[tree - 1] = True
            counts_for[:, tree - 1] = within & has[:, tree - 1]
        return
    for branch in tree[1:]:
        matching = evaluate(branch, lambda place: has[:, abs(place) - 1] ^ (place < 0))
        _note_places(branch, has, within & matching, counts_for, positive)
