"""NOAA's Storm Events Database: reader of its yearly files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from tmsm.data.text_files import as_degrees, find_files, read_columns
from tmsm.datasets.tables import PlaceTable, TextArray
from tmsm.foundation.arrays import IntArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.progress import with_progress
from tmsm.foundation.validation import parse_number

__all__ = ["StormEvents", "read_storm_events"]

_Place = tuple[float, float]


@final
@dataclass(frozen=True, eq=False, repr=False)
class StormEvents(PlaceTable):
    """Events with a place, in the order of their identifiers.

    Attributes
    ----------
    event
        NOAA's identifier.
    year
        Calendar year.
    kind
        "Tornado", "Flash Flood", …; empty where the files did not say.
    fatalities
        Direct and indirect deaths.
    """

    event: IntArray
    year: IntArray
    kind: TextArray
    fatalities: IntArray


def read_storm_events(source: Any) -> StormEvents:
    r"""Read NOAA Storm Events files, one row an event at its first location.

    Parameters
    ----------
    source
        A folder, a file or several: "details", "locations" and "fatalities" files of any years, as CSV
        or CSV.gz.  The columns of a file show which kind it is.  With "details" alone the place is where an event
        began; with "locations" it is the first location.  A plain table with EVENT_ID, YEAR, LATITUDE,
        LONGITUDE and FATALITIES is taken as well.

    Returns
    -------
    The events whose place is known.  Those reported for whole zones (heat, winter storms) have none.

    Examples
    --------
    >>> import tempfile, pathlib, tmsm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lines = ["EVENT_ID,YEAR,LATITUDE,LONGITUDE,FATALITIES", "7,2017,35.5,-97.5,2"]
    ...     _ = pathlib.Path(folder, "storm_events.csv").write_text("\n".join(lines))
    ...     tmsm.datasets.read_storm_events(folder)
    StormEvents(<1 rows: longitude, latitude, event, year, kind, fatalities>)
    """
    paths = find_files(source, "stormevents", "Storm Events files (StormEvents_details…csv.gz, …_locations…)")
    collected = _Collected()
    for path in with_progress(paths, len(paths), "Reading storm events"):
        collected.add(path)
    return collected.table()


class _Collected:
    """What is known of each event so far, by its identifier."""

    def __init__(self) -> None:
        self.began: dict[int, _Place] = {}
        self.located: dict[int, tuple[int, _Place]] = {}  # with the location's index
        self.years: dict[int, int] = {}
        self.kinds: dict[int, str] = {}
        self.deaths: dict[int, int] = {}
        self.casualties: dict[int, set[str]] = {}

    def add(self, path: Path) -> None:
        kind = ""
        adders = {
            "details": self._add_details,
            "locations": self._add_locations,
            "fatalities": self._add_fatalities,
        }

        def choose(header: set[str]) -> list[str]:
            nonlocal kind
            kind, columns = _columns(header, path.name)
            return columns

        for line, values in read_columns(path, choose):
            where = f"{path.name}, line {line}"
            event = _whole(values[0], f"{where}: EVENT_ID")
            adders[kind](event, values[1:], where)

    def _add_details(self, event: int, values: list[str], where: str) -> None:
        year, kind, direct, indirect, latitude, longitude = values
        self.years[event] = _whole(year, f"{where}: YEAR")
        self.kinds[event] = kind
        self.deaths[event] = sum(_whole(deaths or "0", f"{where}: DEATHS") for deaths in (direct, indirect))
        place = _place(longitude, latitude, where)
        if place is not None:
            self.began[event] = place

    def _add_locations(self, event: int, values: list[str], where: str) -> None:
        period, latitude, longitude, index, deaths = values
        self.years.setdefault(event, _whole(period[:4], f"{where}: YEAR"))
        if deaths:
            self.deaths.setdefault(event, _whole(deaths, f"{where}: FATALITIES"))
        place, number = _place(longitude, latitude, where), _whole(index or "1", f"{where}: LOCATION_INDEX")
        if place is not None and (event not in self.located or number < self.located[event][0]):
            self.located[event] = (number, place)

    def _add_fatalities(self, event: int, values: list[str], where: str) -> None:
        self.casualties.setdefault(event, set()).add(values[0])

    def table(self) -> StormEvents:
        places = self.began | {event: place for event, (_, place) in self.located.items()}
        events = sorted(event for event in places if event in self.years)
        return StormEvents(
            longitude=np.array([places[event][0] for event in events]),
            latitude=np.array([places[event][1] for event in events]),
            event=np.array(events, dtype=np.int64),
            year=np.array([self.years[event] for event in events], dtype=np.int64),
            kind=np.array([self.kinds.get(event, "") for event in events], dtype=np.str_),
            fatalities=np.array([self._fatalities(event) for event in events], dtype=np.int64),
        )

    def _fatalities(self, event: int) -> int:
        return self.deaths.get(event, len(self.casualties.get(event, ())))


def _columns(header: set[str], name: str) -> tuple[str, list[str]]:
    """What a file is, and its columns in the order in which they are taken; "" stands in for absent ones."""
    if {"EVENT_ID", "FATALITY_ID"} <= header:
        return "fatalities", ["EVENT_ID", "FATALITY_ID"]
    details = ["EVENT_ID", "YEAR", "EVENT_TYPE", "DEATHS_DIRECT", "DEATHS_INDIRECT", "BEGIN_LAT", "BEGIN_LON"]
    if set(details) <= header:
        return "details", details
    period = "YEARMONTH" if "YEARMONTH" in header else "YEAR"
    locations = ["EVENT_ID", period, "LATITUDE", "LONGITUDE"]
    if set(locations) <= header:
        optional = [column if column in header else "" for column in ("LOCATION_INDEX", "FATALITIES")]
        return "locations", locations + optional
    raise InvalidInputError(
        f"{name} is no Storm Events file: it has neither the columns of a details file (EVENT_ID, EVENT_TYPE, "
        "BEGIN_LAT, …), nor those of a locations file (EVENT_ID, YEARMONTH, LATITUDE, LONGITUDE), nor those of a "
        "fatalities file (EVENT_ID, FATALITY_ID)."
    )


def _place(longitude: str, latitude: str, where: str) -> _Place | None:
    lon, lat = as_degrees(longitude, 360.0, where), as_degrees(latitude, 90.0, where)
    return None if lon is None or lat is None else (lon, lat)


def _whole(text: str, where: str) -> int:
    try:
        return int(parse_number(text))
    except (ValueError, OverflowError):
        raise InvalidInputError(f"{where} is {text!r}, which is no number.") from None
