"""Rows of an array on a graphics card, copied to memory."""

# mypy: disable-error-code="attr-defined,no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from tmsm.foundation.arrays import FloatArray

__all__ = ["copied_rows"]

_THREADS = 128


def copied_rows(X: Any, piece: slice) -> FloatArray:
    """Some rows of X (n, D), in memory; of rows that are far apart nothing between them is copied."""
    start, stop, step = piece.indices(X.shape[0])
    n = len(range(start, stop, step))
    rows = cuda.device_array((n, X.shape[1]))
    _gather[-(-n // _THREADS), _THREADS](X, start, step, rows)
    return np.asarray(rows.copy_to_host(), dtype=np.float64)


@cuda.jit
def _gather(X, start, step, rows):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < rows.shape[0]:
        for j in range(rows.shape[1]):
            rows[i, j] = X[start + i * step, j]
