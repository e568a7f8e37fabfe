"""Points of files that are too large to be loaded, and of folders: read block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tmsm.cli.notes import notes_on_reading
from tmsm.data.exposure_map import ExposureMap
from tmsm.data.point_rows import Places, Request
from tmsm.data.table_columns import Coordinates, numbers
from tmsm.data.table_files import TableFiles, is_table_file
from tmsm.data.table_source import TableSource
from tmsm.foundation.errors import InvalidInputError, MissingDependencyError
from tmsm.regions import Region

__all__ = ["LARGE_BYTES", "LARGE_ROWS", "LargePoints", "large_points"]

# Files with more rows, and files of text with more bytes, are read block by block.
LARGE_ROWS, LARGE_BYTES = 2_000_000, 200_000_000


@dataclass(frozen=True)
class LargePoints:
    """What was observed, as options name it, of points that are never all in memory.

    Attributes
    ----------
    points
        What estimators take, with its groups and covariates.
    border, exposure
        Where and how well they could be seen.
    outside
        What estimators are to do with points outside the border.
    """

    points: TableSource
    border: Region
    exposure: ExposureMap | None
    outside: str
    labels: Any = None
    covariates: Any = None

    def notes(self) -> list[str]:
        """What a reader of the results has to know about how the points were read."""
        source, chosen = self.points, self.points.chosen
        some = source.sample(1000).X
        longitudes = source.coordinates.frame.lonlat(some)[0] if source.wanted is None else np.full(1, np.inf)
        return notes_on_reading(
            source.title, chosen.n_without, chosen.n_bad, chosen.first_bad, source.coordinates.names,
            source.coordinates.frame, source.frame, longitudes,
        )  # fmt: skip


def large_points(path: Path, request: Request, whole: str | None) -> TableSource | None:
    """The source of a large file or of a folder; None of a file that is to be loaded.

    ``whole`` says what needs all points at once, if anything does: such as the option --also.
    """
    folder = path.is_dir() and path.suffix.lower() not in (".shp", ".gdb")
    if not folder and (not path.is_file() or not is_table_file(path) or not path.stat().st_size):
        return None  # whoever loads it says what is wrong
    if folder and whole is not None:
        raise InvalidInputError(
            f"{path} is a folder, whose files are read block by block, and {whole} needs all points at once: give one "
            "file."
        )
    if whole is not None or not (folder or _is_large(path)):
        return None
    try:
        files = TableFiles(path)
        header = list(files.schema.names)
        places = request.places(header, files.title)
        source = _source(files, header, places, request)
        _check_start(source)
    except (InvalidInputError, MissingDependencyError):
        if folder:
            raise
        return None
    return source


def _is_large(path: Path) -> bool:
    if path.suffix.lower() not in (".parquet", ".pq"):
        return path.stat().st_size > LARGE_BYTES
    try:
        return (TableFiles(path).length or 0) > LARGE_ROWS
    except (InvalidInputError, MissingDependencyError):
        return False


def _source(files: TableFiles, header: Sequence[str], places: Places, request: Request) -> TableSource:
    if places.wkt:
        raise InvalidInputError(f"{files.title} has its points as geometry: give one file, or columns of numbers.")
    if request.bad == "skip" and files.length is None:
        raise InvalidInputError(
            f"Bad rows cannot be skipped in a folder of text such as {files.title}: repair them, or convert it to "
            "Parquet."
        )
    coordinates = Coordinates((header[places.longitude], header[places.latitude]), True, places.frame)
    names = tuple(header[place] for place in places.also)
    return TableSource(
        files,
        coordinates,
        labels=None if places.groups is None else header[places.groups],
        others=names,
        titles=names,
        where=request.where,
        lenient=True,
        skip_bad=request.bad == "skip",
        wanted=None if places.frame == request.frame else request.frame,
    )


def _check_start(source: TableSource) -> None:
    """Raise where the first coordinates are no plain numbers, which may be angles in a notation of their own."""
    for batch in replace(source, where=None).origin.batches(source.coordinates.names):
        for name in source.coordinates.names:
            numbers(batch, name)
        return
