"""Every phrase that some topic asks for, found in a batch all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monitor.match.index.arrays import Column, Numbers, Table
from monitor.match.index.pieces import Lattices


class Occurrences(NamedTuple):
    """Phrases by number, each with its first word (counted as in the lattice) and its end."""

    phrases: Numbers
    firsts: Numbers
    ends: Numbers


class Phrases:
    """A trie over numbered forms. A phrase has the number of the node it ends at, from 1."""

    def __init__(self) -> None:
        self._children = Table()  # (node, form) -> node
        self._firsts = Column("i")  # by form: the node of the phrase of this one word
        self._follows = Column("b")  # by form: whether it goes on some phrase
        self._goes_on = Column("b")  # by node
        self._goes_on.append(0)

    def __len__(self) -> int:
        """Return how many nodes there are, with 0."""
        return len(self._goes_on)

    def number(self, forms: Sequence[int]) -> int:
        """Return the number of the phrase of these forms, a new one where there was none."""
        self.make_room(max(forms))
        node = self._firsts[forms[0]]
        if not node:
            self._firsts[forms[0]] = node = self._new()
        for form in forms[1:]:
            key = node << 32 | form
            child = self._children.get(key)
            if not child:
                child = self._new()
                self._children.put(key, child)
                self._goes_on[node] = self._follows[form] = 1
            node = child
        return node

    def _new(self) -> int:
        self._goes_on.append(0)
        return len(self._goes_on) - 1

    def make_room(self, form: int) -> None:
        """Let there be forms up to this one."""
        self._firsts.reach(form + 1)
        self._follows.reach(form + 1)

    def find(self, day: Lattices) -> Occurrences:
        """Return where phrases stand, in no order."""
        self.make_room(int(day.forms.max(initial=0)))
        nodes = self._firsts.values()[day.forms]
        firsts = np.flatnonzero(nodes)
        nodes, ends = nodes[firsts], day.ends[firsts]
        found = [Occurrences(nodes, firsts, ends)]
        next_words = _Next(day, np.flatnonzero(self._follows.values()[day.forms]))
        goes_on = self._goes_on.values()
        while len(going := np.flatnonzero(goes_on[nodes])):
            which, forms, ends = next_words.after(ends[going])
            going = going[which]
            reached = self._children.find(nodes[going].astype(np.int64) << 32 | forms)
            there = np.flatnonzero(reached)
            nodes, ends, firsts = reached[there], ends[there], firsts[going[there]]
            found.append(Occurrences(nodes, firsts, ends))
        return Occurrences(*(np.concatenate(column) for column in zip(*found, strict=True)))


class _Next:
    """Words by the position they start at."""

    def __init__(self, day: Lattices, wanted: Numbers) -> None:
        starts = day.starts[wanted]
        order = np.argsort(starts, kind="stable")
        self._forms, self._ends = day.forms[wanted[order]], day.ends[wanted[order]]
        per_position = np.bincount(starts, minlength=int(day.ends.max(initial=0)) + 1)
        self._upto = np.concatenate([[0], np.cumsum(per_position)])

    def after(self, positions: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return, for words that end at `positions`: which one goes on, by what form, to where."""
        first = self._upto[positions]
        counts = self._upto[positions + 1] - first
        which = np.repeat(np.arange(len(positions)), counts)
        at = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        at += np.repeat(first, counts)
        return which, self._forms[at], self._ends[at]


class PhraseLinks:
    """From phrases to the leaves that ask for them in some fields: chains, each link by number."""

    def __init__(self) -> None:
        self._heads = Column("i")  # by phrase
        self._leaves, self._masks, self._next = Column("i"), Column("b"), Column("i")
        for column in (self._leaves, self._masks, self._next):
            column.append(0)

    def add(self, phrase: int, leaf: int, mask: int) -> None:
        self._heads.reach(phrase + 1)
        self._next.append(self._heads[phrase])
        self._leaves.append(leaf)
        self._masks.append(mask)
        self._heads[phrase] = len(self._leaves) - 1

    def follow(self, phrases: Numbers, fields: Numbers) -> tuple[Numbers, Numbers]:
        """Return the leaves that phrases match, each in a field, and which phrase matches each."""
        heads, leaves = self._heads.values(), self._leaves.values()
        masks, following = self._masks.values(), self._next.values()
        which = np.flatnonzero(phrases < len(heads))
        links = heads[phrases[which]]
        found: list[tuple[Numbers, Numbers]] = []
        while True:
            there = np.flatnonzero(links)
            if not len(there):
                break
            links, which = links[there], which[there]
            matching = np.flatnonzero(masks[links] & fields[which])
            found.append((leaves[links[matching]], which[matching]))
            links = following[links]
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return (
            np.concatenate([leaf for leaf, _ in found]),
            np.concatenate([by for _, by in found]),
        )
