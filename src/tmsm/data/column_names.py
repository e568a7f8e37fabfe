"""Which columns of a table hold a longitude and a latitude, by the names that catalogues give them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tmsm.foundation.errors import InvalidInputError, UnknownColumnsError
from tmsm.foundation.filters import named_list
from tmsm.manifolds.frames import EARTH, GALACTIC, ICRS, Frame

__all__ = ["ColumnPair", "column_at", "find_pair", "find_wkt", "frames_of"]

# On the Earth: one of these words, and what else the name holds must be the same in both columns.
_LONGITUDE, _LATITUDE = {"lon", "long", "longitude", "lng"}, {"lat", "latitude"}
# Words that say nothing more than the word itself: units and directions.
_SILENT = {"deg", "degs", "degree", "degrees", "dd", "decimal", "dec", "wgs", "84", "wgs84", "e", "n", "east", "north"}
# Words of columns that are no coordinates in degrees, or count them another way: Lon W grows to the west.
_OTHER = {
    "w", "s", "west", "south", "m", "d", "min", "max", "minimum", "maximum", "err", "error", "errors", "std", "sd",
    "sigma", "se", "unc", "uncertainty", "var", "variance", "rad", "radian", "radians", "ref", "flag", "quality",
    "id", "code", "name", "zone", "band", "bin", "gap", "res", "resolution", "accuracy", "precision", "direction",
    "hemisphere", "minute", "minutes", "second", "seconds", "sec", "dir", "type", "method", "source", "note",
    "remarks", "text",
}  # fmt: skip
# Words that are written in one with the longitude or latitude.
_PREFIXES = (
    "begin", "capital", "cent", "center", "centre", "centroid", "city", "dec", "decimal", "end", "epi", "ev", "event",
    "evt", "geo", "gps", "hypo", "intpt", "loc", "location", "obs", "orig", "origin", "point", "rec", "site", "sta",
    "start", "station", "stn",
)  # fmt: skip
_SKY = {
    ICRS.name: (
        "ra|rightascension|alpha|raj|rajj|raicrs|raicr",
        "de|dec|decl|declination|delta|dej|decj|deicrs|decicrs|deicr",
    ),
    GALACTIC.name: (
        "l|glon|lii|lgal|gall|gallon|gallong|gallongitude|galacticl|galacticlon|galacticlongitude",
        "b|glat|bii|bgal|galb|gallat|gallatitude|galacticb|galacticlat|galacticlatitude",
    ),
}
_SKY_SILENT = r"(j?2000(\.0)?|j20000)?(deg|degs|degrees|degree|dd|decimal|mean)?"
_PATTERNS = {frame: tuple(re.compile(rf"({names}){_SKY_SILENT}") for names in pair) for frame, pair in _SKY.items()}
_UNITS = re.compile(r"\s*[(\[{]([^)\]}]*)[)\]}]\s*$")
_DEGREES = re.compile(
    r"|°|º|d|dd|deg\.?|degs?|degrees?|decimal( degrees?)?|wgs ?84|epsg:? ?4326|4326"
    r"|(°|deg|degrees?)?[_ ]?([en]|east|north)|j ?2000(\.0)?|icrs|eq(uinox)?\.? ?j?2000|gal(actic)?"
    r"|[hd]{1,2}[: ]?m{1,2}[: ]?s{1,2}(\.s+)?|sexagesimal",
    re.IGNORECASE,
)
_WKT = {"geometry", "wkt", "thegeom", "geom", "wktgeom", "geomwkt", "geometrywkt", "wktgeometry", "wkttext"}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@dataclass(frozen=True)
class ColumnPair:
    """Places of a longitude and a latitude among the columns, and the frame that they are of."""

    longitude: int
    latitude: int
    frame: Frame


def column_at(header: Sequence[str], wanted: str, what: str, whose: str) -> int:
    """The place of a column that was named, in any case."""
    plain = [column.strip().lower() for column in header]
    asked = wanted.strip().lower()
    if plain.count(asked) > 1:
        raise InvalidInputError(f"{whose} has several columns {wanted!r}; rename all but one.")
    if asked not in plain:
        raise InvalidInputError(f"{whose} has no column {wanted!r} for the {what}; it has {named_list(header)}.")
    return plain.index(asked)


def find_pair(header: Sequence[str], whose: str, frame: Frame, *, plane: bool = True) -> ColumnPair:
    """The two columns of a frame, by their names.

    For a frame of the sky those of another one will do where they are all there is.  ``plane`` allows x and y.
    An error says where there are none, or several.
    """
    for one in _in_question(frame):
        found = _candidates(header, one, plane)
        if found is None:
            continue
        if len(found[0]) > 1 or len(found[1]) > 1:
            several = [header[k].strip() for places in found for k in places]
            raise UnknownColumnsError(
                f"{whose} has several columns that look like {' and '.join(one.coordinates)}: {named_list(several)}.",
                f"Name two with columns=({_argument(one)}).",
            )
        return ColumnPair(found[0][0], found[1][0], one)
    other = next((one for one in (EARTH, ICRS, GALACTIC) if _candidates(header, one, False) is not None), None)
    looks = ""
    if other is not None:
        looks = f" It has {' and '.join(other.coordinates)} instead, which belong to {other.title}."
    raise UnknownColumnsError(
        f"{whose} has no columns that look like {' and '.join(frame.coordinates)}; it has {named_list(header)}.{looks}",
        f"Name them with columns=({_argument(frame)})" + (f", or read it with frame={other.name!r}." if other else "."),
        None if other is None else other.name,
    )


def frames_of(header: Sequence[str]) -> list[Frame]:
    """The frames that a table has columns of; x and y alone are none."""
    return [frame for frame in (EARTH, ICRS, GALACTIC) if _candidates(header, frame, False) is not None]


def find_wkt(header: Sequence[str]) -> int | None:
    """The place of a column whose name says that it holds geometry as text; None where there is none or several."""
    places = [k for k, column in enumerate(header) if _squashed(column) in _WKT]
    return places[0] if len(places) == 1 else None


def _argument(frame: Frame) -> str:
    return ", ".join(coordinate.replace("galactic ", "") for coordinate in frame.coordinates)


def _in_question(frame: Frame) -> list[Frame]:
    """The frame itself and, of the sky, the one that it can be computed from."""
    if not frame.is_sky:
        return [frame]
    return [frame, GALACTIC if frame == ICRS else ICRS]


def _candidates(header: Sequence[str], frame: Frame, plane: bool) -> tuple[list[int], list[int]] | None:
    """Places that may hold longitudes and latitudes, or None where one of the two is missing."""
    return _on_sky(header, frame) if frame.is_sky else _on_earth(header, plane)


def _on_earth(header: Sequence[str], plane: bool) -> tuple[list[int], list[int]] | None:
    pairs: dict[tuple[str, ...], tuple[list[int], list[int]]] = {}
    for place, column in enumerate(header):
        words = _words(column)
        for axis, names in enumerate((_LONGITUDE, _LATITUDE)):
            if len(names.intersection(words)) == 1 and not _OTHER.intersection(words):
                rest = tuple(word for word in words if word not in names and word not in _SILENT)
                pairs.setdefault(rest, ([], []))[axis].append(place)
    whole = {rest: pair for rest, pair in pairs.items() if pair[0] and pair[1]}
    if () in whole:
        return whole[()]
    if whole:
        return [k for pair in whole.values() for k in pair[0]], [k for pair in whole.values() for k in pair[1]]
    # x and y beside better names are something else.
    plain = [column.strip().lower() for column in header]
    if plane and "x" in plain and "y" in plain:
        return _places(plain, re.compile("x")), _places(plain, re.compile("y"))
    return None


def _on_sky(header: Sequence[str], frame: Frame) -> tuple[list[int], list[int]] | None:
    names = [_squashed(column) for column in header]
    # Catalogue services put the position that they computed first, with an underscore before its name.
    for computed in (True, False):
        found = [
            [k for k in _places(names, pattern) if header[k].strip().startswith("_") is computed]
            for pattern in _PATTERNS[frame.name]
        ]
        if found[0] and found[1]:
            return found[0], found[1]
    return None


def _places(names: Sequence[str], pattern: re.Pattern[str]) -> list[int]:
    return [k for k, name in enumerate(names) if pattern.fullmatch(name)]


def _without_unit(column: str) -> str | None:
    """The name without a unit in brackets at its end; None where that is not degrees."""
    plain = column.strip().lstrip("#").strip()
    unit = _UNITS.search(plain)
    if unit is None:
        return plain
    return plain[: unit.start()] if _DEGREES.fullmatch(unit.group(1).strip()) else None


def _squashed(column: str) -> str:
    name = _without_unit(column)
    return "" if name is None else re.sub(r"[\W_]", "", name).lower()


def _words(column: str) -> list[str]:
    """The words of a name: EventLatitude, event_latitude and "Event latitude (deg)" have two."""
    name = _without_unit(column)
    found = []
    for word in _WORDS.findall(name or ""):
        word = word.lower()
        end = next((end for end in ("longitude", "latitude", "long", "lon", "lng", "lat") if word.endswith(end)), "")
        before = word[: len(word) - len(end)] if end else ""
        found += [before, end] if before in _PREFIXES else [word]
    return found
