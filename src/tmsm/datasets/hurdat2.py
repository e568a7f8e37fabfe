"""NOAA's HURDAT2, the best tracks of Atlantic cyclones: reader of its text file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tmsm.data.text_files import as_degrees, find_files, open_text, read_columns
from tmsm.datasets.tables import StormFixes
from tmsm.foundation.errors import InvalidInputError

__all__ = ["read_hurdat2"]

_TABLE = ["ID", "DATETIME", "LON", "LAT"]
_Fix = tuple[str, np.datetime64, float, float]  # storm, time, longitude, latitude


def read_hurdat2(source: Any) -> StormFixes:
    r"""Read HURDAT2.

    Parameters
    ----------
    source
        The text file as the National Hurricane Center publishes it, or a folder that holds one; of a folder
        that of the Pacific is left out.  A CSV with the columns id, datetime, lat and lon is taken as well.

    Examples
    --------
    >>> import tempfile, pathlib, tmsm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lines = ["AL092011, IRENE, 1,", "20110821, 0000,  , TS, 15.0N,  59.0W,  45, 1006,"]
    ...     _ = pathlib.Path(folder, "hurdat2.txt").write_text("\n".join(lines))
    ...     fixes = tmsm.datasets.read_hurdat2(folder)
    >>> float(fixes.longitude[0]), str(fixes.time[0])
    (-59.0, '2011-08-21T00:00:00')
    """
    paths = find_files(source, "hurdat2", "HURDAT2 file of the Atlantic (hurdat2-1851-….txt)", without="nepac")
    fixes = [fix for path in paths for fix in _fixes(path)]
    if not fixes:
        raise InvalidInputError(f"{paths[0].name} holds no storm.")
    storm, time, longitude, latitude = zip(*fixes, strict=True)
    return StormFixes(
        longitude=np.array(longitude), latitude=np.array(latitude), storm=np.array(storm), time=np.array(time)
    )


def _fixes(path: Path) -> Iterator[_Fix]:
    try:
        with open_text(path) as file:
            first = file.readline()
            if first.upper().startswith("ID,"):
                yield from _from_table(path)
                return
            storm, left = "", 0
            for number, line in enumerate([first, *file], start=1):
                cells = [cell.strip() for cell in line.split(",")]
                where = f"{path.name}, line {number}"
                if len(cells) < 3:
                    if line.strip():
                        raise InvalidInputError(f"{where}: {line.strip()!r} is not HURDAT2.")
                elif left == 0:
                    storm, left = cells[0], _count(cells[2], where)
                else:
                    left -= 1
                    yield _fix(storm, cells, where)
    except OSError as error:
        raise InvalidInputError(f"{path.name} cannot be read: {error}.") from None
    if left:
        raise InvalidInputError(f"{path.name} ends {left} lines early, in the storm {storm}. Download it again.")


def _fix(storm: str, cells: list[str], where: str) -> _Fix:
    if len(cells) < 6 or len(cells[0]) != 8 or len(cells[1]) != 4:
        raise InvalidInputError(f"{where} is not a fix of HURDAT2: date, time, …, latitude, longitude.")
    day, hour = cells[0], cells[1]
    time = f"{day[:4]}-{day[4:6]}-{day[6:]}T{hour[:2]}:{hour[2:]}"
    return storm, _time(time, where), _angle(cells[5], "E", "W", 360.0, where), _angle(cells[4], "N", "S", 90.0, where)


def _time(text: str, where: str) -> np.datetime64:
    try:
        return np.datetime64(text, "s")
    except ValueError:
        raise InvalidInputError(f"{where}: {text!r} is no time.") from None


def _angle(text: str, positive: str, negative: str, limit: float, where: str) -> float:
    value = as_degrees(text[:-1], limit, where)
    if value is None or text[-1] not in (positive, negative):
        raise InvalidInputError(f"{where}: {text!r} does not end in {positive} or {negative}.")
    return value if text[-1] == positive else -value


def _count(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InvalidInputError(f"{where}: the head of a storm ends in its number of fixes; got {text!r}.")
    return int(text)


def _from_table(path: Path) -> Iterator[_Fix]:
    def choose(header: set[str]) -> list[str]:
        missing = [name for name in _TABLE if name not in header]
        if missing:
            raise InvalidInputError(f"{path.name} has no column {missing[0].lower()}.")
        return _TABLE

    for line, (storm, time, longitude, latitude) in read_columns(path, choose):
        where = f"{path.name}, line {line}"
        lon, lat = as_degrees(longitude, 360.0, where), as_degrees(latitude, 90.0, where)
        if lon is not None and lat is not None:
            yield storm, _time(time.replace(" ", "T"), where), lon, lat
