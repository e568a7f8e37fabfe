"""Where results may be written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.whole_files import is_standard_output, place_of

__all__ = ["PAGES", "PICTURES", "check_outputs"]

PICTURES = (".png", ".svg", ".pdf", ".jpg")
PAGES = (".html", ".htm")


def check_outputs(inputs: Sequence[Path], outputs: Mapping[str, Path | None]) -> None:
    """Raise, before any work, where an output is an input, two outputs are one, or an output cannot be written."""
    read = {_identity(one) for path in inputs if path.exists() for one in _all_files(path)}
    written: dict[object, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if option == "--plot" and path.suffix.lower() not in PICTURES:
            raise InvalidInputError(f"--plot {str(path)!r} must end in {', '.join(PICTURES)}.")
        identity: object = "-"
        if not is_standard_output(path):
            if path.exists() and _identity(path) in read:
                raise InvalidInputError(f"{option} {str(path)!r} would overwrite a file that is read.")
            place = place_of(path)
            identity = _identity(place) if place.exists() else place
            _check_folder(path, place)
        if identity in written:
            shared = "both go to standard output" if identity == "-" else f"are one file, {str(path)!r}"
            raise InvalidInputError(f"{written[identity]} and {option} {shared}.")
        written[identity] = option
    page = outputs.get("--report")
    if page is not None and not is_standard_output(page) and page.suffix.lower() not in PAGES:
        raise InvalidInputError(f"--report {str(page)!r} must end in {', '.join(PAGES)}.")


def _check_folder(path: Path, place: Path) -> None:
    folder = next(parent for parent in place.parents if parent.exists())
    if not folder.is_dir():
        raise InvalidInputError(f"{str(path)!r} cannot be written: {str(folder)!r} is no folder.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"{str(path)!r} cannot be written: the folder {str(folder)!r} is read-only.")


def _identity(path: Path) -> tuple[int, int]:
    """The same for one file under all its names, whatever links lead to it."""
    state = path.stat()
    return state.st_dev, state.st_ino


def _all_files(path: Path) -> list[Path]:
    """The file, and the parts that a shapefile keeps beside it."""
    if path.suffix.lower() != ".shp":
        return [path]
    return [part for part in path.parent.iterdir() if part.stem == path.stem and part.exists()]
