"""The whole manifold as a region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.manifolds import Manifold
from tmsm.regions.borders import RowBorder
from tmsm.regions.region import Region

__all__ = ["Everywhere"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Everywhere(Region):
    """A whole manifold without a border: nothing was cut off.

    Parameters
    ----------
    manifold
        The manifold.

    Examples
    --------
    >>> import tmsm
    >>> tmsm.Everywhere(tmsm.Sphere(2)).contains([[0.0, 0.0, 1.0]])
    array([ True])
    """

    space: Manifold

    has_border = False

    def __init__(self, manifold: Manifold) -> None:
        if not isinstance(manifold, Manifold):
            raise InvalidTypeError(f"Everywhere needs a manifold, such as Sphere(2); got {type(manifold).__name__}.")
        object.__setattr__(self, "space", manifold)

    def __repr__(self) -> str:
        return f"Everywhere(manifold={self.space!r})"

    def to_arguments(self) -> dict[str, Any]:
        return {"manifold": self.space}

    @property
    def manifold(self) -> Manifold:
        return self.space

    @property
    def row_border(self) -> RowBorder | None:
        return RowBorder("none") if self.space.has_loops else None

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.full(len(X), np.inf), np.zeros_like(X)

    def distance_in(self, X: FloatArray, metric: str, axis: int | None = None) -> tuple[FloatArray, FloatArray]:
        return self.signed_distance(X)

    def __invert__(self) -> Region:
        raise InvalidInputError("The complement of Everywhere is empty: nothing can be observed there.")
