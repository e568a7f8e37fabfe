"""Threads: many for compiled loops over rows, one for BLAS where its products are short.

Waking others for short products costs more than it gains; where other programs keep the cores busy, threads that wait
for each other make a pass over rows ten times as long.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from itertools import pairwise
from typing import Any

__all__ = ["in_threads", "single_threaded"]

# With fewer numbers BLAS stays on one thread by itself.
_FEW_NUMBERS = 8192
_ROWS_PER_THREAD = 20_000
_THREADS: int | None = None  # all cores; benchmarks set it to one


def single_threaded(numbers: int) -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread, for operations on arrays of so many numbers."""
    if numbers <= _FEW_NUMBERS:
        return nullcontext()
    context: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return context


@lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def in_threads(work: Callable[[slice], None], n: int, rows_per_thread: int = _ROWS_PER_THREAD) -> None:
    """Call ``work`` on slices that cover n rows; the compiled loops do not hold the interpreter."""
    threads = min(_THREADS or os.cpu_count() or 1, n // rows_per_thread)
    if threads < 2:
        work(slice(None))
        return
    edges = [k * n // threads for k in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, [slice(a, b) for a, b in pairwise(edges)]))
