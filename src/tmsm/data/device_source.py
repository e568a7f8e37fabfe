"""Rows on a graphics card: they stay there, but for the sample and for what only arrays in memory can do."""

# mypy: disable-error-code="attr-defined,no-untyped-call"

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.data.covariates import Covariates
from tmsm.data.groups import Groups
from tmsm.data.sources import RawBlock, Source
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds import Manifold

__all__ = ["DeviceSource", "as_device_array", "in_memory", "is_on_device"]

# What DLPack calls memory of NVIDIA's cards.
_CUDA = 2
_IN_MEMORY = "Rows on a graphics card take no groups or covariates: copy them to memory."


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


def in_memory(weight: Any) -> Any:
    """Weights from a card as an array in memory; others as they are."""
    return as_device_array(weight).copy_to_host() if weight is not None and is_on_device(weight) else weight


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
    weight
        Shape (n,), in memory, or None.
    """

    X: Any
    weight: FloatArray | None = None

    @classmethod
    def of(cls, X: Any, manifold: Manifold) -> DeviceSource:
        """Of a user's array of points on a manifold."""
        array = as_device_array(X)
        if array.ndim != 2 or len(array) == 0 or np.dtype(array.dtype).kind not in "fiu":
            raise InvalidInputError(
                f"X on a graphics card must be numbers of shape (n, D), n > 0; got {array.shape} of {array.dtype}."
            )
        if array.shape[1] != manifold.embedding_dim:
            raise InvalidInputError(
                f"X has {array.shape[1]} columns; points on {manifold!r} have {manifold.embedding_dim} coordinates."
            )
        return cls(array)

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def weighted(self) -> bool:
        return self.weight is not None

    def with_groups(self, groups: Groups | None) -> Source:
        raise InvalidInputError(_IN_MEMORY)

    def with_covariates(self, covariates: Covariates | None) -> Source:
        raise InvalidInputError(_IN_MEMORY)

    def _rows(self, piece: slice) -> RawBlock:
        weight = None if self.weight is None else self.weight[piece]
        return RawBlock(piece.start or 0, self._copied(piece), weight, None)

    def _copied(self, piece: slice) -> FloatArray:
        from tmsm.data.device_rows import copied_rows

        return copied_rows(self.X, piece)

    def blocks(self, size: int) -> Iterator[RawBlock]:
        return (self._rows(slice(start, start + size)) for start in range(0, len(self), size))

    def sample(self, n: int) -> RawBlock:
        return self._rows(slice(None, None, self.stride(n)))

    def loop_blocks(self, size: int) -> Iterator[RawBlock]:
        from numba import cuda

        yield RawBlock(0, self.X, None if self.weight is None else cuda.to_device(self.weight), None)

    def in_memory(self, raw: RawBlock) -> RawBlock:
        return self._rows(slice(raw.start, raw.start + len(raw.X)))
