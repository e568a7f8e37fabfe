"""Named converters between angles and unit vectors in R³.

Points are unit vectors everywhere else in the library; longitude always comes first in degrees,
and the paper's colatitude first in radians, as the names of the functions say.
"""

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import as_float_array
from tmsm.manifolds.lonlat import lonlat_of, point_at, sincos_degrees
from tmsm.manifolds.sphere import Sphere

# So many rows are converted by compiled code; for fewer it would not be loaded in the time that it saves.
_MANY = 100_000

__all__ = ["colatlon_to_xyz", "lonlat_to_xyz", "xyz_to_colatlon", "xyz_to_lonlat"]


def lonlat_to_xyz(lon: ArrayLike, lat: ArrayLike) -> FloatArray:
    """Unit vectors from longitude and latitude in degrees, z towards the north pole.

    Parameters
    ----------
    lon
        Longitude in degrees east, shape (n,) or a number, within ±360.
    lat
        Latitude in degrees north, same shape or one that broadcasts, within ±90.

    Returns
    -------
    Unit vectors, shape (n, 3), or (3,) for two numbers.

    Examples
    --------
    >>> import tmsm
    >>> tmsm.lonlat_to_xyz([0.0, 90.0], [0.0, 90.0])
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    lon_, lat_ = _pair(lon, lat, "lon", "lat")
    if lon_.ndim == 1 and len(lon_) >= _MANY:
        from tmsm.manifolds.lonlat_loops import points_of_degrees

        points = points_of_degrees(lon_, lat_)
        if points is not None:
            return points
    _check_finite(lon_, "lon")
    _check_finite(lat_, "lat")
    bad = ~(np.abs(lat_) <= 90.0)
    if bad.any():
        worst = _worst(lat_, bad)
        hint = ""
        if np.abs(lon_).max(initial=0.0) <= 90.0:
            hint = " Longitude comes first: are the two swapped?"
        elif np.abs(lat_).max() > 720.0:
            hint = " Projected coordinates (metres) must be turned into degrees first."
        raise InvalidInputError(f"lat must be within ±90 degrees; {worst}.{hint}")
    bad = ~(np.abs(lon_) <= 360.0)
    if bad.any():
        raise InvalidInputError(
            f"lon must be within ±360 degrees; {_worst(lon_, bad)}. "
            "Projected coordinates (metres) must be turned into degrees first."
        )
    return point_at(lon_, lat_)


def xyz_to_lonlat(X: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Longitude in (−180, 180] and latitude, both in degrees; the inverse of `lonlat_to_xyz`.

    At the poles the longitude is 0.

    Parameters
    ----------
    X
        Unit vectors, shape (n, 3) or (3,).

    Returns
    -------
    lon, lat : each of shape (n,), or numbers for a single point.

    Examples
    --------
    >>> import tmsm
    >>> lon, lat = tmsm.xyz_to_lonlat([[0.0, -1.0, 0.0]])
    >>> float(lon[0]), float(lat[0])
    (-90.0, 0.0)
    """
    return lonlat_of(_unit_vectors(X))


def colatlon_to_xyz(colat: ArrayLike, lon: ArrayLike) -> FloatArray:
    """Unit vectors from the paper's angles in radians: the first coordinate is cos(colat).

    x = (cos φ, sin φ cos θ, sin φ sin θ) with colatitude φ and longitude θ.

    Parameters
    ----------
    colat
        Colatitude φ in radians, shape (n,) or a number, within [0, π].
    lon
        Longitude θ in radians, same shape, within ±2π.

    Returns
    -------
    Unit vectors, shape (n, 3), or (3,) for two numbers.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> tmsm.colatlon_to_xyz(np.pi / 2, np.pi)
    array([ 0., -1.,  0.])
    """
    colat_, lon_ = _pair(colat, lon, "colat", "lon")
    _check_finite(colat_, "colat")
    _check_finite(lon_, "lon")
    for angle, name, low, high, rule in (
        (colat_, "colat", 0.0, np.pi, "[0, π]"),
        (lon_, "lon", -2 * np.pi, 2 * np.pi, "±2π"),
    ):
        slack = 1e-12 * np.pi
        bad = ~((angle >= low - slack) & (angle <= high + slack))
        if bad.any():
            raise InvalidInputError(
                f"{name} must be within {rule} radians; {_worst(angle, bad)}. "
                "Degrees become radians with numpy.radians; "
                "longitude and latitude in degrees go through lonlat_to_xyz."
            )
    # Through degrees, so that π/2 and π are exact.
    sin_colat, cos_colat = sincos_degrees(np.degrees(colat_))
    sin_lon, cos_lon = sincos_degrees(np.degrees(lon_))
    return np.stack([cos_colat, sin_colat * cos_lon, sin_colat * sin_lon], axis=-1)


def xyz_to_colatlon(X: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Colatitude in [0, π] and longitude in [0, 2π), in radians; inverse of `colatlon_to_xyz`.

    Where the colatitude is 0 or π the longitude is 0.

    Parameters
    ----------
    X
        Unit vectors, shape (n, 3) or (3,).

    Returns
    -------
    colat, lon : each of shape (n,), or numbers for a single point.

    Examples
    --------
    >>> import tmsm
    >>> colat, lon = tmsm.xyz_to_colatlon([[0.0, -1.0, 0.0]])
    >>> round(float(colat[0]), 6), round(float(lon[0]), 6)
    (1.570796, 3.141593)
    """
    points = _unit_vectors(X)
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    at_pole = (y == 0.0) & (z == 0.0)
    lon = np.where(at_pole, 0.0, np.arctan2(z, y))
    lon = np.where(lon < 0.0, lon + 2 * np.pi, lon)
    # A tiny negative angle rounds to 2π, which is the same longitude as 0.
    lon = np.where(lon >= 2 * np.pi, 0.0, lon)
    return np.arctan2(np.hypot(y, z), x), lon[()]


def _pair(a: ArrayLike, b: ArrayLike, name_a: str, name_b: str) -> tuple[FloatArray, FloatArray]:
    first, second = as_float_array(a, name_a), as_float_array(b, name_b)
    try:
        first, second = np.broadcast_arrays(first, second)
    except ValueError:
        raise InvalidInputError(
            f"{name_a} and {name_b} must have the same shape; got {first.shape} and {second.shape}."
        ) from None
    return first, second


def _check_finite(angle: FloatArray, name: str) -> None:
    bad = ~np.isfinite(angle)
    if bad.any():
        raise InvalidInputError(
            f"{name} has {int(np.count_nonzero(bad))} of {angle.size} values that are NaN or infinite "
            f"(first: position {int(np.argmax(bad))}). Drop or repair them."
        )


def _unit_vectors(X: ArrayLike) -> FloatArray:
    points = as_float_array(X, "X")
    Sphere(2).check_points(points[None, :] if points.ndim == 1 else points)
    return points


def _worst(angle: FloatArray, bad: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    flat = np.where(np.isnan(angle), np.inf, np.abs(angle)).ravel()
    row = int(np.argmax(np.where(bad.ravel(), flat, -np.inf)))
    return (
        f"{int(np.count_nonzero(bad))} of {angle.size} values break this "
        f"(worst: {angle.ravel()[row]:.6g} at position {row})"
    )
