"""What estimators take for rows beside arrays: files, tables and programs that are read block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from tmsm.data.arrow_tables import ColumnTable, MemoryTable, arrow, arrow_table
from tmsm.data.block_factories import FactorySource, OnceSource, as_table
from tmsm.data.dask_collections import dask_source, is_dask
from tmsm.data.named_tables import FramedPoints
from tmsm.data.sources import Source
from tmsm.data.table_columns import Coordinates, numbers
from tmsm.data.table_files import TableFiles
from tmsm.data.table_source import TableSource
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError, MissingDependencyError
from tmsm.manifolds import Manifold

__all__ = ["as_table", "opened"]

# Frames in memory with fewer rows are turned into points as a whole.
_FEW_ROWS = 2**20


def opened(
    X: Any, manifold: Manifold | None, sample_weight: Any = None, *, on_sphere: bool | None = None
) -> Source | None:
    """The source that a user's rows are to be read from in blocks, with its weights; None of what is taken as it is.

    ``manifold`` is None where any will do; ``on_sphere`` says then whether S² is one of them.  Weights are the name of
    a column.
    """
    if isinstance(X, Source) or X is None or isinstance(X, np.ndarray | list | tuple | FramedPoints):
        return X if isinstance(X, Source) else None
    if isinstance(X, str | os.PathLike):
        return _weighted(_table_source(TableFiles(X), manifold, on_sphere, sample_weight), sample_weight)
    if is_dask(X):
        return dask_source(X, manifold, sample_weight, on_sphere=on_sphere)
    table = _arrow_table(X)
    if table is not None:
        few = isinstance(table, MemoryTable) and table.length < _FEW_ROWS
        if few and not (isinstance(sample_weight, str) or _is_plain(table, manifold, on_sphere)):
            return None
        return _weighted(_table_source(table, manifold, on_sphere, sample_weight), sample_weight)
    if not (isinstance(X, Iterator) or (callable(X) and not hasattr(X, "__array__"))):
        return None
    if sample_weight is not None:
        raise InvalidInputError(
            "sample_weight is for arrays, and for files and tables of which it is a column: blocks of a function have "
            "points alone."
        )
    if manifold is None:
        raise InvalidInputError(
            "Blocks of a function have to say where their points lie: bind the model to its manifold with on(manifold)."
        )
    return OnceSource(X, manifold) if isinstance(X, Iterator) else FactorySource(X, manifold)


def _table_source(
    table: ColumnTable, manifold: Manifold | None, on_sphere: bool | None, sample_weight: Any
) -> TableSource:
    """All rows of a table, the points in columns that its names show."""
    names = table.schema.names
    others = [one for one in names if isinstance(sample_weight, str) and one.lower() == sample_weight.strip().lower()]
    return TableSource(table, Coordinates.find(table, manifold, others=others, on_sphere=on_sphere))


def _weighted(source: TableSource, sample_weight: Any) -> Source:
    return source if sample_weight is None else source.weighted_by(sample_weight)


def _arrow_table(X: Any) -> ColumnTable | None:
    """The table of what is one; None of frames of pandas and what is made of them, which are no Arrow memory."""
    home = type(X).__module__.partition(".")[0]
    if home in ("pandas", "geopandas"):
        return None
    if home == "polars" and hasattr(X, "__arrow_c_stream__") and hasattr(X, "columns"):
        try:
            return MemoryTable(arrow().table(X))
        except MissingDependencyError:  # it can be read without, as a whole
            return None
    return arrow_table(X)


def _is_plain(table: ColumnTable, manifold: Manifold | None, on_sphere: bool | None) -> bool:
    """Whether all points are numbers as they should be, with nothing that would have to be read, or told, otherwise."""
    pa = arrow()
    try:
        found = Coordinates.find(table, manifold, on_sphere=on_sphere)
        kinds = [table.schema.field(name).type for name in found.names]
        if not all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
            return False
        for batch in table.batches(found.names):
            columns = [numbers(batch, name) for name in found.names]
            if found.complaint(columns) is not None:
                return False
            if not (found.degrees or manifold is None or manifold.contains(found.points(columns)).all()):
                return False
    except (InvalidInputError, InvalidTypeError):
        return False
    return True
