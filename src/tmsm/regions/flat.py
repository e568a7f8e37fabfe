"""Regions of flat space: boxes, balls, half-spaces and polygons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tmsm.arrays import ArrayLike, FloatArray, row_norms, safe_divide, safe_inverse
from tmsm.errors import InvalidInputError
from tmsm.manifolds import Euclidean, Manifold
from tmsm.regions.base import AxisAligned, AxisFrame, Region, SmoothBorder
from tmsm.regions.landmarks import Landmarks, pieces, ring_landmarks
from tmsm.regions.outlines import open_ring
from tmsm.regions.rounding import check_steps, is_rounding, slope_of_nearer, whole_cells, zero_on_border
from tmsm.validation import check_number, check_vector
from tmsm.values import frozen_array

if TYPE_CHECKING:
    from tmsm.regions.segments import EdgeTree

__all__ = ["Ball", "Box", "HalfSpace", "Polygon"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Box(Region, AxisAligned):
    """The box of points between ``lower`` and ``upper`` in every coordinate.

    Parameters
    ----------
    lower, upper
        Corners, shape (d,); an infinite entry means that this side is open.
    rounded
        The step to whose multiples the coordinates of the rows were rounded after the box had cut them: a number, or
        one for each coordinate, zero where there was none.  The box is then made of whole cells of that grid: a side
        on the grid moves in by half a step, and the rows that rounding put on the side itself are left out.

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


@final
@dataclass(frozen=True, eq=False, repr=False)
class Ball(SmoothBorder, Region):
    """The points of R^d closer to ``center`` than ``radius``.

    Parameters
    ----------
    center
        Shape (d,).
    radius
        Positive.

    Examples
    --------
    >>> import tmsm
    >>> tmsm.Ball([0.0, 0.0], 2.0).contains([[1.0, 1.0], [2.0, 2.0]])
    array([ True, False])
    """

    center: FloatArray
    radius: float

    def __init__(self, center: ArrayLike, radius: float) -> None:
        object.__setattr__(self, "center", frozen_array(check_vector(center, "center")))
        object.__setattr__(self, "radius", check_number(radius, "radius", above=0.0))

    @property
    def manifold(self) -> Manifold:
        return Euclidean(self.center.size)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return self.center - self.radius, self.center + self.radius

    @property
    def landmarks(self) -> Landmarks:
        return Landmarks.ball(self.center, self.radius)

    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        inward = self.center - X
        rho = row_norms(inward)
        inverse = safe_inverse(rho)
        inward *= inverse[:, None]
        d = zero_on_border(self.radius - rho, self.radius + float(np.abs(self.center).max()))
        return d, inward, (1.0 - X.shape[1]) * inverse  # Δd = −(d−1)/ρ

    @property
    def reach(self) -> float:
        return self.radius

    @property
    def reach_outside(self) -> float | None:
        return np.inf


@final
@dataclass(frozen=True, eq=False, repr=False)
class HalfSpace(SmoothBorder, Region):
    """The points x of R^d with ``normal``·x > ``offset``.

    Parameters
    ----------
    normal
        Shape (d,), any length but zero.
    offset
        A number.

    Examples
    --------
    >>> import tmsm
    >>> tmsm.HalfSpace([0.0, 2.0], 1.0).border_distance([[3.0, 1.0]])[0]
    array([0.5])
    """

    normal: FloatArray
    offset: float

    def __init__(self, normal: ArrayLike, offset: float) -> None:
        normal = check_vector(normal, "normal")
        if not normal.any():
            raise InvalidInputError("normal must not be the zero vector.")
        object.__setattr__(self, "normal", frozen_array(normal))
        object.__setattr__(self, "offset", check_number(offset, "offset"))

    @property
    def manifold(self) -> Manifold:
        return Euclidean(self.normal.size)

    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        length = float(np.linalg.norm(self.normal))
        gradient = np.empty_like(X)
        gradient[:] = self.normal / length
        d = (X @ self.normal - self.offset) / length
        # The products that cancel on the border, Σ |n_j x_j|: first a bound of all rows, then where it matters.
        size = np.abs(self.normal) / length
        near = np.flatnonzero(np.abs(d) <= 1e-12 * float(np.abs(X).max(initial=0.0)) * size.sum())
        if near.size:
            d[near] = zero_on_border(d[near], np.abs(X[near]) @ size)
        return d, gradient, np.zeros(len(X))

    @property
    def reach(self) -> float:
        return np.inf

    def __invert__(self) -> Region:
        return HalfSpace(-self.normal, -self.offset)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Polygon(Region):
    """The inside of a simple polygon in the plane; distances are exact to its edges.

    Parameters
    ----------
    vertices
        Shape (m, 2), in order, either way round; a last vertex equal to the first is dropped.

    Examples
    --------
    >>> import tmsm
    >>> triangle = tmsm.Polygon([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    >>> triangle.border_distance([[2.0, 1.0]])[0].round(6)
    array([0.707107])
    """

    vertices: FloatArray

    def __init__(self, vertices: ArrayLike) -> None:
        vertices = Euclidean(2).check_points(vertices, "vertices")
        vertices = open_ring(vertices, "The polygon")
        check_simple(vertices)
        object.__setattr__(self, "vertices", frozen_array(vertices))

    @property
    def manifold(self) -> Manifold:
        return Euclidean(2)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return self.vertices.min(axis=0), self.vertices.max(axis=0)

    @property
    def landmarks(self) -> Landmarks:
        return ring_landmarks([self.vertices])

    @cached_property
    def _tree(self) -> EdgeTree:
        from tmsm.regions.segments import EdgeTree

        return EdgeTree.build(self.vertices)

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        offset, edge, at_vertex, inside = self._tree.query(X)
        length = row_norms(offset)
        sign = np.where(inside, 1.0, -1.0)
        # Beside an edge the gradient is the edge's own normal, which keeps its digits on the border.
        edges = np.roll(self.vertices, -1, axis=0) - self.vertices
        normals = np.column_stack([-edges[:, 1], edges[:, 0]]) * self._tree.orientation
        normals = safe_divide(normals, row_norms(normals))
        gradient = normals[edge]
        # What rounding moves an edge by: that of its ends' coordinates across it, and that of a foot along it.
        farthest = np.maximum(np.abs(self.vertices), np.abs(np.roll(self.vertices, -1, axis=0)))
        size = (np.abs(normals) * farthest).sum(axis=1) + row_norms(edges)
        at_vertex &= length > 0.0
        gradient[at_vertex] = safe_divide(offset[at_vertex] * sign[at_vertex, None], length[at_vertex])
        return zero_on_border(sign * length, size[edge]), gradient


def check_simple(vertices: FloatArray) -> None:
    """Raise where a ring in the plane folds back, crosses or touches itself."""
    from tmsm.regions.segments import EdgeTree

    starts, ends = vertices, np.roll(vertices, -1, axis=0)
    before, after = starts - np.roll(starts, 1, axis=0), ends - starts
    turn = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    back = (turn == 0.0) & ((before * after).sum(axis=1) < 0.0)
    if back.any():
        raise InvalidInputError(f"The polygon folds back on itself at vertex {int(np.argmax(back))}; drop that vertex.")
    found = EdgeTree.build(vertices).crossing()
    if found is not None:
        raise InvalidInputError(
            f"The polygon crosses or touches itself: edge {found[0]} meets edge {found[1]}. "
            "Check the order of the vertices."
        )
