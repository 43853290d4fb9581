"""Columns: the words of some papers numbered, each distinct one once, by lookup instead of sorting.

A table with a number for each place is used again and again, since to make one takes longer than
to number the words of a hundred papers. Of what earlier calls left in it, only the numbers of the
places that it `holds` are trusted.
"""

from __future__ import annotations

from threading import local

import numpy as np
from numpy.typing import NDArray

from monitor.rank.features import PLACES, Places


class _Table(local):
    """A table for each thread."""

    def __init__(self) -> None:
        self.numbers = np.zeros(PLACES, np.int64)
        self.holds: Places | None = None


_table = _Table()


def number(places: Places) -> tuple[Places, NDArray[np.int64]]:
    """Return the distinct ones of some places, and for each place which of them it is.

    `find` is faster with those that were last returned here: nobody may change them.
    """
    numbers = _table.numbers
    at = np.arange(len(places))
    _table.holds = None  # until all of them are numbered
    numbers[places] = at
    # Of equal places one keeps its number in the table, whichever it is.
    distinct = places.take(np.flatnonzero(numbers.take(places) == at))
    numbers[distinct] = at[: len(distinct)]
    _table.holds = distinct
    return distinct, numbers.take(places)


def find(distinct: Places, places: Places) -> NDArray[np.int64]:
    """Return for each place which of the distinct ones it is, -1 for those that are none."""
    if not len(distinct):
        return np.full(len(places), -1)
    numbers = _table.numbers
    if _table.holds is not distinct:
        _table.holds = None
        numbers[distinct] = np.arange(len(distinct))
        _table.holds = distinct
    found = numbers.take(places)
    return np.where(distinct.take(found, mode="clip") == places, found, -1)
