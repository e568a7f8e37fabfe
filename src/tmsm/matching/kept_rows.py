"""Rows that a stream keeps, spread evenly over it: what its estimate is judged by, and what sums do not tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from tmsm.data.groups import Groups
from tmsm.data.rows import Rows
from tmsm.data.sources import ArraySource
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.manifolds.frames import PLAIN, Frame
from tmsm.regions import Region

__all__ = ["MOST_KEPT", "KeptRows"]

# So many rows are kept at most.
MOST_KEPT = 2**16


@final
@dataclass(frozen=True)
class KeptRows:
    """One row of every so many that lie inside the region and count; where they become too many, every other one goes.

    Which rows are kept depends on their order alone, not on the blocks that they came in, where none are dropped.

    Attributes
    ----------
    X
        The kept rows, shape (k, D).
    weight
        Their sample weights, shape (k,); None where no row had one.
    codes
        Numbers of their groups, shape (k,); None where rows stand alone.
    on_border
        Rows that were left out because they lay exactly on the border, shape (j, D).
    stride
        One row of every so many is kept.
    seen
        Number of rows that they stand for.
    frame
        What the points stand for.
    """

    X: FloatArray
    weight: FloatArray | None
    codes: IntArray | None
    on_border: FloatArray
    stride: int = 1
    seen: int = 0
    frame: Frame = PLAIN

    @classmethod
    def none(cls, n_columns: int, *, grouped: bool = False, frame: Frame = PLAIN) -> KeptRows:
        """No rows yet, of so many coordinates."""
        empty = np.empty((0, n_columns))
        return cls(empty, None, np.zeros(0, dtype=np.intp) if grouped else None, empty, frame=frame)

    @classmethod
    def of_block(cls, X: FloatArray, weight: FloatArray | None, codes: IntArray | None, frame: Frame) -> KeptRows:
        """All rows of a block that count."""
        if weight is not None and not (weight > 0.0).all():
            counted = weight > 0.0
            X, weight = X[counted], weight[counted]
            codes = None if codes is None else codes[counted]
        return cls(X, weight, codes, np.empty((0, X.shape[1])), 1, len(X), frame)

    @classmethod
    def of_rows(cls, rows: Rows, seen: int) -> KeptRows:
        """Of rows that a fit has `kept` of so many."""
        X, weight = rows.source.table()
        codes = None if rows.groups is None else rows.groups.codes
        return cls(X, weight, codes, rows.on_border, max(1, round(seen / max(len(X), 1))), seen, rows.frame)

    @classmethod
    def of_table(cls, rows: Rows, n: int, before: KeptRows) -> KeptRows:
        """Of n rows inside a table, as they are kept after others, without looking at any that are not."""
        source = rows.source
        if not isinstance(source, ArraySource):
            return cls.of_rows(rows.kept(), n)
        stride = before.stride
        while len(source) > MOST_KEPT * stride:
            stride *= 2
        chosen = slice(-before.seen % stride, None, stride)
        groups = None if source.groups is None else Groups(source.groups.codes[chosen], source.groups.count)
        weight = None if source.weight is None else source.weight[chosen]
        some = Rows(ArraySource(source.X[chosen], weight, groups), rows.region, "drop", rows.frame)
        new = some.total(lambda block: cls.of_block(block.X, block.sample_weight, block.groups, rows.frame))
        return replace(before.cleared() if new is None else new, stride=stride, seen=n)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def is_all(self) -> bool:
        """Whether no row was left out."""
        return self.stride == 1

    @property
    def share(self) -> float:
        """The share of the rows that is kept."""
        return 1.0 / self.stride

    def __add__(self, other: KeptRows) -> KeptRows:
        stride = max(self.stride, other.stride)
        one, two = self._every(stride, 0), other._every(stride, self.seen)
        weight = None
        if one.weight is not None or two.weight is not None:
            weight = np.concatenate([one._weights(), two._weights()])
        codes = None
        if one.codes is not None and two.codes is not None:
            codes = np.concatenate([one.codes, two.codes])
        found = KeptRows(
            np.concatenate([one.X, two.X]),
            weight,
            codes,
            np.concatenate([self.on_border, other.on_border])[:MOST_KEPT],
            stride,
            self.seen + other.seen,
            other.frame if self.frame == PLAIN else self.frame,
        )
        while len(found) > MOST_KEPT:
            found = found._every(2 * found.stride, 0)
        return found

    def _every(self, stride: int, before: int) -> KeptRows:
        """One row of every so many, where so many rows came before."""
        if stride == self.stride and before == 0:
            return self
        chosen = (before + self.stride * np.arange(len(self))) % stride < self.stride
        return replace(
            self,
            X=self.X[chosen],
            weight=None if self.weight is None else self.weight[chosen],
            codes=None if self.codes is None else self.codes[chosen],
            stride=stride,
        )

    def _weights(self) -> FloatArray:
        return np.ones(len(self)) if self.weight is None else self.weight

    def cleared(self) -> KeptRows:
        """No rows yet, of the same kind."""
        return KeptRows.none(self.X.shape[1], grouped=self.codes is not None, frame=self.frame)

    def with_border(self, rows: FloatArray) -> KeptRows:
        """The same with more rows that lay on the border."""
        return replace(self, on_border=np.concatenate([self.on_border, rows])[:MOST_KEPT]) if len(rows) else self

    def renumbered(self, numbers: IntArray) -> KeptRows:
        """The same with other numbers of groups, ``numbers[code]`` in place of each."""
        return self if self.codes is None else replace(self, codes=numbers[self.codes])

    def rows(self, region: Region, n_groups: int | None = None) -> Rows:
        """As rows inside a region, their groups numbered anew where it is not said how many there are."""
        groups = None
        if self.codes is not None:
            groups = Groups(self.codes, 0).compact() if n_groups is None else Groups(self.codes, n_groups)
        return Rows.of_kept(region, np.asfortranarray(self.X), self.weight, groups, self.on_border, self.frame)

    def content(self, *, rows: bool = True) -> dict[str, Any]:
        """What a file is to hold of them; without the ``rows`` themselves where these stand elsewhere in it."""
        found: dict[str, Any] = {"codes": self.codes, "stride": self.stride, "seen": self.seen}
        if rows:
            found |= {"X": self.X, "weight": self.weight, "on_border": self.on_border, "frame": self.frame.name}
        return found
