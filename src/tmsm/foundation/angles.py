"""Angles as tables have them: decimal degrees, and degrees or hours with minutes and seconds."""

from __future__ import annotations

import re

from tmsm.foundation.validation import parse_number

__all__ = ["parse_angle"]

# How journals print signs and units.
_PRINTED = str.maketrans("−–’′″”ºʰᵐˢ", "--''\"\"°hms")
_NUMBER = r"\d+(?:\.\d*)?"
# Hours, or degrees; minutes; seconds: with letters, colons or blanks between them.
_SEXAGESIMAL = re.compile(
    rf"""(?P<sign>[+-]?)\s*
    (?P<first>\d+)\s*(?P<unit>h|d|°|:|\s)\s*
    (?P<minutes>{_NUMBER})\s*(?:m|'|:|\s|$)\s*
    (?:(?P<seconds>{_NUMBER}|\.\d+)\s*(?:s|"|'')?)?""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_WITH_UNIT = re.compile(
    rf"(?P<number>[+-]?(?:{_NUMBER}|\.\d+))\s*(?P<unit>h|d|deg|degrees|°)", re.IGNORECASE | re.ASCII
)


def parse_angle(text: str, hours: bool = False) -> float:
    """Degrees from a text; ValueError where it is no angle.

    A plain number is degrees.  With minutes, 17:45:40 or 17 45 40.04, it is hours where ``hours`` says so, as right
    ascensions are; 17h45m40s always is, and 266d25m never.

    Examples
    --------
    >>> from tmsm.foundation.angles import parse_angle
    >>> parse_angle("-00 12 30"), parse_angle("12:00:00", hours=True), parse_angle("266.5", hours=True)
    (-0.20833333333333334, 180.0, 266.5)
    """
    plain = text.strip().translate(_PRINTED)
    try:
        return parse_number(plain)
    except ValueError:
        pass
    if (alone := _WITH_UNIT.fullmatch(plain)) is not None:
        return float(alone["number"]) * (15.0 if alone["unit"].lower() == "h" else 1.0)
    found = _SEXAGESIMAL.fullmatch(plain)
    if found is None:
        raise ValueError(f"{text!r} is no angle.")
    minutes, seconds = float(found["minutes"]), float(found["seconds"] or 0.0)
    if minutes >= 60.0 or seconds > 60.0 or (found["seconds"] and "." in found["minutes"]):
        raise ValueError(f"{text!r} is no angle.")
    size = (float(found["first"]) * 3600.0 + minutes * 60.0 + seconds) / 3600.0
    unit = found["unit"].lower()
    if unit == "h" or (hours and unit not in ("d", "°")):
        size *= 15.0
    return -size if found["sign"] == "-" else size  # minus zero degrees count, too
