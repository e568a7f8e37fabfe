"""Dask arrays as sources: points (n, D), with weights, labels of groups and covariates in arrays beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.data.arrow_tables import Batch, arrow
from tmsm.data.covariates import Covariates
from tmsm.data.dask_source import DaskSource, PartReader, label_numbers
from tmsm.data.device_source import in_memory
from tmsm.data.sources import RawBlock, Source
from tmsm.data.table_columns import Labels
from tmsm.foundation.clusters import dask
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_sample_weight, refuse_masked
from tmsm.manifolds import Manifold

__all__ = ["ArrayParts", "ArrayReader"]

_TITLE = "The Dask array"
_LABELS = "groups"


@final
@dataclass(frozen=True, eq=False)
class ArrayReader(PartReader):
    """Makes rows of a chunk of points (m, D) and of what lies beside it: weights, labels, covariates, or None.

    Attributes
    ----------
    width
        Number D of coordinates.
    labels
        The labels of all rows, numbered; None where rows stand alone.
    """

    width: int
    labels: Labels | None = None

    title = _TITLE

    @property
    def n_columns(self) -> int:
        return self.width

    def length(self, part: Any) -> int:
        return len(part[0])

    def rows(self, k: int, part: Any) -> RawBlock:
        X, weight, labels, covariates = part
        where = f"{self.title}, partition {k:,}"
        for what, values in (("X", X), ("sample_weight", weight), ("covariates", covariates)):
            with _whose(where):
                refuse_masked(values, what)
        X = np.asarray(in_memory(X))
        for what, beside in (("sample_weight", weight), ("groups", labels), ("covariates", covariates)):
            if beside is not None and len(beside) != len(X):
                raise InvalidInputError(
                    f"{where} has {len(X):,} rows of X and {len(beside):,} of {what}: their chunks must be alike. Say "
                    "how long chunks are with compute_chunk_sizes()."
                )
        if weight is not None and len(X):
            with _whose(where):
                weight = check_sample_weight(np.asarray(weight), len(X))
        codes = None if self.labels is None else self.labels.codes(label_batch(k, labels))
        if covariates is not None:
            covariates = np.asarray(covariates, dtype=np.float64).reshape(len(X), -1)
            bad = ~np.isfinite(covariates).all(axis=1)
            if bad.any():
                raise InvalidInputError(
                    f"{where}: covariates has {int(bad.sum()):,} of {len(X):,} rows with missing or infinite values "
                    f"(first: row {int(np.argmax(bad))}). Drop these rows, from X too, or fill in the values."
                )
        return RawBlock(0, X, weight, codes, covariates)


@contextmanager
def _whose(where: str) -> Iterator[None]:
    """What is wrong with something, with the place where it is."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None


def label_batch(k: int, labels: Any) -> Batch:
    """The labels of a chunk as a column of a batch."""
    pa = arrow()
    mask = np.ma.getmaskarray(labels) if np.ma.isMaskedArray(labels) else None
    column = pa.array(np.asarray(labels), from_pandas=True, mask=mask)
    return Batch(pa.RecordBatch.from_arrays([column], names=[_LABELS]), f"{_TITLE}, partition {k:,}", 0)


@final
@dataclass(frozen=True, eq=False)
class ArrayParts(DaskSource):
    """Points in a Dask array (n, D), whose chunks of rows are parts.

    Attributes
    ----------
    X
        The array, all columns in one chunk.
    weight, labels, columns
        Dask arrays beside it with the same chunks of rows: weights (n,), labels (n,), covariates (n, q); or None.
    names
        Of the covariates.
    """

    X: Any
    weight: Any = None
    labels: Any = None
    columns: Any = None
    names: tuple[str, ...] = ()

    title = _TITLE

    @classmethod
    def of(cls, X: Any, manifold: Manifold | None) -> ArrayParts:
        """Of a user's array of points."""
        if X.ndim != 2 or X.dtype.kind not in "fiu":
            raise InvalidInputError(f"X must be numbers of shape (n, D); got a Dask array {X.shape} of {X.dtype}.")
        if manifold is not None and X.shape[1] != manifold.embedding_dim:
            raise InvalidInputError(
                f"X has {X.shape[1]} columns; points on {manifold!r} have {manifold.embedding_dim} coordinates."
            )
        return cls(X if X.numblocks[1] == 1 else X.rechunk({1: -1}))

    @property
    def lengths_before(self) -> tuple[int, ...] | None:
        rows: tuple[int, ...] = self.X.chunks[0]
        return None if any(math.isnan(n) for n in rows) else rows

    @property
    def weighted(self) -> bool:
        return self.weight is not None

    @cached_property
    def parts(self) -> Sequence[Any]:
        count = self.X.numblocks[0]
        beside = (self.weight, self.labels, self.columns)
        columns = [[None] * count if one is None else one.to_delayed().ravel().tolist() for one in beside]
        return list(map(list, zip(self.X.to_delayed().ravel().tolist(), *columns, strict=True)))

    @cached_property
    def reader(self) -> ArrayReader:
        return ArrayReader(self.X.shape[1], self.numbered)

    @cached_property
    def numbered(self) -> Labels | None:
        return None if self.labels is None else label_numbers(_labels, self.labels.to_delayed().ravel().tolist())

    @property
    def covariate_names(self) -> tuple[str, ...]:
        return self.names

    def grouped(self, labels: Any) -> Source:
        return replace(self, labels=self._beside(labels, "groups"))

    def described(self, covariates: Any) -> Source:
        names = tuple(str(name) for name in getattr(covariates, "columns", ()))
        if not hasattr(covariates, "__dask_graph__"):
            table = Covariates.of(covariates, len(self))
            covariates, names = table.values, table.names
        found = self._beside(covariates, "covariates")
        found = found[:, None] if found.ndim == 1 else found
        names = names or tuple(f"z{k + 1}" for k in range(found.shape[1]))
        return replace(self, columns=found if found.numblocks[1] == 1 else found.rechunk({1: -1}), names=names)

    def weighted_by(self, weight: Any) -> Source:
        return replace(self, weight=self._beside(weight, "sample_weight"))

    def _beside(self, values: Any, what: str) -> Any:
        """An array with one entry for each row, in the same chunks of rows."""
        if isinstance(values, str):
            raise InvalidTypeError(
                f"{self.title} has no columns with names: give {what} as an array, or all of it as a Dask frame."
            )
        if hasattr(values, "to_dask_array"):  # a frame, or a column of one
            values = (values.astype(object) if what == "groups" else values).to_dask_array()
        if not hasattr(values, "__dask_graph__"):
            values = dask("dask.array").from_array(np.asanyarray(values), chunks=-1)
        if any(math.isnan(n) for n in values.chunks[0]):
            if self.lengths_before is None and values.numblocks[0] == self.X.numblocks[0]:
                return values  # each part is checked when it is read
            values = values.compute_chunk_sizes()
        rows = self.lengths
        if values.shape[0] != sum(rows):
            raise InvalidInputError(
                f"{what} must have one entry for each of the {sum(rows):,} rows of X; got shape {values.shape}."
            )
        return values.rechunk({0: rows})


def _labels(k: int, first: int, part: Any) -> Labels:
    found = Labels(_LABELS)
    found.see(label_batch(k, part))
    return found
