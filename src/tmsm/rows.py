"""A table of points read block by block: checked, never copied whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from tmsm.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from tmsm.errors import InvalidInputError
from tmsm.groups import Groups, GroupSums
from tmsm.progress import with_progress
from tmsm.regions.base import BorderView, Region
from tmsm.regions.rounding import find_grid
from tmsm.validation import check_option, check_sample_weight

__all__ = ["BORDER_TOLERANCE", "Block", "Rows"]

# Coordinates in a block: few enough to stay in the cache, enough to pay for the hundred or so array
# operations on it.  Threads of our own were tried and lost: operations this short spend the gain on
# waiting for the interpreter.
_BLOCK_NUMBERS = 3 * 30_000
# Scales such as the median come from at most this many rows, spread evenly over the table.
_SAMPLE_ROWS = 2**16
# Rows closer to the border than this share of the data's extent carry no weight worth the name.
BORDER_TOLERANCE = 1e-9

T = TypeVar("T")


@dataclass(frozen=True)
class Block:
    """Some rows inside the region: border, weights, the largest distance to it, and the numbers of their groups."""

    view: BorderView
    sample_weight: FloatArray | None
    farthest: float
    groups: IntArray | None = None

    @property
    def X(self) -> FloatArray:
        """Points, shape (n, D), column-major."""
        return self.view.X

    def weights(self) -> FloatArray:
        """The sample weights, ones where there are none, shape (n,)."""
        return np.ones(len(self.X)) if self.sample_weight is None else self.sample_weight

    def known_terms(self, spec: Any) -> Any:
        """The equations of these rows for a spec, if they were computed before; else None."""
        return None

    def rows_with_weight(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """The points that count, shape (m, D), their weights, and their groups, zeros where there are none."""
        w = self.weights()
        groups = np.zeros(len(w), dtype=np.int64) if self.groups is None else self.groups
        return self.X[w > 0.0], w[w > 0.0], groups[w > 0.0]


class Rows:
    """The rows of a table inside a region; `map` goes over them in blocks.

    ``n_outside`` counts the rows that the last complete run dropped.  ``on_border``, shape (k, D), are those of a table
    that lay exactly on the border when these rows were `kept` of it.
    """

    def __init__(
        self,
        X: Any,
        region: Region,
        sample_weight: ArrayLike | None = None,
        outside: str = "raise",
        groups: Groups | None = None,
    ) -> None:
        self.region = region
        self.outside = check_option(outside, ["raise", "drop"], "outside")
        self._X = region.manifold.as_rows(X)
        self._weight = check_sample_weight(sample_weight, len(self._X))
        self.groups = groups
        self.n_outside = 0
        self._moved = self._settled = False
        self.on_border: FloatArray = np.empty((0, self._X.shape[1]))
        self._touching = self.on_border

    def __len__(self) -> int:
        return len(self._X)

    @property
    def sample_stride(self) -> int:
        """A `sample` takes one row of every so many."""
        return -(-len(self._X) // _SAMPLE_ROWS)

    @property
    def weighted(self) -> bool:
        """Whether the rows have weights."""
        return self._weight is not None

    @property
    def equally_weighted(self) -> bool:
        """Whether all rows that count at all count alike."""
        if self._weight is None:
            return True
        counted = self._weight[self._weight > 0.0]
        return bool(counted.size == 0 or (counted == counted[0]).all())

    @property
    def effective_number(self) -> float:
        """(Σw)²/Σw² of all rows, their number where they have no weights; zero if all weights are.

        Of rows in groups that of the groups: as if the rows of a group told the same.
        """
        if self.groups is not None:
            return self.groups.effective_number(self._weight)
        if self._weight is None:
            return float(len(self._X))
        squares = float(self._weight @ self._weight)
        return float(self._weight.sum()) ** 2 / squares if squares > 0.0 else 0.0

    def table(self) -> tuple[FloatArray, FloatArray | None]:
        """All rows as they came, shape (n, D), and their weights."""
        return np.asarray(self._X), self._weight

    def relative_weights(self) -> FloatArray:
        """Sample weights of the rows inside the region, with sum one, shape (n,)."""
        w: FloatArray = np.concatenate(list(self.map(Block.weights)))
        w /= w.sum()
        return w

    def mean_and_parts(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """v̄ = Σ w v over the rows inside, w of sum one, shape (m,) for values (n, m), and what is independent in it.

        These are w (v − v̄) of each row, or their sums over each group, shape (u, m): the sum of their squares is the
        variance of v̄.
        """
        found = list(self.map(lambda block: (block.weights(), block.groups)))
        w = np.concatenate([weights for weights, _ in found])
        w /= w.sum()
        mean: FloatArray = w @ values
        parts: FloatArray = (values - mean) * w[:, None]
        if self.groups is None:
            return mean, parts
        sums = GroupSums(self.groups.count, parts.shape[1] + 1)
        codes = np.concatenate([codes for _, codes in found if codes is not None])
        sums.add(codes, np.column_stack([parts, w]))
        return mean, sums.totals[sums.totals[:, -1] > 0.0, :-1]

    def map(self, function: Callable[[Block], T]) -> Iterator[T]:
        """Apply a function to every block that has rows inside, in order."""
        size = max(1024, _BLOCK_NUMBERS // self._X.shape[1])
        n_outside = 0
        starts = range(0, len(self._X), size)
        for start in with_progress(starts, len(starts), "reading rows"):
            block, block_outside = self._block(slice(start, start + size))
            n_outside += block_outside
            if block is not None:
                yield function(block)
        self.n_outside = n_outside
        self._settled = not self._moved  # every row was checked; those that are moved are so each time

    def total(self, function: Callable[[Block], T]) -> T | None:
        """The sum of what a function gives for every block; None if no row lies inside."""
        total: Any = None
        for part in self.map(function):
            total = part if total is None else total + part
        return cast("T | None", total)

    def sample(self) -> FloatArray:
        """Rows with weight inside the region, spread evenly over the table, (m, D): for scales.

        Empty only if there are none.
        """
        return self.weighted_sample()[0]

    def weighted_sample(self) -> tuple[FloatArray, FloatArray | None]:
        """`sample` and the sample weights of its rows, shape (m,), None where there are none."""
        return self.grouped_sample()[:2]

    def grouped_sample(self) -> tuple[FloatArray, FloatArray | None, Groups | None]:
        """`sample` with the weights of its rows, shape (m,), and their groups; None where there are none."""
        spread = slice(None, None, self.sample_stride)
        X = self._read(spread)
        weight = None if self._weight is None else self._weight[spread]
        codes = np.zeros(len(X), dtype=np.int64) if self.groups is None else self.groups.codes[spread]
        if weight is not None:
            X, codes, weight = X[weight > 0.0], codes[weight > 0.0], weight[weight > 0.0]
        if self.region.has_border and len(X):
            d = self._sample_distances(X)
            self._touching = X[d == 0.0]
            X, inside = self._inside(X, d)
            weight, codes = None if weight is None else weight[inside], codes[inside]
        if len(X) == 0:  # such rows may be rare
            found = [(np.empty_like(X), np.empty(0), codes[:0]), *self.map(Block.rows_with_weight)]
            X, weight, codes = (np.concatenate(parts)[:_SAMPLE_ROWS] for parts in zip(*found, strict=True))
        groups = None if self.groups is None else Groups(codes, self.groups.count).take(slice(None))
        return X, None if self._weight is None else weight, groups

    def spread(self, sample: FloatArray, n: int) -> Rows:
        """Some n rows of the `sample` or a few more, without their weights, as rows of their own."""
        return Rows(sample[:: max(1, len(sample) // n)], self.region)

    def kept(self, sample: tuple[FloatArray, FloatArray | None, Groups | None] | None = None) -> Rows:
        """The `grouped_sample` as rows of their own: what an estimate keeps to be judged by later."""
        X, weight, groups = self.grouped_sample() if sample is None else sample
        kept = Rows(X, self.region, weight, groups=groups)
        kept.on_border = self._touching
        return kept

    def with_groups(self, groups: Groups | None) -> Rows:
        """The same rows, known to come in these groups."""
        rows = copy(self)
        rows.groups = groups
        return rows

    def same_as(self, other: Rows) -> bool:
        """Whether two tables have the same rows and weights."""
        weights = (self._weight is None) == (other._weight is None)
        if weights and self._weight is not None:
            weights = np.array_equal(self._weight, other._weight)  # type: ignore[arg-type]
        return weights and np.array_equal(self._X, other._X)

    def all_identical(self) -> bool:
        """Whether every row is the same point."""
        return bool((np.asarray(self._X) == self._X[:1]).all())

    def describe_absence(self) -> str:
        """Say why no row is left to fit."""
        if self._weight is not None and not self._weight.any():
            return "sample_weight is zero for every row: there is nothing to fit."
        if self._weight is not None and self.n_outside < len(self):
            return "sample_weight is zero for every row inside the region: there is nothing to fit."
        return self.describe_outside()

    def describe_outside(self) -> str:
        """Say how many rows lie outside, and which one farthest."""
        outside = on_border = rounded = worst = 0
        depth = np.inf
        for start in range(0, len(self._X), _SAMPLE_ROWS):
            X = self._read(slice(start, start + _SAMPLE_ROWS))
            d, _ = self.region.signed_distance(X)
            rounded += int(np.count_nonzero(self.region.left_out(X)))
            outside += int(np.count_nonzero(~(d > 0.0)))
            on_border += int(np.count_nonzero(np.abs(d) <= BORDER_TOLERANCE))
            lowest = int(np.argmin(d))
            if d[lowest] < depth:
                worst, depth = start + lowest, float(d[lowest])
        n = len(self._X)
        if outside == n and on_border == n:
            return f"All {n} rows of X lie on the border, where every weight is zero."
        advice = "or drop such rows with outside='drop'."
        if outside == n:
            advice = "and the coordinates. None is left to fit."
        touching = f", {on_border} of them on the border" if 0 < on_border < outside else ""
        if on_border == outside:
            touching = ", on the border"
        if rounded:
            touching += f", {rounded} of them on the border before it was taken in for rounded rows"
        return (
            f"X has {outside} of {n} rows outside the region{touching} "
            f"(worst: row {worst}, {abs(depth):.3g} beyond the border). "
            f"Check the region's side (~region is the other one), {advice}{self._describe_rounding(on_border)}"
        )

    def _describe_rounding(self, on_border: int) -> str:
        """Say what to do where rounding put rows on the border."""
        grid = find_grid(self.region.manifold, self._read(slice(None, None, self.sample_stride))) if on_border else None
        if grid is None:
            return ""
        rows = f"{on_border:,} row{'s' * (on_border > 1)} lie{'s' * (on_border == 1)}"
        return f" {grid.describe()}, and {rows} exactly on the border. {grid.remedy(self.region)}"

    def _block(self, piece: slice) -> tuple[Block | None, int]:
        """Read, check and filter some rows: the block, and how many rows were dropped."""
        X = self._read(piece)
        weight = None if self._weight is None else self._weight[piece]
        groups = None if self.groups is None else self.groups.codes[piece]
        view = BorderView(self.region, X)
        if not self.region.has_border:
            return Block(view, weight, np.inf, groups), 0
        d, _ = view.distance()
        if d.min() > 0.0:
            return Block(view, weight, float(d.max()), groups), 0
        X, inside = self._inside(X, d)
        if len(X) == 0:
            return None, len(d)
        weight = None if weight is None else weight[inside]
        groups = None if groups is None else groups[inside]
        return Block(BorderView(self.region, X), weight, float(d.max()), groups), len(d) - len(X)

    def _inside(self, X: FloatArray, d: FloatArray) -> tuple[FloatArray, BoolArray]:
        """The rows at positive distances, column-major, and which they are; an error where outside="raise".

        Rows that a region for rounded rows leaves out by itself are no error.
        """
        inside = d > 0.0
        if not inside.all():
            if self.outside == "raise" and not self.region.left_out(X[~inside]).all():
                raise InvalidInputError(self.describe_outside())
            X = np.asfortranarray(X[inside])
        return X, inside

    def _sample_distances(self, X: FloatArray) -> FloatArray:
        """The signed distances to the border of a sample's rows."""
        return self.region.signed_distance(X)[0]

    def _read(self, piece: slice) -> FloatArray:
        X = np.array(self._X[piece], dtype=np.float64, order="F")
        if not self._settled:
            on_manifold, moved = self.region.manifold.settle(X)
            if not on_manifold:
                raise InvalidInputError(str(self.region.manifold.reason(self._X)))
            self._moved |= moved
        return X
