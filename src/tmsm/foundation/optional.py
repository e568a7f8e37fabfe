"""Packages that not everybody has: loaded when they are used, with a sentence where they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tmsm.foundation.errors import MissingDependencyError

__all__ = ["load_package"]


def load_package(name: str, what: str, extra: str) -> Any:
    """A module of an optional package; ``what`` needs it, and the extra of that name installs it."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0].replace("_", "-")
        raise MissingDependencyError(f"{what} needs {package}: pip install 'tmsm[{extra}]'.") from None
