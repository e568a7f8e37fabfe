"""Files that users name: there, no folder, and not empty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tmsm.foundation.errors import InvalidInputError

__all__ = ["check_file"]


def check_file(path: Any, what: str, *, folders: tuple[str, ...] = ()) -> Path:
    """The path of a file that is there and not empty; ``what`` it should hold.

    A folder whose name has one of the endings ``folders`` counts as a file.
    """
    place = Path(path)
    if place.is_dir():
        if place.suffix.lower() in folders:
            return place
        raise InvalidInputError(f"{str(place)!r} is a folder; give the file that holds {what}.")
    if not place.exists():
        raise InvalidInputError(f"There is no file {str(place)!r}.")
    if place.is_file() and place.stat().st_size == 0:
        raise InvalidInputError(f"{place.name} is empty.")
    return place
