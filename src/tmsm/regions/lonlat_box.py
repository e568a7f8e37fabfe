"""Boxes between two meridians and two parallels; their distance is exact."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, IntArray, row_norms, safe_divide, safe_inverse
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_number
from tmsm.manifolds import Manifold, Sphere
from tmsm.manifolds.coordinates import lonlat_to_xyz
from tmsm.regions.borders import AxisAligned, AxisFrame, SmoothBorder
from tmsm.regions.landmarks import Landmarks, pieces
from tmsm.regions.region import Region
from tmsm.regions.rounding import check_steps, is_rounding, slope_of_nearer, whole_cells, zero_on_border

if TYPE_CHECKING:
    from tmsm.regions.polygon.spherical import SphericalPolygon

__all__ = ["LonLatBox"]

# So close to two edges a row is at their corner.
_CORNER = 1e-9


class _Edges(NamedTuple):
    west: float
    south: float
    east: float
    north: float

    @property
    def width(self) -> float:
        return float(np.remainder(self.east - self.west, 360.0)) or 360.0


@final
@dataclass(frozen=True, eq=False, repr=False)
class LonLatBox(Region):
    """The points between two meridians and two parallels, in degrees.

    The northern and southern sides are parallels, not great circles. A side at a pole is no border. If the box goes all
    the way round, its meridian is no border.

    Parameters
    ----------
    west, east
        Longitudes in degrees, within ±360; the box extends from west eastwards, so (170, −170) crosses the antimeridian
        and (−180, 180) is a band.
    south, north
        Latitudes in degrees.
    rounded
        The step in degrees to which longitudes and latitudes of the rows were rounded after the box had cut them; two
        numbers if the steps differ (longitude first, zero for a coordinate that was not rounded). The box is then made
        of whole cells of that grid: a side on the grid moves inwards by half a step, and rows on the side itself are
        left out.

    Examples
    --------
    >>> import tmsm
    >>> box = tmsm.LonLatBox(west=170, south=-10, east=-170, north=10)
    >>> box.contains(tmsm.lonlat_to_xyz([180, 0], [0, 0]))
    array([ True, False])

    Rows rounded to half a degree that lie on a side are left out, and so is the half cell next to it:

    >>> cells = tmsm.LonLatBox(west=170, south=-10, east=-170, north=10, rounded=0.5)
    >>> cells.contains(tmsm.lonlat_to_xyz([170, 170.2, 170.5], [0, 0, 0]))
    array([False, False,  True])
    """

    west: float
    south: float
    east: float
    north: float
    _: KW_ONLY
    rounded: float | tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name, limit in (("west", 360.0), ("south", 90.0), ("east", 360.0), ("north", 90.0)):
            value = check_number(getattr(self, name), name)
            if not abs(value) <= limit:
                raise InvalidInputError(f"{name} must be within ±{limit:.0f} degrees; got {value:.6g}.")
            object.__setattr__(self, name, value)
        if not self.south < self.north:
            raise InvalidInputError(
                f"south must be below north; got {self.south:.6g} and {self.north:.6g}. "
                "The order is west, south, east, north."
            )
        if self.west == self.east:
            raise InvalidInputError(
                f"west and east are both {self.west:.6g}: an empty box. For all longitudes use −180 and 180."
            )
        if self.rounded is not None:
            lon, lat = check_steps(self.rounded, 2, " in degrees").tolist()
            object.__setattr__(self, "rounded", lon if lon == lat else (lon, lat))
        if not (self._parallels or self._meridians):
            raise InvalidInputError("The box is the whole sphere: use Everywhere(Sphere(2)).")

    @property
    def manifold(self) -> Manifold:
        return Sphere(2)

    @property
    def why_no_axes(self) -> str:
        return "and round the pole inside this box north and east have no direction"

    def __repr__(self) -> str:
        rounded = "" if self.rounded is None else f", rounded={self.rounded!r}"
        return f"LonLatBox(west={self.west}, south={self.south}, east={self.east}, north={self.north}{rounded})"

    @cached_property
    def as_given(self) -> Region:
        return self if self.rounded is None else LonLatBox(self.west, self.south, self.east, self.north)

    def rounded_to(self, steps: FloatArray) -> Region | None:
        try:
            return LonLatBox(self.west, self.south, self.east, self.north, rounded=(float(steps[0]), float(steps[1])))
        except InvalidInputError:  # no whole cell is left
            return None

    @cached_property
    def _edges(self) -> _Edges:
        """The edges themselves: as given, or those of whole cells where rows are rounded."""
        given = _Edges(self.west, self.south, self.east, self.north)
        if self.rounded is None:
            return given
        lower, upper = whole_cells(
            np.array([self.west, self.south]), np.array([self.east, self.north]), np.broadcast_to(self.rounded, 2)
        )
        cells = _Edges(float(lower[0]), float(lower[1]), float(upper[0]), float(upper[1]))
        shrunk = given.width - (cells.west - given.west) - (given.east - cells.east)
        # Neither a meridian where the box goes all the way round nor a pole is a border.
        if given.width == 360.0:
            cells, shrunk = cells._replace(west=given.west, east=given.east), 360.0
        if given.south == -90.0:
            cells = cells._replace(south=given.south)
        if given.north == 90.0:
            cells = cells._replace(north=given.north)
        if not (shrunk > 0.0 and cells.south < cells.north):
            raise InvalidInputError(
                f"rounded={self.rounded!r} leaves nothing of the box: it holds no whole cell of that grid."
            )
        return cells

    @property
    def width(self) -> float:
        """Extent in longitude, degrees, in (0, 360]."""
        return self._edges.width

    @property
    def _parallels(self) -> list[tuple[float, float]]:
        """Latitude in radians, and +1 where the inside is to the north."""
        edges = ((self._edges.south, 1.0), (self._edges.north, -1.0))
        return [(float(np.radians(lat)), side) for lat, side in edges if abs(lat) < 90.0]

    @property
    def _meridians(self) -> list[tuple[float, float]]:
        """Longitude in degrees, and +1 where the inside is to the east."""
        return [] if self.width == 360.0 else [(self._edges.west, 1.0), (self._edges.east, -1.0)]

    @property
    def smooth_border(self) -> SmoothBorder | None:
        """Parallels have no corners, meridians meet them in some."""
        return None if self._meridians else _Parallels(tuple(self._parallels))

    @property
    def axes(self) -> AxisAligned | None:
        """Meridians and parallels; not where a pole lies inside, round which they have no direction."""
        pole_inside = self.width == 360.0 and len(self._parallels) < 2
        return None if pole_inside else _Compass(self)

    def longitude_from_middle(self, X: FloatArray) -> FloatArray:
        """Longitude of rows from the middle of the box, in (−π, π], shape (n,)."""
        middle = np.radians(self._edges.west + 0.5 * self.width)
        lon: FloatArray = np.arctan2(
            X[:, 1] * np.cos(middle) - X[:, 0] * np.sin(middle), X[:, 0] * np.cos(middle) + X[:, 1] * np.sin(middle)
        )
        return lon

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        lat, _, northwards = _north(X)
        lon = self.longitude_from_middle(X)
        half = np.radians(0.5 * self.width)
        in_lon = np.ones(len(X), dtype=bool) if self.width == 360.0 else np.abs(lon) <= half
        south, north = np.radians(self._edges.south), np.radians(self._edges.north)
        # A pole is no border, so the box reaches to it and beyond.
        inside = in_lon & ((lat > south) | (self._edges.south == -90.0)) & ((lat < north) | (self._edges.north == 90.0))

        least = np.full(len(X), np.inf)
        gradient = np.zeros_like(X)
        # Halfway between two edges, where rounded rows may lie by the hundred: rows, and half of what the second adds.
        halfway: list[tuple[IntArray, FloatArray, FloatArray]] = []

        def offer(d: FloatArray, direction: FloatArray, valid: BoolArray | None = None) -> None:
            """Take a signed distance and its inward gradient where it is the nearest so far."""
            excess = np.abs(d) - np.abs(least)
            nearer = excess < 0.0
            if valid is not None:  # an edge, and the rows beside it
                nearer &= valid
                tied = np.flatnonzero(is_rounding(excess) & valid)
                if tied.size:
                    nearer[tied] = False
                    halfway.append((tied, np.abs(d[tied]), 0.5 * (direction[tied] - gradient[tied])))
            least[nearer] = d[nearer]
            gradient[nearer] = direction[nearer]

        for edge, side in self._parallels:
            offer(side * (lat - edge), side * northwards, in_lon)
        for edge, side in self._meridians:
            outwards = lonlat_to_xyz(edge, 0.0)
            normal = side * lonlat_to_xyz(edge + 90.0 if edge < 270.0 else edge - 270.0, 0.0)
            height = X @ normal
            along = np.arctan2(X[:, 2], X @ outwards)  # latitude of the foot on the meridian's great circle
            tangent = normal - height[:, None] * X
            length = row_norms(tangent)
            beside = (along >= south) & (along <= north)
            offer(np.arctan2(height, length), safe_divide(tangent, length), beside)
        sign = np.where(inside, 1.0, -1.0)
        for corner in self._corners:
            q = np.broadcast_to(corner, X.shape)
            # Next to the corner the first difference is mostly rounding: make it tangent once more.
            away = self.manifold.project_tangent(X, X * (X @ corner)[:, None] - corner)
            unit = safe_divide(away, row_norms(away))
            offer(sign * self.manifold.geodesic_distance(X, q), sign[:, None] * unit)
        # At a corner, and at a pole inside, no direction is the nearest's: take the one to the middle.
        lost = row_norms(gradient) < 0.5
        if lost.any():
            inward = self.manifold.project_tangent(X[lost], np.broadcast_to(self._middle, (int(lost.sum()), 3)))
            gradient[lost] = safe_divide(inward, row_norms(inward))
        for rows, d, more in halfway:
            # At a corner the border has a normal of length one, that of either edge.
            still = is_rounding(d - np.abs(least[rows])) & ~lost[rows] & (d > _CORNER)
            gradient[rows[still]] += more[still]
        return zero_on_border(np.where(inside, np.abs(least), -np.abs(least))), gradient

    @property
    def _middle(self) -> FloatArray:
        return lonlat_to_xyz(
            (self._edges.west + 0.5 * self.width) % 360.0, 0.5 * (self._edges.south + self._edges.north)
        )

    @property
    def _corners(self) -> FloatArray:
        lon = [edge for edge, _ in self._meridians]
        lat = [self._edges.south, self._edges.north]
        grid = [(a, b) for a in lon for b in lat]
        return lonlat_to_xyz(*np.array(grid).T) if grid else np.empty((0, 3))

    @cached_property
    def landmarks(self) -> Landmarks:
        """The box, and what it leaves out: round the poles, or between its meridians."""
        box = self._strip(self._edges.west, self.width)
        if not self._meridians:
            poles = [(np.array([0.0, 0.0, -side]), 0.5 * np.pi + side * edge) for edge, side in self._parallels]
            return Landmarks.joined([box, *(Landmarks.ball(pole, radius) for pole, radius in poles)])
        gap = 360.0 - self.width
        return box if gap > 90.0 else Landmarks.joined([box, self._strip(self._edges.west + self.width, gap)])

    def _strip(self, west: float, width: float) -> Landmarks:
        """Balls in a row along the longer side of a box between the same parallels, in degrees."""
        height = self._edges.north - self._edges.south
        widest = np.cos(np.radians(np.clip(0.0, self._edges.south, self._edges.north)))  # of the latitudes of the box
        n_lon, n_lat = pieces(width * widest, height), pieces(height, width * widest)
        lon = west + width * np.linspace(0.0, 1.0, 2 * n_lon + 1)
        lat = np.linspace(self._edges.south, self._edges.north, 2 * n_lat + 1)
        a, b = (grid.ravel() for grid in np.meshgrid(lon[1::2], lat[1::2], indexing="ij"))
        centers = lonlat_to_xyz(np.remainder(a, 360.0), b)
        # From the middle of a piece to the far corner of half of it: first along the parallel, then the meridian.
        radius = np.radians(0.5 * width * widest / n_lon + 0.5 * height / n_lat)
        size = 0.5 * np.radians(min(height, width * widest))
        return Landmarks(centers, np.full(len(centers), min(radius, np.pi)), np.full(len(centers), size))

    @cached_property
    def _outline(self) -> SphericalPolygon:
        """The same box with its parallels cut into arcs to 1e-9 radians: for the projected distance."""
        from tmsm.regions.polygon.spherical import SphericalPolygon

        west, east = self._edges.west, self._edges.west + self.width
        lat_s, lat_n = self._edges.south, self._edges.north
        rings = []
        if self.width == 360.0:
            for lat in (lat_s, lat_n):
                if abs(lat) < 90.0:
                    rings.append(np.column_stack([west + np.arange(0.0, 360.0, 90.0), np.full(4, lat)]))
        else:
            rings.append(np.array([[west, lat_s], [east, lat_s], [east, lat_n], [west, lat_n]]))
        return SphericalPolygon.from_lonlat(rings, tolerance=1e-9, inside=self._middle)

    @property
    def border_curves(self) -> list[FloatArray] | None:
        return self._outline.border_curves

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the border in longitude and latitude.

        Parameters
        ----------
        ax
            Matplotlib axes; new ones by default.
        **style
            Options of Matplotlib for the line, such as ``color``.

        Returns
        -------
        The axes.
        """
        return self._outline.plot(ax, **style)

    def projected_distance(self, X: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
        return self._outline.projected_distance(X, axis)


@dataclass(frozen=True)
class _Parallels(SmoothBorder):
    """The border of a band: one or two parallels, as (latitude, +1 where the inside is to the north)."""

    parallels: tuple[tuple[float, float], ...]

    @property
    def reach(self) -> float:
        if len(self.parallels) == 2:  # the distances to both meet halfway
            return 0.5 * (self.parallels[1][0] - self.parallels[0][0])
        latitude, side = self.parallels[0]
        return 0.5 * np.pi - side * latitude  # the pole inside

    @property
    def reach_outside(self) -> float | None:
        return min(0.5 * np.pi + side * latitude for latitude, side in self.parallels)

    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        lat, across, northwards = _north(X)
        candidates = np.array([side * (lat - edge) for edge, side in self.parallels])
        nearest = np.argmin(candidates, axis=0)
        side = np.array([side for _, side in self.parallels])[nearest]
        # Δ lat = −tan lat
        return (
            zero_on_border(candidates.min(axis=0)),
            northwards * side[:, None],
            -side * X[:, 2] * safe_inverse(across),
        )


@dataclass(frozen=True)
class _Compass(AxisAligned):
    """East and north as the axes of a box: distances along parallels and along meridians.

    A pole where the meridians of the box meet counts as a face to the north or south, so that both components
    vanish there and the turning of the axes, tan lat, does no harm.
    """

    box: LonLatBox

    def axis_frame(self, X: FloatArray) -> AxisFrame:
        lat, across, northwards = _north(X)
        eastwards = safe_divide(np.column_stack([-X[:, 1], X[:, 0], np.zeros(len(X))]), across)
        from_south, from_north = lat - np.radians(self.box._edges.south), np.radians(self.box._edges.north) - lat
        along = np.minimum(from_south, from_north)
        if self.box.width == 360.0:
            beside, east_sign = np.full(len(X), np.inf), np.ones(len(X))
        else:
            lon = self.box.longitude_from_middle(X)
            beside = (np.radians(0.5 * self.box.width) - np.abs(lon)) * across
            east_sign = slope_of_nearer(lon, -lon)
        tangent = X[:, 2] * safe_inverse(across)
        # ∇_e e = tan lat n, div n = −tan lat
        return AxisFrame(
            (eastwards, northwards),
            np.column_stack([beside, along]),
            np.column_stack([east_sign, slope_of_nearer(from_south, from_north)]),
            {(0, 1): tangent, (1, 1): -tangent},
        )


def _north(X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Latitude in radians, its cosine, and the unit vector towards the north pole, (n, 3)."""
    across = np.hypot(X[:, 0], X[:, 1])
    northwards = np.column_stack([-X[:, 2] * X[:, 0], -X[:, 2] * X[:, 1], across**2])
    return np.arctan2(X[:, 2], across), across, safe_divide(northwards, across)
