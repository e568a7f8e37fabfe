"""How the columns of a batch become rows: points, weights, numbers of groups, covariates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.data.arrow_tables import Batch
from tmsm.data.column_names import column_at
from tmsm.data.sources import RawBlock
from tmsm.data.table_columns import Coordinates, Labels, numbers
from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.filters import named_list
from tmsm.manifolds.frames import Frame, change_frame

__all__ = ["BadRows", "NoPointsError", "TableRows", "covariate_columns", "named_column"]

# What can be squared.
_LARGEST = 1e100


class NoPointsError(InvalidInputError):
    """Some rows of a batch have no coordinates, or none that can be those of a point."""


@final
@dataclass(frozen=True, eq=False)
class TableRows:
    """Makes rows of batches, in any process.

    Attributes
    ----------
    coordinates
        The columns with the points.
    weight
        The name of the column with weights, or None.
    labels
        Labels of groups that were numbered, or None.
    others
        Names of the columns with covariates.
    wanted
        The frame to give points of the sky in; None leaves them as they are.
    strict
        Whether a text that is no number is an error; else it is missing.
    """

    coordinates: Coordinates
    weight: str | None = None
    labels: Labels | None = None
    others: tuple[str, ...] = ()
    wanted: Frame | None = None
    strict: bool = True

    @property
    def names(self) -> list[str]:
        """The columns that are needed, each once."""
        more = [self.weight, None if self.labels is None else self.labels.name]
        return list(
            dict.fromkeys([*self.coordinates.names, *(name for name in more if name is not None), *self.others])
        )

    @property
    def in_degrees(self) -> bool:
        """Whether loops can take the coordinates as they are, in degrees."""
        return self.coordinates.degrees and self.wanted is None

    def rows(self, batch: Batch) -> RawBlock:
        """The rows of a batch, as points."""
        X = self.points(self.columns(batch))
        if self.wanted is not None:
            X = change_frame(X, self.coordinates.frame, self.wanted)
        codes = None if self.labels is None else self.labels.codes(batch)
        covariates = None
        if self.others:
            covariates = np.stack([_finite(batch, name, "covariate") for name in self.others]).T
        return RawBlock(0, X, self.weights(batch), codes, covariates)

    def degrees(self, batch: Batch) -> RawBlock:
        """Longitudes and latitudes of a batch as they are, (n, 2), and weights: loops make points of them."""
        return RawBlock(0, np.stack(self.columns(batch)).T, self.weights(batch), None)

    def columns(self, batch: Batch) -> list[FloatArray]:
        """The coordinates as numbers, shape (n,) each; what is missing is NaN."""
        return [numbers(batch, name, strict=self.strict) for name in self.coordinates.names]

    def points(self, columns: list[FloatArray]) -> FloatArray:
        """Points (n, D) from their coordinates."""
        try:
            X = self.coordinates.points(columns)
        except InvalidInputError as error:  # degrees beyond their range
            raise NoPointsError(str(error)) from error
        if not self.coordinates.degrees and not np.isfinite(X).all():
            raise NoPointsError("X has rows without finite coordinates.")
        return X

    def weights(self, batch: Batch) -> FloatArray | None:
        """The weights of a batch, shape (n,)."""
        if self.weight is None:
            return None
        weight = _finite(batch, self.weight, "weight")
        bad = ~((weight >= 0.0) & (weight < _LARGEST))
        if bad.any():
            row = int(np.argmax(bad))
            raise InvalidInputError(
                f"{batch.place_of(row)} has the weight {weight[row]:.6g} in the column {self.weight!r}: "
                f"weights must not be negative, and below {_LARGEST:g}. Only ratios matter."
            )
        return weight


@final
@dataclass(frozen=True)
class BadRows:
    """Rows that cannot be points: how many of how many, what is wrong with them, and the first one."""

    n: int
    count: int = 0
    what: str = ""
    first: str = ""

    @classmethod
    def of(cls, rows: TableRows, batch: Batch, meant: BoolArray | bool = True) -> BadRows:
        """Those among the rows of a batch that are meant, with what is wrong with the first of them."""
        columns = rows.columns(batch)
        found = rows.coordinates.complaint(columns, meant)
        if found is None:
            return cls(len(batch))
        row = int(np.argmax(found[1]))
        values = ", ".join(f"{column[row]:.6g}" for column in columns)
        return cls(len(batch), int(np.count_nonzero(found[1])), found[0], f"{batch.place_of(row)}: {values}")

    def __add__(self, other: BadRows) -> BadRows:
        """Those of both that have the same fault as the first one."""
        if not self.what:
            return BadRows(self.n + other.n, other.count, other.what, other.first)
        more = other.count if other.what == self.what else 0
        return BadRows(self.n + other.n, self.count + more, self.what, self.first)

    def describe(self, title: str, coordinates: Coordinates) -> str:
        """Say which rows of a table are wrong."""
        hint = ""
        if coordinates.degrees and "beyond" in self.what:
            hint = f" Check that {named_list(coordinates.names)} are degrees, longitude first."
        return (
            f"{title} has {self.count:,} of {self.n:,} rows {self.what} (first: {self.first}). Mend them, or leave "
            f"such points out.{hint}"
        )


def named_column(header: Sequence[str], name: Any, what: str, title: str) -> str:
    """The name of a column as a table has it."""
    if not isinstance(name, str):
        raise InvalidTypeError(
            f"{title} is read block by block: {what} must be the name of a column of it; got {type(name).__name__}."
        )
    return str(header[column_at(header, name, what, title)])


def covariate_columns(header: Sequence[str], names: Any, coordinates: Coordinates, title: str) -> tuple[str, ...]:
    """The columns with covariates, from their names or one name."""
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list | tuple):
        named_column(header, names, "covariates", title)
    found = tuple(named_column(header, name, "covariates", title) for name in names)
    for name in found:
        if found.count(name) > 1:
            raise InvalidInputError(f"covariates has the column {name!r} twice.")
        if name in coordinates.names:
            raise InvalidInputError(f"The column {name!r} is a coordinate of the points, and no covariate of them.")
    return found


def _finite(batch: Batch, name: str, what: str) -> FloatArray:
    """The numbers of a column, none of which is missing."""
    values = numbers(batch, name)
    if not np.isfinite(values).all():
        place = batch.place_of(int(np.argmin(np.isfinite(values))))
        raise InvalidInputError(
            f"{place} has no finite number in the column {name!r} of the {what}s. Fill it in, or leave such points out."
        )
    return values
