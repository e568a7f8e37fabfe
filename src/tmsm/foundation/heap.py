"""Memory of arrays that come and go: kept for those that come next.

Dask tells the C library of its workers to give memory back at once (``MALLOC_TRIM_THRESHOLD_``).  Then every array of
a block comes in fresh pages from the system, which takes several times as long as what is done with it.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

__all__ = ["keeping_memory"]

_WISH = "MALLOC_TRIM_THRESHOLD_"
# Numbers that the C library of GNU has for what can be set, and what it takes arrays from the system by itself from.
_TRIM, _OWN_PAGES, _USUAL = -1, -3, 2**17
# Bytes that are kept.
_KEPT = 2**26
_LOCK = Lock()
_users = 0


@contextmanager
def keeping_memory() -> Iterator[None]:
    """A context in which freed memory is kept where a program was told to give it back; at the end it is."""
    global _users
    library, wish = _library(), os.environ.get(_WISH, "")
    if library is None or not wish.isdigit():
        yield
        return
    with _LOCK:
        _users += 1
        if _users == 1:
            library.mallopt(_TRIM, _KEPT)
            library.mallopt(_OWN_PAGES, _KEPT // 2)
    try:
        yield
    finally:
        with _LOCK:
            _users -= 1
            if _users == 0:
                library.mallopt(_TRIM, int(wish))
                library.mallopt(_OWN_PAGES, _USUAL)
                library.malloc_trim(0)


def _library() -> Any:
    """The C library of GNU; None of others, which are not told."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
