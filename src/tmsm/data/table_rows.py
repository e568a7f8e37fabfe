"""How the columns of a batch become rows: points, weights, numbers of groups, covariates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.data.arrow_tables import Batch
from tmsm.data.sources import RawBlock
from tmsm.data.table_columns import Coordinates, Labels, numbers
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds.frames import Frame, change_frame

__all__ = ["NoPointsError", "TableRows"]

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


def _finite(batch: Batch, name: str, what: str) -> FloatArray:
    """The numbers of a column, none of which is missing."""
    values = numbers(batch, name)
    if not np.isfinite(values).all():
        place = batch.place_of(int(np.argmin(np.isfinite(values))))
        raise InvalidInputError(
            f"{place} has no finite number in the column {name!r} of the {what}s. Fill it in, or leave such points out."
        )
    return values
