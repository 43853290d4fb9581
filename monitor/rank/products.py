"""The products of papers as vectors of their words: how alike each two of them are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.rank.features import Places

Numbers = NDArray[np.float64]

# A word of at most so many papers, or of a 32nd of them, is multiplied pair by pair.
_FEW_ROWS = 4


def number_places(places: Places) -> tuple[Places, NDArray[np.int64]]:
    """Return the distinct ones of ascending places, and the number of each place among them."""
    is_first = np.ones(len(places), dtype=bool)
    np.not_equal(places[1:], places[:-1], out=is_first[1:])
    return places[is_first], is_first.cumsum() - 1


def multiply_rows(
    rows: NDArray[np.int64], columns: NDArray[np.int64], weights: Numbers, size: int
) -> Numbers:
    """Return the products of all rows with each other, of words in the order of `join`.

    `columns` numbers the words. One that a single row has counts in no product but that of the
    row with itself, which is 1.
    """
    counts = np.bincount(columns)
    # Most words are in few rows: the pairs of these are less than a table with a column for each.
    most = max(_FEW_ROWS, size // 32)
    frequent = counts > most
    here = np.flatnonzero(frequent[columns])
    numbers = frequent.cumsum()
    width = int(numbers[-1]) if len(numbers) else 0
    # Half of the time of 64 bits, and exact to six digits.
    dense = np.zeros((size, width), np.float32)
    dense.ravel()[rows[here] * width + numbers[columns[here]] - 1] = weights[here]
    products = (dense @ dense.T).astype(np.float64)
    few = (counts > 1) & ~frequent
    here = np.flatnonzero(few[columns])
    pairs = _add_pairs(rows[here], columns[here], weights[here], size, most)
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
