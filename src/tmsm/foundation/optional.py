"""Packages that not everybody has: loaded when they are used, with a sentence where they are missing."""

from __future__ import annotations

import sys
from typing import Any

from tmsm.foundation.errors import MissingDependencyError

__all__ = ["load_package"]


def load_package(name: str, what: str, extra: str) -> Any:
    """A module of an optional package; ``what`` needs it, and the extra of that name installs it."""
    try:
        __import__(name)  # a look into a table where it is loaded: readers of batches ask many times
        return sys.modules[name]
    except ImportError:
        package = name.partition(".")[0].replace("_", "-")
        raise MissingDependencyError(f"{what} needs {package}: pip install 'tmsm[{extra}]'.") from None
