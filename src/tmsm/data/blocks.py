"""Blocks of rows inside a region: raw rows become points, are checked, and meet the border."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.data.sources import RawBlock
from tmsm.foundation.arrays import BoolArray, FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.regions import BorderView, Region

__all__ = [
    "BORDER_TOLERANCE",
    "Block",
    "BlockReader",
    "OutsideReport",
    "OutsideRowsError",
    "StrayReport",
    "StrayRowsError",
]

# Rows closer to the border than this share of the data's extent carry no weight worth the name.
BORDER_TOLERANCE = 1e-9


class StrayRowsError(InvalidInputError):
    """Some rows of a block are no points of the manifold."""


class OutsideRowsError(InvalidInputError):
    """Some rows of a block lie outside the region, where none may."""


@dataclass(frozen=True)
class Block:
    """Some rows inside the region: border, weights, largest distance to it, numbers of groups, covariates (n, q)."""

    view: BorderView
    sample_weight: FloatArray | None
    farthest: float
    groups: IntArray | None = None
    covariates: FloatArray | None = None
    # Rows of the table that it is of.
    of_rows: int = 0

    @property
    def X(self) -> FloatArray:
        """Points, shape (n, D), column-major."""
        return self.view.X

    def weights(self) -> FloatArray:
        """The sample weights, ones where there are none, shape (n,)."""
        return np.ones(len(self.X)) if self.sample_weight is None else self.sample_weight

    def known_terms(self, equations: Any) -> Any:
        """What these rows contribute to equations, if it was computed before; else None."""
        return None


@final
@dataclass(frozen=True)
class BlockReader:
    """Reads, checks and filters the rows of a table, block by block and in any process.

    Attributes
    ----------
    region
        Where rows could be seen.
    outside
        What to do with rows outside: "raise" or "drop".
    n_rows
        Of the table.
    """

    region: Region
    outside: str
    n_rows: int

    def points(self, values: np.ndarray[Any, Any]) -> tuple[FloatArray, bool]:
        """Rows as points (n, D), and whether any of them had to be moved onto the manifold."""
        X = np.array(values, dtype=np.float64, order="F")
        on_manifold, moved = self.region.manifold.settle(X)
        if not on_manifold:
            raise StrayRowsError(f"X has rows that are no points on {self.region.manifold!r}.")
        return X, moved

    def __call__(self, raw: RawBlock) -> tuple[Block | None, int]:
        """The block, None if it has no row inside, and how many rows were left out."""
        return self.inside(raw, self.points(raw.X)[0])

    def inside(self, raw: RawBlock, X: FloatArray) -> tuple[Block | None, int]:
        """The same of rows that were read as points X (n, D)."""
        view = BorderView(self.region, X)
        if not self.region.has_border:
            return Block(view, raw.weight, np.inf, raw.groups, raw.covariates, self.n_rows), 0
        d = view.depth()
        inside = self.is_inside(X, d)
        if inside is None:
            return Block(view, raw.weight, float(d.max()), raw.groups, raw.covariates, self.n_rows), 0
        if not inside.any():
            return None, len(d)
        view = view.where(inside)
        weight = None if raw.weight is None else raw.weight[inside]
        groups = None if raw.groups is None else raw.groups[inside]
        covariates = None if raw.covariates is None else raw.covariates[inside]
        return Block(view, weight, float(d.max()), groups, covariates, self.n_rows), len(d) - len(view.X)

    def is_inside(self, X: FloatArray, d: FloatArray) -> BoolArray | None:
        """Which rows have positive distances, None if all have; an error where none may lie outside.

        Rows that a region for rounded rows leaves out by itself are no error.
        """
        if d.min() > 0.0:
            return None
        inside: BoolArray = d > 0.0
        if self.outside == "raise" and not self.region.left_out(X[~inside]).all():
            raise OutsideRowsError("X has rows outside the region.")
        return inside


@final
@dataclass(frozen=True)
class OutsideReport:
    """How many rows lie outside, on the border, or on it before it was taken in; and the one that is farthest out."""

    outside: int
    on_border: int
    rounded: int
    worst: int
    depth: float

    @classmethod
    def of(cls, reader: BlockReader, raw: RawBlock) -> OutsideReport:
        """Of the rows of one block."""
        X, region = reader.points(raw.X)[0], reader.region
        d = region.clearance(X)[0]
        lowest = int(np.argmin(d))
        return cls(
            int(np.count_nonzero(~(d > 0.0))),
            int(np.count_nonzero(np.abs(d) <= BORDER_TOLERANCE)),
            int(np.count_nonzero(region.left_out(X))),
            raw.start + lowest,
            float(d[lowest]),
        )

    def __add__(self, other: OutsideReport) -> OutsideReport:
        worst = other if other.depth < self.depth else self
        return OutsideReport(
            self.outside + other.outside,
            self.on_border + other.on_border,
            self.rounded + other.rounded,
            worst.worst,
            worst.depth,
        )


@final
@dataclass(frozen=True)
class StrayReport:
    """How many rows are no points of the manifold, and which is the first."""

    count: int
    first: int
    shown: str

    @classmethod
    def of(cls, reader: BlockReader, raw: RawBlock) -> StrayReport | None:
        """Of the rows of one block; None if all are points."""
        X = np.asarray(raw.X, dtype=np.float64)
        bad = ~reader.region.manifold.contains(X)
        if not bad.any():
            return None
        k = int(np.argmax(bad))
        return cls(int(np.count_nonzero(bad)), raw.start + k, ", ".join(f"{value:.6g}" for value in X[k]))

    def __add__(self, other: StrayReport) -> StrayReport:
        return StrayReport(self.count + other.count, self.first, self.shown)
