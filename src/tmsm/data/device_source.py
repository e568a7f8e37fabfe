"""Rows on a graphics card: they stay there, but for the sample and for what only arrays in memory can do."""

# mypy: disable-error-code="attr-defined,no-untyped-call"

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.data.covariates import Covariates
from tmsm.data.groups import Groups
from tmsm.data.sources import ArraySource, RawBlock, Source, WeightSums
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_sample_weight
from tmsm.manifolds import Manifold

__all__ = ["DeviceSource", "as_device_array", "in_memory", "is_on_device"]

# What DLPack calls memory of NVIDIA's cards.
_CUDA = 2


def is_on_device(X: Any) -> bool:
    """Whether an array lies on a graphics card: of CuPy, PyTorch, JAX, Numba, or what else says so."""
    if isinstance(X, np.ndarray):  # which speaks DLPack, too
        return False
    X = _detached(X)
    if hasattr(X, "__cuda_array_interface__") or hasattr(type(X), "copy_to_host"):
        return True
    where = getattr(X, "__dlpack_device__", None)
    return where is not None and int(where()[0]) == _CUDA


def as_device_array(X: Any) -> Any:
    """The same memory as an array that loops on the card take, shape (n,) or (n, D)."""
    if hasattr(type(X), "copy_to_host"):
        return X
    from numba import cuda

    X = _detached(X)

    if not hasattr(X, "__cuda_array_interface__"):
        try:
            import cupy
        except ImportError:
            raise InvalidInputError(
                f"X is an array of {type(X).__module__.split('.')[0]} on a graphics card, which only DLPack hands on: "
                "install CuPy, or give X as an array of CuPy or PyTorch."
            ) from None
        X = cupy.from_dlpack(X)
    return cuda.as_cuda_array(X)


def in_memory(column: Any) -> Any:
    """Weights, labels or covariates from a card as an array in memory; others as they are."""
    return as_device_array(column).copy_to_host() if column is not None and is_on_device(column) else column


def _detached(X: Any) -> Any:
    """A tensor without its gradient: PyTorch refuses to hand on what it differentiates."""
    return X.detach() if hasattr(X, "requires_grad") and hasattr(X, "detach") else X


@final
@dataclass(frozen=True, eq=False)
class DeviceSource(Source):
    """An array on a graphics card, that is never copied whole.

    Attributes
    ----------
    X
        Shape (n, D), of a numeric type, as Numba sees it.
    beside
        What else is known of the rows, in memory: a table of as many rows, whose points say nothing.
    """

    X: Any
    beside: ArraySource

    @classmethod
    def of(cls, X: Any, manifold: Manifold, sample_weight: Any = None) -> DeviceSource:
        """Of a user's array of points on a manifold, with weights in memory or on the card."""
        array = as_device_array(X)
        if array.ndim != 2 or len(array) == 0 or np.dtype(array.dtype).kind not in "fiu":
            raise InvalidInputError(
                f"X on a graphics card must be numbers of shape (n, D), n > 0; got {array.shape} of {array.dtype}."
            )
        if array.shape[1] != manifold.embedding_dim:
            raise InvalidInputError(
                f"X has {array.shape[1]} columns; points on {manifold!r} have {manifold.embedding_dim} coordinates."
            )
        weight = check_sample_weight(in_memory(sample_weight), len(array))
        return cls(array, ArraySource(np.broadcast_to(0.0, array.shape), weight))

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def weighted(self) -> bool:
        return self.beside.weighted

    @property
    def groups(self) -> Groups | None:
        return self.beside.groups

    def with_groups(self, groups: Groups | None) -> Source:
        return DeviceSource(self.X, replace(self.beside, labels=groups))

    def grouped(self, labels: Any) -> Source:
        return self.with_groups(Groups.of(in_memory(labels), len(self)))

    @property
    def covariates(self) -> Covariates | None:
        return self.beside.covariates

    def with_covariates(self, covariates: Covariates | None) -> Source:
        return DeviceSource(self.X, replace(self.beside, columns=covariates))

    def described(self, covariates: Any) -> Source:
        return self.with_covariates(Covariates.of(in_memory(covariates), len(self)))

    def _rows(self, beside: RawBlock, piece: slice) -> RawBlock:
        """Rows with their points, copied to memory."""
        from tmsm.data.device_rows import copied_rows

        return replace(beside, X=copied_rows(self.X, piece))

    def blocks(self, size: int) -> Iterator[RawBlock]:
        return self._from(0, len(self), size)

    def _from(self, start: int, stop: int, size: int) -> Iterator[RawBlock]:
        for at in range(start, stop, size):
            piece = slice(at, min(at + size, stop))
            yield self._rows(self.beside.piece(piece), piece)

    def sample(self, n: int) -> RawBlock:
        return self._rows(self.beside.sample(n), slice(None, None, self.stride(n)))

    def loop_blocks(self, size: int) -> Iterator[RawBlock]:
        yield RawBlock(0, self.X, self._weight_there, None)

    @cached_property
    def _weight_there(self) -> Any:
        """The weights on the card, where they stay for the next pass."""
        from numba import cuda

        return None if self.beside.weight is None else cuda.to_device(self.beside.weight)

    def in_memory(self, raw: RawBlock) -> RawBlock:
        return next(self.in_memory_by(len(raw.X), raw))

    def in_memory_by(self, size: int, raw: RawBlock) -> Iterator[RawBlock]:
        return self._from(raw.start, raw.start + len(raw.X), size)

    @property
    def _weight_sums(self) -> WeightSums:
        return self.beside._weight_sums  # without a look at the points

    def _weights_by_group(self, count: int) -> FloatArray:
        return self.beside._weights_by_group(count)
