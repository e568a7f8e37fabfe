"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tmsm.errors import InvalidInputError

__all__ = ["write_text", "write_whole"]


def write_whole(path: Path, save: Callable[[Path], object]) -> None:
    """Save under another name in the same folder and rename; a clear error where that cannot be."""
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save(temporary)
        temporary.replace(path)
    except OSError as error:
        raise InvalidInputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from None
    finally:
        if temporary.exists():
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
