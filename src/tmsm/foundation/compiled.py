"""Functions compiled when first used, with what was compiled kept on disk wherever there is a place for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["LOOP", "STAGE", "compiled"]

# Options of a loop over rows.
LOOP: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Those of one that other loops call.  Sums may be added in any order, products fused; NaN and infinity stay what they
# are.  It becomes a part of each of them: copies that are compiled apart may add in another order, and which copy a
# process takes depends on what it has compiled by itself and what it has read from the disk.
STAGE: dict[str, Any] = {**LOOP, "fastmath": {"reassoc", "contract", "arcp", "nsz"}, "forceinline": True}


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate as ``numba.njit(**options)`` does; the next process reads the machine code from a cache.

    Numba raises where no folder can be written (a read-only container without a home), and where the disk or a quota
    is full by the time it saves.  Neither is a reason not to compute: the function is then compiled in each process.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if dispatcher is function:  # NUMBA_DISABLE_JIT is set
            return function
        try:
            dispatcher.enable_caching()
        except RuntimeError:  # "no locator available"
            return dispatcher
        cache = dispatcher._cache
        cache.load_overload = _or_none(cache.load_overload)
        cache.save_overload = _or_none(cache.save_overload)
        return dispatcher

    return decorate


def _or_none(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with None in place of an error: the file system's, or that of a file that was cut off."""

    def attempt(*arguments: Any) -> Any:
        try:
            return method(*arguments)
        except Exception:  # unpickling raises anything
            return None

    return attempt
