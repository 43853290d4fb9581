"""Which topics must be evaluated, by which leaves were found in a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monitor.match.index.arrays import Column, Numbers, distinct, ranges

# Topics added since the table was built are looked through one by one, up to this many.
_MOST_ADDED = 4_096


class Triggers:
    """The topics that each leaf triggers; leaf 0 stands for every paper."""

    def __init__(
        self, leaves: list[Numbers], topics: list[Numbers], leaf_count: int, topic_count: int
    ) -> None:
        leaf = np.concatenate([np.zeros(0, np.int32), *leaves])
        order = np.argsort(leaf, kind="stable")
        self._topics = np.concatenate([np.zeros(0, np.int32), *topics])[order].astype(np.int32)
        per_leaf = np.bincount(leaf, minlength=leaf_count)
        self._upto = np.concatenate([[0], np.cumsum(per_leaf)])
        self._topic_count = topic_count
        self._added_leaves, self._added_topics = Column("i"), Column("i")

    @property
    def is_stale(self) -> bool:
        return len(self._added_leaves) > max(_MOST_ADDED, len(self._topics) // 8)

    def add(self, topic: int, leaves: Sequence[int]) -> None:
        for leaf in leaves:
            self._added_leaves.append(leaf)
            self._added_topics.append(topic)

    def topics(self, present: Numbers) -> Numbers | None:
        """Return the topics that leaves trigger, sorted; None when that is a large part of all."""
        leaves = np.concatenate([[0], present[: np.searchsorted(present, len(self._upto) - 1)]])
        firsts = self._upto[leaves]
        counts = self._upto[leaves + 1] - firsts
        if counts.sum() > self._topic_count // 4 + 256:
            return None
        at = ranges(firsts, counts)
        added = np.isin(self._added_leaves.values(), np.append(present, 0))
        return distinct(np.concatenate([self._topics[at], self._added_topics.values()[added]]))
