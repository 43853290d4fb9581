"""Every phrase that some topic asks for, found in a batch all at once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from monitor.match.index.arrays import Numbers, ranges
from monitor.match.index.texts import Lattices


class Occurrences(NamedTuple):
    """Phrases by number, each with its first word (counted as in the lattice) and its end."""

    phrases: Numbers
    firsts: Numbers
    ends: Numbers


class Phrases:
    """A trie over numbered forms. A phrase has the number of the node it ends at, from 1."""

    def __init__(self) -> None:
        self._children: dict[int, int] = {}  # (node << 32 | form) -> node
        self._firsts = array("i", [0])  # by form: the node of the phrase of this one word
        self._goes_on = bytearray(1)  # by node: whether a longer phrase begins with this one

    def number(self, forms: Sequence[int]) -> int:
        """Return the number of the phrase of these forms, a new one where there was none."""
        if max(forms) >= len(self._firsts):
            self._firsts.extend([0] * (max(forms) + 1 - len(self._firsts)))
            self.__dict__.pop("_table", None)
        node = self._firsts[forms[0]]
        if not node:
            node = self._firsts[forms[0]] = self._new_node()
        for form in forms[1:]:
            key = node << 32 | form
            if key not in self._children:
                self._goes_on[node] = 1
                self._children[key] = self._new_node()
                self.__dict__.pop("_table", None)
            node = self._children[key]
        return node

    def _new_node(self) -> int:
        self._goes_on.append(0)
        return len(self._goes_on) - 1

    @cached_property
    def _table(self) -> tuple[Numbers, Numbers, Numbers]:
        """The keys sorted, with 0 before them; their nodes; by form whether a key has it."""
        keys = np.fromiter([0, *self._children], np.int64)
        order = np.argsort(keys)
        follows = np.zeros(len(self._firsts), bool)
        follows[keys & 0xFFFFFFFF] = True
        nodes = np.fromiter([0, *self._children.values()], np.int32)
        return keys[order], nodes[order], follows

    def find(self, lattices: Lattices) -> Occurrences:
        """Return where phrases stand, in no order."""
        keys, children, follows = self._table
        # Words that no topic asks for have higher numbers.
        known = np.flatnonzero(lattices.forms < len(self._firsts))
        forms = lattices.forms[known]
        ends = lattices.ends[known]
        nodes = np.asarray(self._firsts)[forms]
        at = np.flatnonzero(nodes)
        nodes = nodes[at]
        ends = ends[at]
        firsts = known[at]
        occurrences = [Occurrences(nodes, firsts, ends)]
        # The words by which phrases go on, by the position they start at.
        following = known[follows[forms]]
        following = following[np.argsort(lattices.starts[following], kind="stable")]
        last = int(lattices.ends.max(initial=0))
        starting = np.bincount(lattices.starts[following], minlength=last + 1)
        before = np.cumsum(starting) - starting
        goes_on = np.frombuffer(self._goes_on, np.uint8)
        while len(going := np.flatnonzero(goes_on[nodes])):
            counts = starting[ends[going]]
            words = following[ranges(before[ends[going]], counts)]
            going = np.repeat(going, counts)
            wanted = nodes[going].astype(np.int64) << 32 | lattices.forms[words]
            at = np.searchsorted(keys, wanted, "right") - 1
            there = np.flatnonzero(keys[at] == wanted)
            nodes = children[at[there]]
            ends = lattices.ends[words[there]]
            firsts = firsts[going[there]]
            occurrences.append(Occurrences(nodes, firsts, ends))
        return Occurrences(*(np.concatenate(column) for column in zip(*occurrences, strict=True)))


class PhraseLinks:
    """From phrases to the leaves that ask for them in some fields."""

    def __init__(self) -> None:
        self._phrases, self._leaves, self._masks = array("i"), array("i"), array("b")

    def add(self, phrase: int, leaf: int, mask: int) -> None:
        """Note that a leaf asks for a phrase in the fields whose bits `mask` has."""
        self._phrases.append(phrase)
        self._leaves.append(leaf)
        self._masks.append(mask)
        self.__dict__.pop("_by_phrase", None)

    @cached_property
    def _by_phrase(self) -> tuple[Numbers, Numbers, Numbers]:
        """By phrase how many links are before its own; the leaves and masks in this order."""
        phrases = np.asarray(self._phrases)
        order = np.argsort(phrases, kind="stable")
        before = np.concatenate([[0], np.cumsum(np.bincount(phrases))])
        return before, np.asarray(self._leaves)[order], np.asarray(self._masks)[order]

    def follow(self, phrases: Numbers, fields: Numbers) -> tuple[Numbers, Numbers]:
        """Return the leaves that phrases match, each in a field, and which phrase matches each."""
        before, leaves, masks = self._by_phrase
        which = np.flatnonzero(phrases < len(before) - 1)
        firsts = before[phrases[which]]
        counts = before[phrases[which] + 1] - firsts
        at = ranges(firsts, counts)
        which = np.repeat(which, counts)
        matching = np.flatnonzero(masks[at] & fields[which])
        return leaves[at[matching]], which[matching]
