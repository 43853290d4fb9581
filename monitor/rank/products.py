"""The products of papers as vectors of their words: how alike each two of them are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.rank.features import Places

Numbers = NDArray[np.float64]

# A word of at most so many papers, or of a 32nd of them, is multiplied pair by pair.
_FEW_ROWS = 4


def count_places(places: Places) -> tuple[Places, NDArray[np.int64]]:
    """Return the distinct ones of ascending places, and how often each occurs."""
    starts = np.flatnonzero(np.diff(places, prepend=np.int32(-1)))
    return places[starts], np.diff(starts, append=len(places))


def multiply_rows(
    rows: NDArray[np.int64], counts: NDArray[np.int64], weights: Numbers, size: int
) -> Numbers:
    """Return the products of all rows with each other, of words in the order of `join`.

    Each next word is that of the next so many rows that `counts` says. One that a single row has
    counts in no product but that of the row with itself, which is 1.
    """
    # Most words are in few rows: the pairs of these are less than a table with a column for each.
    most = max(_FEW_ROWS, size // 32)
    frequent = counts > most
    here = np.flatnonzero(np.repeat(frequent, counts))
    columns = np.repeat(np.arange(frequent.sum()), counts[frequent])
    # Half of the time of 64 bits, and exact to six digits.
    dense = np.zeros((size, int(frequent.sum())), np.float32)
    dense[rows[here], columns] = weights[here]
    products = (dense @ dense.T).astype(np.float64)
    few = (counts > 1) & ~frequent
    here = np.flatnonzero(np.repeat(few, counts))
    columns = np.repeat(np.arange(few.sum()), counts[few])
    pairs = _add_pairs(rows[here], columns, weights[here], size, most)
    products += pairs
    products += pairs.T
    products.flat[:: size + 1] = np.bincount(rows, minlength=size) > 0
    return products


def _add_pairs(
    rows: NDArray[np.int64], columns: NDArray[np.int64], weights: Numbers, size: int, most: int
) -> Numbers:
    """Add up the products of each two rows that have a word, where at most `most` have it."""
    places, shares = [], []
    for lag in range(1, most):
        pairs = np.flatnonzero(columns[lag:] == columns[:-lag])
        places.append(rows[pairs] * size + rows[pairs + lag])
        shares.append(weights[pairs] * weights[pairs + lag])
    sums = np.bincount(np.concatenate(places), np.concatenate(shares), size * size)
    return sums.astype(np.float64, copy=False).reshape(size, size)
