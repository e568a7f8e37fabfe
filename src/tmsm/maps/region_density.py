"""A density inside a region, however it was found: what maps, shares and regions of highest density are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds.frames import Frame
from tmsm.maps.shares import Share
from tmsm.regions import Region

__all__ = ["Level", "RegionDensity"]


class Level(NamedTuple):
    """The log density above which a share of the mass lies, and the area of that part, in the manifold's unit."""

    log_density: float
    area: float


class RegionDensity(ABC):
    """A density whose integral over a region is one; `density_` of a map.

    Points are not checked. Beyond the border the logarithm continues smoothly, but it has no meaning there.
    """

    region: Region
    frame: Frame

    @property
    def errors_have_bias(self) -> bool:
        """Whether errors allow for the bias of the smoothing, and not for chance alone."""
        return False

    @property
    @abstractmethod
    def area(self) -> float:
        """Of the region, in the square of the manifold's unit; steradians on S²."""

    @abstractmethod
    def log_density(self, X: FloatArray) -> FloatArray:
        """Its logarithm at points (n, D), shape (n,).

        Parameters
        ----------
        X
            Points inside the region, shape (n, D).
        """

    @abstractmethod
    def log_errors(self, X: FloatArray) -> FloatArray:
        """Standard errors of the logarithm, shape (n,).

        Parameters
        ----------
        X
            Points inside the region, shape (n, D).
        """

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Independent draws, shape (n, D).

        Parameters
        ----------
        n
            Number of draws.
        rng
            The random numbers.
        """

    @abstractmethod
    def share_in(self, part: Region) -> Share:
        """The share of the mass in what another region has in common with this one.

        Parameters
        ----------
        part
            The other region.
        """

    @abstractmethod
    def level_of(self, share: float) -> Level:
        """The level above which this share of the mass lies.

        Parameters
        ----------
        share
            A share between 0 and 1.
        """
