"""Tables of places: columns of the same length, rows by index or mask."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, fields
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds.coordinates import lonlat_to_xyz

__all__ = ["GlobularClusters", "PlaceTable", "StormFixes"]

TextArray = npt.NDArray[np.str_]
TimeArray = npt.NDArray[np.datetime64]


@dataclass(frozen=True, eq=False, repr=False)
class PlaceTable(ABC):
    """Places on the Earth or the sky with what is known of them; every attribute is a column of shape (n,).

    ``table[mask]`` or ``table[index]`` are the same columns with those rows.

    Attributes
    ----------
    longitude, latitude
        Degrees east and north; on the sky right ascension and declination.
    """

    longitude: FloatArray
    latitude: FloatArray

    def __post_init__(self) -> None:
        lengths = {field.name: len(getattr(self, field.name)) for field in fields(self)}
        if len(set(lengths.values())) != 1:
            raise InvalidInputError(f"The columns have different lengths: {lengths}.")
        for field in fields(self):
            getattr(self, field.name).flags.writeable = False

    def __len__(self) -> int:
        return self.longitude.size

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(**{field.name: np.atleast_1d(getattr(self, field.name)[rows]) for field in fields(self)})

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<{len(self):,} rows: {', '.join(field.name for field in fields(self))}>)"

    @property
    def X(self) -> FloatArray:
        """The places as unit vectors, shape (n, 3)."""
        return lonlat_to_xyz(self.longitude, self.latitude)


@final
@dataclass(frozen=True, eq=False, repr=False)
class StormFixes(PlaceTable):
    """Where storms were at what time.

    Attributes
    ----------
    storm
        The storm's identifier.
    time
        Universal time.
    """

    storm: TextArray
    time: TimeArray

    @property
    def year(self) -> IntArray:
        """Calendar year of each fix."""
        years: IntArray = self.time.astype("datetime64[Y]").astype(np.int64) + 1970
        return years

    def origins(self) -> StormFixes:
        """The first fix of every storm."""
        order = np.argsort(self.time, kind="stable")
        _, first = np.unique(self.storm[order], return_index=True)
        return self[np.sort(order[first])]


@final
@dataclass(frozen=True, eq=False, repr=False)
class GlobularClusters(PlaceTable):
    """Where globular clusters of the Milky Way are on the sky (ICRS).

    Attributes
    ----------
    name
        The cluster's name in the catalogue.
    """

    name: TextArray

    @property
    def right_ascension(self) -> FloatArray:
        """Degrees; the longitude of this table."""
        return self.longitude

    @property
    def declination(self) -> FloatArray:
        """Degrees; the latitude of this table."""
        return self.latitude
