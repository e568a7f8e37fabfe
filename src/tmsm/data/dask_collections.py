"""What of Dask holds rows: arrays and frames."""

from __future__ import annotations

from typing import Any

from tmsm.data.dask_arrays import ArrayParts
from tmsm.data.dask_frames import FrameHeader, FrameSource
from tmsm.data.sources import Source
from tmsm.data.table_columns import Coordinates
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError, UnknownColumnsError
from tmsm.foundation.filters import named_list
from tmsm.manifolds import Manifold

__all__ = ["dask_source", "is_dask"]


def is_dask(X: Any) -> bool:
    """Whether rows are a collection of Dask, or hold one, as arrays of xarray do."""
    return _collection(X) is not None


def _collection(X: Any) -> Any:
    if type(X).__module__.partition(".")[0] == "dask":
        return X
    for one in (X, None if hasattr(type(X), "columns") else getattr(X, "data", None)):
        if hasattr(one, "__dask_graph__") and hasattr(one, "to_delayed"):
            return one
    return None


def dask_source(
    X: Any, manifold: Manifold | None, sample_weight: Any = None, *, on_sphere: bool | None = None
) -> Source:
    """The source of a Dask array (n, D) of points, or of a frame with columns that hold them.

    ``manifold`` is None where any will do; ``on_sphere`` says then whether S² is one of them.
    """
    found = _collection(X)
    source: ArrayParts | FrameSource
    kind = type(found)  # a delayed value has every attribute
    if hasattr(kind, "chunks") and hasattr(kind, "ndim"):
        source = ArrayParts.of(found, manifold)
    elif hasattr(kind, "columns") and hasattr(kind, "npartitions"):
        header = FrameHeader(found)
        try:
            source = FrameSource(found, Coordinates.find(header, manifold, on_sphere=on_sphere))
        except UnknownColumnsError:
            if twice := header.twice:
                raise InvalidInputError(
                    f"The Dask frame has several columns {named_list(twice)}: rename or drop all but one of each."
                ) from None
            raise
    else:
        raise InvalidTypeError(
            f"X is a Dask {kind.__name__}, which holds no points: give an array (n, D), or a frame with columns "
            "that have names (of a bag bag.to_dataframe(), of a delayed value dask.array.from_delayed)."
        )
    return source if sample_weight is None else source.weighted_by(sample_weight)
