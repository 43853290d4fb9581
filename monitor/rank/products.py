"""The products of papers as vectors of their words: how alike each two of them are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.rank.features import Numbers, Weights

# A word of at most so many papers, or of a 32nd of them, is multiplied pair by pair.
_FEW_ROWS = 4
# A matrix of at most so many rows is inverted at once.
_SMALL = 32


def multiply_rows(
    rows: NDArray[np.int64], columns: NDArray[np.int64], weights: Weights, size: int
) -> Numbers:
    """Return the products of all rows with each other; each word has a row, column and weight.

    A word that a single row has counts in no product but that of the row with itself, so that
    these are left out.
    """
    counts = np.bincount(columns)
    # Most words are in few rows: the pairs of these are less than a table with a column for each.
    most = max(_FEW_ROWS, size // 32)
    few = np.flatnonzero(((counts > 1) & (counts <= most)).take(columns))
    # By column. NumPy sorts numbers of 16 bits by radix, several times as fast as larger ones.
    keys = columns.take(few).astype(np.min_scalar_type(len(counts)))
    order = keys.argsort(kind="stable")
    few, keys = few.take(order), keys.take(order)
    products = _add_pairs(rows.take(few), keys, weights.take(few), size, most)
    products += products.T
    # Half of the time of 64 bits, and exact to six digits.
    table = tabulate(rows, columns, weights, np.flatnonzero(counts > most), (size, len(counts)))
    products += table.T @ table
    np.fill_diagonal(products, 0.0)
    return products


def tabulate(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    weights: Weights,
    asked: NDArray[np.int64],
    shape: tuple[int, int],
) -> NDArray[np.float32]:
    """Return the columns that are `asked` for of a matrix of this shape, each as a row.

    Its words have rows, columns and weights.
    """
    size, width = len(asked) * shape[0], shape[0]
    # Words of other columns are put behind the table: that is faster than to leave them out.
    starts = np.full(shape[1], size)
    starts[asked] = np.arange(0, size, width)
    table = np.zeros(size + width, np.float32)
    table[starts.take(columns) + rows] = weights
    return table[:size].reshape(-1, width)


def _add_pairs(
    rows: NDArray[np.int64],
    columns: NDArray[np.unsignedinteger],
    weights: Weights,
    size: int,
    most: int,
) -> Numbers:
    """Add up the products of each two rows that have a word, where at most `most` have it.

    Words of one column follow each other.
    """
    places, shares = [], []
    for lag in range(1, most):
        pairs = np.flatnonzero(columns[lag:] == columns[:-lag])
        places.append(rows.take(pairs) * size + rows.take(pairs + lag))
        shares.append(weights.take(pairs) * weights.take(pairs + lag))
    sums = np.bincount(np.concatenate(places), np.concatenate(shares), size * size)
    return sums.astype(np.float64, copy=False).reshape(size, size)


def invert(matrix: Numbers) -> Numbers:
    """Return the inverse of a symmetric positive definite matrix.

    It is put together from the inverses of two halves: products are much faster than what LAPACK
    does to invert a matrix of some hundred rows.
    """
    inverse = np.empty_like(matrix)
    if len(matrix) <= _SMALL:
        inverse[:] = np.linalg.inv(matrix)
        return inverse
    half = len(matrix) // 2
    first = invert(matrix[:half, :half])
    across = first @ matrix[:half, half:]
    left = matrix[half:, half:] - matrix[half:, :half] @ across
    # Rounding makes it slightly asymmetric, and the error would grow with each split.
    second = invert((left + left.T) / 2)
    corner = -across @ second
    inverse[:half, :half] = first - corner @ across.T
    inverse[:half, half:], inverse[half:, :half] = corner, corner.T
    inverse[half:, half:] = second
    return inverse
