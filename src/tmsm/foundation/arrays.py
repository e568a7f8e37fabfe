"""Array types, and the few row-wise operations that every layer needs.

Points are ``(n, D)`` float64 in embedding coordinates everywhere.  Inside the streaming pass the
blocks are column-major, so that one coordinate of all rows is contiguous; nothing depends on it
but speed.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ArrayLike",
    "BoolArray",
    "FloatArray",
    "IntArray",
    "padded",
    "row_dots",
    "row_norms",
    "row_squares",
    "safe_divide",
    "safe_inverse",
    "weighted_gram",
    "weighted_sum",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

# Up to so many columns p(p+1)/2 vector dot products beat one thin matrix product:
# BLAS pads a 3-column product to its kernel width (measured: 12 ms against 55 ms for 10^7 rows).
# A product of two different arrays, as with weights, is faster (at six columns 4 ns a row against 8).
_DOT_COLUMNS, _WEIGHTED_DOT_COLUMNS = 6, 4
# Beyond so many rows BLAS wakes its threads for a dot product, which costs more than it gains.
_DOT_ROWS = 10_000

# Small enough to be no length of a vector that is not zero, large enough for its inverse to have room.
_TINY = 1e-150


def row_dots(U: FloatArray, V: FloatArray) -> FloatArray:
    """Dot product of each row of U with the same row of V, shape (n,)."""
    dots: FloatArray = np.einsum("ij,ij->i", U, V)
    return dots


def padded(V: FloatArray, columns: slice, D: int) -> FloatArray:
    """Rows of V in some columns of D, zeros in the others, shape (n, D)."""
    out = np.zeros((len(V), D))
    out[:, columns] = V
    return out


def row_squares(V: FloatArray) -> FloatArray:
    """Squared Euclidean length of each row, shape (n,)."""
    return row_dots(V, V)


def row_norms(V: FloatArray) -> FloatArray:
    """Euclidean length of each row, shape (n,)."""
    squared = row_squares(V)
    return np.sqrt(squared, out=squared)


def safe_inverse(length: FloatArray) -> FloatArray:
    """1/length for lengths of any shape, and a huge finite number for zero."""
    inverse: FloatArray = np.maximum(length, _TINY)
    return np.divide(1.0, inverse, out=inverse)


def safe_divide(V: FloatArray, length: FloatArray) -> FloatArray:
    """Rows of V (n, D) divided by ``length`` (n,); a row of length zero becomes zero, not NaN."""
    return V * safe_inverse(length)[:, None]


def weighted_gram(G: FloatArray, weight: FloatArray | float | None) -> FloatArray:
    """Sum over rows of ``weight * g gᵀ``, shape (p, p), for G of shape (n, p)."""
    weighted: Any = G
    few = _DOT_COLUMNS
    if isinstance(weight, np.ndarray):
        weighted, few = G * weight[:, None], _WEIGHTED_DOT_COLUMNS
        weight = None
    total: FloatArray
    p = G.shape[1]
    if p > few:
        total = weighted.T @ G
        total = 0.5 * (total + total.T)
    else:
        total = np.zeros((p, p))
        for start in range(0, len(G), _DOT_ROWS):
            rows = slice(start, start + _DOT_ROWS)
            columns = list(G[rows].T)
            for i, left in enumerate(weighted[rows].T):
                for j in range(i + 1):
                    total[i, j] += left.dot(columns[j])
        total += np.tril(total, -1).T
    if weight is not None:
        total *= weight
    return total


def weighted_sum(rows: FloatArray, coefficient: FloatArray | float, w: FloatArray | None) -> FloatArray:
    """Sum over rows (n, p), weighted by a coefficient and by sample weights, both (n,) or less, shape (p,)."""
    factor = coefficient if w is None else coefficient * w
    total: FloatArray = factor @ rows if isinstance(factor, np.ndarray) else factor * rows.sum(axis=0)
    return total
