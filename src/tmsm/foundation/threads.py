"""One thread for BLAS where its products are short.

Waking others for them costs more than it gains; where other programs keep the cores busy, threads that wait for each
other make a pass over rows ten times as long.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

__all__ = ["single_threaded"]

# With fewer numbers BLAS stays on one thread by itself.
_FEW_NUMBERS = 8192


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
