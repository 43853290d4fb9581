"""How topics share the places of a digest: pure."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush


def share_places(count: int, sizes: Sequence[int], weights: Sequence[float]) -> list[int]:
    """Return how many of `count` places each of several lists gets, by weight.

    What a list does not need goes to the others. Of two that are owed the same, the first is
    served first.
    """
    shares = [0] * len(sizes)
    if sum(sizes) <= count:
        return list(sizes)
    waiting = [(0.0, at) for at, size in enumerate(sizes) if size]
    heapify(waiting)
    for _ in range(count if waiting else 0):
        _, at = heappop(waiting)
        shares[at] += 1
        if shares[at] < sizes[at]:
            heappush(waiting, (shares[at] / weights[at], at))
    return shares
