"""A table of points read block by block: checked once, never copied whole."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tmsm.arrays import ArrayLike, BoolArray, FloatArray
from tmsm.errors import EstimationError, InvalidInputError
from tmsm.regions.base import BorderView, Region
from tmsm.validation import as_rows, check_option, check_sample_weight

__all__ = ["Block", "Rows"]

# Coordinates in a block: few enough to stay in the cache and below the size at which BLAS wakes its
# threads for a dot product, enough to pay for the hundred or so array operations on it.  Threads of
# our own were tried and lost: operations this short spend the gain on waiting for the interpreter.
_BLOCK_NUMBERS = 3 * 10_000
# Scales such as the median come from at most this many rows, spread evenly over the table.
_SAMPLE_ROWS = 2**16
# Rows closer to the border than this (times the size of the coordinates) carry no weight at all.
_BORDER_TOLERANCE = 1e-9


T = TypeVar("T")


@dataclass(frozen=True)
class Block:
    """Some rows inside the region with their border and weights."""

    view: BorderView
    sample_weight: FloatArray | None

    @property
    def X(self) -> FloatArray:
        """Points, shape (n, D), column-major."""
        return self.view.X


class Rows:
    """The rows of a table inside a region.

    `map` goes over them in blocks.  Its first complete run checks every row and counts what it
    drops; later ones trust it.
    """

    def __init__(
        self,
        X: Any,
        region: Region,
        sample_weight: ArrayLike | None = None,
        outside: str = "raise",
    ) -> None:
        self.region = region
        self.outside = check_option(outside, ["raise", "drop"], "outside")
        self._X = as_rows(X, "X", region.manifold.embedding_dim)
        self._weight = check_sample_weight(sample_weight, len(self._X))
        self._checked = False
        self.n_outside = 0
        self._farthest = 0.0

    def __len__(self) -> int:
        return len(self._X)

    def map(self, function: Callable[[Block], T]) -> Iterator[T]:
        """Apply a function to every block, in order."""
        size = max(1024, _BLOCK_NUMBERS // self._X.shape[1])
        n_outside, farthest = 0, -np.inf
        for start in range(0, len(self._X), size):
            block, block_outside, block_farthest = self._block(slice(start, start + size))
            n_outside += block_outside
            farthest = max(farthest, block_farthest)
            if block is not None:
                yield function(block)
        self.n_outside = n_outside
        if not self._checked:
            self._check_counts(farthest)
            self._checked = True

    def _block(self, piece: slice) -> tuple[Block | None, int, float]:
        """Read, check and filter some rows: the block, how many were dropped, the largest distance."""
        X = self._read(piece)
        weight = None if self._weight is None else self._weight[piece]
        view = BorderView(self.region, X)
        if not self.region.has_border:
            return Block(view, weight), 0, np.inf
        d, _ = view.distance()
        n_outside = 0
        if not d.min() > 0.0:
            if self.outside == "raise":
                raise InvalidInputError(self._describe_outside())
            inside = d > 0.0
            n_outside = len(X) - int(np.count_nonzero(inside))
            if n_outside == len(X):
                return None, n_outside, -np.inf
            d = d[inside]
            weight = None if weight is None else weight[inside]
            view = BorderView(self.region, np.asfortranarray(X[inside]))
        return Block(view, weight), n_outside, float(d.max())

    def sample(self) -> FloatArray:
        """Checked rows inside the region, spread evenly over the table, (m, D): for scales."""
        step = -(-len(self._X) // _SAMPLE_ROWS)
        X = self._read(slice(None, None, step))
        if self.region.has_border:
            inside = self.region.signed_distance(X)[0] > 0.0
            if not inside.all():
                if self.outside == "raise":
                    raise InvalidInputError(self._describe_outside())
                X = X[inside]
        if len(X) == 0:
            raise InvalidInputError(self._describe_outside())
        return X

    def all_identical(self) -> bool:
        """Whether every row is the same point."""
        first = self._X[:1]
        return all(self.map(lambda block: bool((first == block.X).all())))

    def _read(self, rows: slice) -> FloatArray:
        X = np.array(self._X[rows], dtype=np.float64, order="F")
        if not self._checked and not self.region.manifold.contains_all(X):
            raise InvalidInputError(str(self.region.manifold.reason(self._X)))
        return X

    def _check_counts(self, farthest: float) -> None:
        if self.n_outside == len(self._X):
            raise InvalidInputError(self._describe_outside())
        size = max(1.0, float(np.abs(self._X[0]).max()))
        if self.region.has_border and farthest <= _BORDER_TOLERANCE * size:
            raise EstimationError(
                f"All {len(self._X) - self.n_outside} rows lie on the border (farthest: {farthest:.3g} from it), "
                "where every weight is zero. Check that the region and the rows are in the same coordinates."
            )

    def _describe_outside(self) -> str:
        outside, worst, depth = 0, 0, np.inf
        on_border = 0
        for start in range(0, len(self._X), _SAMPLE_ROWS):
            X = np.array(self._X[start : start + _SAMPLE_ROWS], dtype=np.float64)
            d, _ = self.region.signed_distance(X)
            out: BoolArray = ~(d > 0.0)
            outside += int(np.count_nonzero(out))
            on_border += int(np.count_nonzero(np.abs(d) <= _BORDER_TOLERANCE))
            lowest = int(np.argmin(d))
            if d[lowest] < depth:
                worst, depth = start + lowest, float(d[lowest])
        n = len(self._X)
        if outside == n and on_border == n:
            return f"All {n} rows of X lie on the border, where every weight is zero."
        advice = (
            "None is left to fit. Check the region's side (~region is the other one) and the coordinates."
            if outside == n
            else "Check the region's side (~region is the other one), or drop such rows with outside='drop'."
        )
        touching = f", {on_border} of them on the border" if 0 < on_border < outside else ""
        if on_border == outside:
            touching = ", on the border"
        return (
            f"X has {outside} of {n} rows outside the region{touching} "
            f"(worst: row {worst}, {abs(depth):.3g} beyond the border). {advice}"
        )
