"""Files with geometry that geopandas reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tmsm.foundation.errors import InvalidInputError, MissingDependencyError
from tmsm.foundation.filters import Filter

__all__ = ["read_frame", "selected_frame"]


def read_frame(path: Path) -> Any:
    """A GeoDataFrame from any file that geopandas reads, GeoParquet included."""
    try:
        import geopandas
    except ImportError:
        raise MissingDependencyError(f"{path.name} needs geopandas: pip install 'tmsm[geo]'.") from None
    parquet = path.suffix.lower() in (".parquet", ".pq")
    try:
        return geopandas.read_parquet(path) if parquet else geopandas.read_file(path)
    except Exception as error:  # the engines raise errors of their own
        raise InvalidInputError(f"{path.name} cannot be read: {error}.") from None


def selected_frame(frame: Any, where: Filter | None, name: str) -> Any:
    """The features of a GeoDataFrame that a filter matches; all where there is none."""
    if where is None:
        return frame
    named = where.find_columns([str(column) for column in frame.columns if column != frame.geometry.name], name)
    columns = {wanted: frame[column].tolist() for wanted, column in named.items()}
    return frame[where.select(columns, len(frame), name, "features")]
