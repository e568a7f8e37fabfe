"""Where results may be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tmsm.errors import InvalidInputError

__all__ = ["PICTURES", "check_outputs"]

PICTURES = (".png", ".svg", ".pdf", ".jpg")


def check_outputs(inputs: Sequence[Path], outputs: Mapping[str, Path | None]) -> None:
    """Raise, before any work, where an output is an input, two outputs are one, or a picture has no known ending."""
    read = {path.resolve() for path in inputs if path.exists()}
    written: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        place = path.resolve()
        if place in read:
            raise InvalidInputError(f"{option} {str(path)!r} would overwrite a file that is read.")
        if place in written:
            raise InvalidInputError(f"{written[place]} and {option} are one file, {str(path)!r}.")
        written[place] = option
        if option == "--plot" and path.suffix.lower() not in PICTURES:
            raise InvalidInputError(f"--plot {str(path)!r} must end in {', '.join(PICTURES)}.")
        folder = next(parent for parent in place.parents if parent.exists())
        if not folder.is_dir():
            raise InvalidInputError(f"{str(path)!r} cannot be written: {str(folder)!r} is no folder.")
