"""Frames: what directions on S² stand for, and how people write them: places on the Earth, or on the sky."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_option
from tmsm.manifolds.lonlat import EARTH_RADIUS_KM, lonlat_of
from tmsm.manifolds.units import DistanceUnit

__all__ = [
    "EARTH",
    "FRAMES",
    "GALACTIC",
    "ICRS",
    "ICRS_TO_GALACTIC",
    "PLAIN",
    "Frame",
    "change_frame",
    "check_frames",
    "frame_named",
    "readable_length",
]

_DEGREES = DistanceUnit(180.0 / np.pi, "°", "degrees")
_IN_WORDS = {"earth": "on the Earth", "icrs": "in ICRS", "galactic": "in galactic coordinates"}
_KILOMETRES = DistanceUnit(EARTH_RADIUS_KM, " km", "km")


@final
@dataclass(frozen=True)
class Frame:
    """The meaning of unit vectors in R³, for tables, files and pictures; estimates do not depend on it.

    Attributes
    ----------
    name
        "earth", "icrs", "galactic", or "plain" where nothing is known.
    title
        What it is, in words.
    coordinates, short
        Names of the two angles, longitude first, whole and as a column heading.
    unit
        What people read distances in.
    has_land
        Whether coastlines help to read a picture.
    is_sky
        Whether it is seen from inside: longitudes grow to the left, and run from 0 to 360 degrees.
    """

    name: str
    title: str
    coordinates: tuple[str, str]
    short: tuple[str, str]
    unit: DistanceUnit
    has_land: bool = False
    is_sky: bool = False

    def lonlat(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The two angles in degrees as this frame writes them: longitudes in [0, 360) on the sky, else (−180, 180]."""
        lon, lat = lonlat_of(np.asarray(X, dtype=np.float64))
        if self.is_sky:
            lon = np.where(lon < 0.0, lon + 360.0, lon)
            lon = np.where(lon >= 360.0, 0.0, lon)[()]
        return lon, lat

    def longitude_text(self, lon: float, digits: int | None = None) -> str:
        """A longitude (any turn) as a label: 87°W, 266°."""
        if self.is_sky:
            return f"{_plain(np.remainder(lon, 360.0), digits)}°"
        lon = 180.0 - float(np.remainder(180.0 - lon, 360.0))  # in (−180, 180]
        if self.name != "earth":
            return f"{_plain(lon, digits)}°"
        letter = ("E" if lon > 0 else "W") if 1e-9 < abs(lon) < 180.0 - 1e-9 else ""
        return f"{_plain(abs(lon), digits)}°{letter}"

    def latitude_text(self, lat: float, digits: int | None = None) -> str:
        """A latitude as a label: 31°N, −29°."""
        if self.name != "earth":
            return f"{_plain(lat, digits)}°"
        return f"{_plain(abs(lat), digits)}°{('N' if lat > 0 else 'S') if abs(lat) > 1e-9 else ''}"

    def place(self, direction: FloatArray, error: float | None = None) -> str:
        """A direction in words, to the digits that an error in radians leaves: 31.2° N, 80.1° W; RA 266.4°, Dec 9°."""
        digits = 1
        if error is not None and 0.0 < error < np.inf:
            digits = int(np.clip(1 - np.floor(np.log10(np.degrees(error))), 1, 5))
        lon, lat = (float(angle) for angle in self.lonlat(direction))
        if self.name == "earth":
            east, north = "E" if lon >= 0 else "W", "N" if lat >= 0 else "S"
            return f"{abs(lat):.{digits}f}° {north}, {abs(lon):.{digits}f}° {east}"
        turn = 360.0 if self.is_sky else np.inf
        lon = 0.0 if round(lon, digits) >= turn else lon
        return ", ".join(f"{name} {_plain(angle, digits)}°" for name, angle in zip(self.short, (lon, lat), strict=True))

    def length(self, radians: float, digits: int = 3) -> str:
        """A distance in words: 1,230 km; 12.3°."""
        return f"{readable_length(self.unit.scale * radians, digits)}{self.unit.symbol}"

    def lengths(self, radians: Sequence[float], digits: int = 3) -> str:
        """Several distances with one unit: 420 × 350 km."""
        shown = [readable_length(self.unit.scale * one, digits) for one in radians]
        return " × ".join(shown) + self.unit.symbol


def readable_length(value: float, digits: int = 3) -> str:
    """Some digits, with commas and without an exponent."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100.0 else np.format_float_positional(rounded, trim="-")


def _plain(value: float, digits: int | None) -> str:
    """A number with a true minus sign and no minus zero."""
    text = f"{float(value) + 0.0:.10g}" if digits is None else f"{float(value):.{digits}f}"
    if not text.strip("-0."):
        text = text.lstrip("-")
    return text.replace("-", "−")


PLAIN = Frame("plain", "the sphere", ("longitude", "latitude"), ("lon", "lat"), _DEGREES)
EARTH = Frame("earth", "the Earth", ("longitude", "latitude"), ("lon", "lat"), _KILOMETRES, has_land=True)
ICRS = Frame("icrs", "the sky (ICRS)", ("right ascension", "declination"), ("RA", "Dec"), _DEGREES, is_sky=True)
GALACTIC = Frame(
    "galactic", "the sky (galactic)", ("galactic longitude", "galactic latitude"), ("l", "b"), _DEGREES, is_sky=True
)
FRAMES = {frame.name: frame for frame in (PLAIN, EARTH, ICRS, GALACTIC)}

# Rows are the galactic axes in ICRS: towards the centre, along the rotation, and the north galactic pole.
ICRS_TO_GALACTIC = np.array(
    [
        [-0.05487565771259168, -0.8734370519556163, -0.4838350736167155],
        [0.4941094371927275, -0.44482972122329517, 0.7469821839866676],
        [-0.8676661375596587, -0.19807633727300075, 0.4559838136873016],
    ]
)
ICRS_TO_GALACTIC.flags.writeable = False


def frame_named(name: str, argument: str = "frame") -> Frame:
    """The frame of a name; an error that lists them where there is none."""
    return FRAMES[check_option(name, FRAMES, argument)]


def change_frame(X: FloatArray, given: Frame, wanted: Frame) -> FloatArray:
    """Unit vectors (n, 3) of one frame of the sky in another."""
    if given == wanted:
        return X
    if {given.name, wanted.name} != {ICRS.name, GALACTIC.name}:
        raise InvalidInputError(f"Directions of {given.title} are none of {wanted.title}.")
    turned: FloatArray = X @ (ICRS_TO_GALACTIC.T if given == ICRS else ICRS_TO_GALACTIC)
    return turned


def check_frames(name: str | None, frame: Frame, what: str) -> None:
    """Raise where something of a named frame, such as "The exposure map", meets points of another."""
    if name is None or name == PLAIN.name or frame.name in (PLAIN.name, name):
        return
    raise InvalidInputError(
        f"{what} is {_IN_WORDS[name]} and the points are {_IN_WORDS[frame.name]}. "
        f"Give the points in {FRAMES[name].coordinates[0]} and {FRAMES[name].coordinates[1]} of that frame, or convert "
        f"{what[0].lower()}{what[1:]}."
    )
