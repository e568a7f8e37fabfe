"""Boxes in flat space."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, row_norms, safe_divide
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Euclidean, Manifold
from tmsm.regions.borders import AxisAligned, AxisFrame, Constrained
from tmsm.regions.constraint_sets import MAX_CONSTRAINTS, LinearConstraints
from tmsm.regions.everywhere import Everywhere
from tmsm.regions.landmarks import Landmarks, pieces
from tmsm.regions.region import Region
from tmsm.regions.rounding import check_steps, is_rounding, slope_of_nearer, whole_cells, zero_on_border

__all__ = ["Box"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Box(Region, AxisAligned):
    """The box of points between ``lower`` and ``upper`` in every coordinate.

    Parameters
    ----------
    lower, upper
        Corners, shape (d,); an infinite entry means that this side is open.
    rounded
        The step to which the coordinates of the rows were rounded after the box had cut them: a number, or one for each
        coordinate, zero for none. The box is then made of whole cells of that grid: a side on the grid moves inwards by
        half a step, and rows on the side itself are left out.

    Examples
    --------
    >>> import tmsm
    >>> d, _ = tmsm.Box([0.0, 0.0], [1.0, 2.0]).border_distance([[0.5, 0.75], [2.0, 3.0]])
    >>> d.round(6)
    array([ 0.5     , -1.414214])
    >>> tmsm.Box([0.0, 0.0], [1.0, 2.0], rounded=0.1).border_distance([[0.5, 0.7]])[0].round(6)
    array([0.45])
    """

    lower: FloatArray
    upper: FloatArray
    rounded: FloatArray | None

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, rounded: Any = None) -> None:
        lower = check_vector(lower, "lower", finite=False)
        upper = check_vector(upper, "upper", finite=False)
        if lower.shape != upper.shape:
            raise InvalidInputError(f"lower and upper must have the same length; got {lower.size} and {upper.size}.")
        bad = ~(lower < upper)
        if bad.any():
            j = int(np.argmax(bad))
            raise InvalidInputError(
                f"lower must be below upper in every coordinate; coordinate {j} has {lower[j]:.6g} and {upper[j]:.6g}."
            )
        if not (np.isfinite(lower).any() or np.isfinite(upper).any()):
            raise InvalidInputError(
                "A box needs at least one finite side. For all of R^d use Everywhere(Euclidean(d))."
            )
        object.__setattr__(self, "lower", frozen_array(lower))
        object.__setattr__(self, "upper", frozen_array(upper))
        steps = None if rounded is None else frozen_array(check_steps(rounded, lower.size, ""))
        object.__setattr__(self, "rounded", steps)
        if not (self.bounds[0] < self.bounds[1]).all():
            raise InvalidInputError(
                f"rounded={rounded!r} leaves nothing of the box: some side has no whole cell between its ends."
            )

    def __repr__(self) -> str:
        rounded = "" if self.rounded is None else f", rounded={self.rounded.tolist()!r}"
        return f"Box(lower={self.lower.tolist()!r}, upper={self.upper.tolist()!r}{rounded})"

    @property
    def manifold(self) -> Manifold:
        return Euclidean(self.lower.size)

    @cached_property
    def as_given(self) -> Region:
        return self if self.rounded is None else Box(self.lower, self.upper)

    def rounded_to(self, steps: FloatArray) -> Region | None:
        try:
            return Box(self.lower, self.upper, rounded=steps)
        except InvalidInputError:  # no whole cell is left
            return None

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Corners, shape (d,), of the box itself: of its whole cells where rows are rounded."""
        if self.rounded is None:
            return self.lower, self.upper
        lower, upper = whole_cells(self.lower, self.upper, self.rounded)
        return frozen_array(lower), frozen_array(upper)

    @property
    def border_curves(self) -> list[FloatArray] | None:
        low, high = self.bounds
        if low.size != 2 or not np.isfinite([low, high]).all():
            return None
        return [np.array([low, [high[0], low[1]], high, [low[0], high[1]]])]

    @property
    def sides(self) -> tuple[Region, ...]:
        line = Everywhere(Euclidean(1))
        return tuple(
            Box([low], [high]) if np.isfinite(low) or np.isfinite(high) else line
            for low, high in zip(*self.bounds, strict=True)
        )

    @property
    def landmarks(self) -> Landmarks:
        lower, upper = self.bounds
        half = 0.5 * (upper - lower)
        with np.errstate(invalid="ignore"):
            middle = np.where(np.isfinite(half), 0.5 * (lower + upper), 0.0)
        size, long = float(half.min()), int(np.argmax(half))
        n = pieces(float(half[long]), size)
        centers, reach = np.tile(middle, (n, 1)), half.copy()
        if n > 1:  # balls in a row along the longest side
            centers[:, long] += half[long] * ((2.0 * np.arange(n) + 1.0) / n - 1.0)
            reach[long] /= n
        return Landmarks(centers, np.full(n, np.linalg.norm(reach)), np.full(n, size))

    @property
    def constraints(self) -> Constrained | None:
        lower, upper = self.bounds
        from_below, from_above = np.isfinite(lower), np.isfinite(upper)
        axes = np.eye(lower.size)
        normals = np.concatenate([axes[from_below], -axes[from_above]])
        if len(normals) > MAX_CONSTRAINTS:
            return None
        return LinearConstraints(self.manifold, normals, np.concatenate([lower[from_below], -upper[from_above]]))

    def axis_frame(self, X: FloatArray) -> AxisFrame:
        distances, signs = self._face_distances(X)
        axes = np.broadcast_to(np.eye(X.shape[1])[:, None, :], (X.shape[1], *X.shape))
        return AxisFrame(tuple(axes), distances, signs)

    def _face_distances(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distance to the nearer face along each axis, shape (n, D), and its derivative there."""
        lower, upper = self.bounds
        from_lower = X - lower
        from_upper = upper - X
        size = np.where(np.isfinite(lower) & np.isfinite(upper), np.abs(lower) + np.abs(upper), 0.0)
        return np.minimum(from_lower, from_upper), slope_of_nearer(from_lower, from_upper, size)

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        distances, sign = self._face_distances(X)
        rows = np.arange(len(X))
        nearest = np.argmin(distances, axis=1)
        d, towards = distances[rows, nearest], sign[rows, nearest]
        lower, upper = np.abs(self.bounds)
        zero_on_border(d, np.where(towards > 0.0, lower[nearest], upper[nearest]))
        # On a ridge, the mean of the gradients beside it.
        tied = is_rounding(distances - d[:, None], max(face for face in (*lower, *upper) if np.isfinite(face)))
        tied[rows, nearest] = True
        gradient = np.where(tied, sign, 0.0) / np.count_nonzero(tied, axis=1)[:, None]
        outside = d < 0.0
        if outside.any():
            # The nearest point clips every coordinate that is beyond its face.
            beyond = np.maximum(-distances[outside], 0.0)
            length = row_norms(beyond)
            d[outside] = -length
            gradient[outside] = safe_divide(beyond * sign[outside], length)
        return d, gradient
