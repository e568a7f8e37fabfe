"""Tables in files as agencies publish them: plain or gzip-compressed text with commas."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import parse_number

__all__ = ["as_degrees", "find_files", "open_text", "read_columns"]

_SUFFIXES = (".csv", ".csv.gz", ".txt", ".txt.gz")


def find_files(source: Any, pattern: str, what: str, without: str | None = None) -> list[Path]:
    """The files that are meant: a file, several, or those in a folder whose name holds ``pattern`` (any case).

    Of a folder, names that hold ``without`` are left out.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.exists():
            raise InvalidInputError(f"There is no file or folder {str(path)!r}.")
        if not path.is_dir():
            return [path]
        names = {file: file.name.lower().replace("_", "").replace("-", "") for file in sorted(path.iterdir())}
        found = [
            file
            for file, name in names.items()
            if name.endswith(_SUFFIXES) and pattern in name and (without is None or without not in name)
        ]
        if not found:
            raise InvalidInputError(f"The folder {str(path)!r} holds no {what}.")
        return found
    if not isinstance(source, Iterable):
        raise InvalidTypeError(f"Give a file, a folder or several files; got {type(source).__name__}.")
    return [file for one in source for file in find_files(one, pattern, what, without)]


def open_text(path: Path) -> TextIO:
    """The file as text, unpacked where its name ends in .gz."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="replace", newline="")
    return path.open(encoding="utf-8-sig", errors="replace", newline="")


def read_columns(path: Path, choose: Callable[[set[str]], list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Line number and the values of the columns that ``choose`` names from those in the first line.

    A column without a name is empty throughout.
    """
    try:
        with open_text(path) as file:
            reader = csv.reader(file)
            header = [name.strip().upper() for name in next(reader, [])]
            if not header:
                raise InvalidInputError(f"{path.name} is empty.")
            places = [header.index(name) if name else None for name in choose(set(header))]
            for row in reader:
                if row:
                    if len(row) < len(header):
                        raise InvalidInputError(
                            f"{path.name}, line {reader.line_num} has {len(row)} of {len(header)} columns: "
                            "the file may be cut off. Download it again."
                        )
                    yield reader.line_num, [row[k] if k is not None else "" for k in places]
    except (OSError, EOFError, csv.Error, zlib.error) as error:
        raise InvalidInputError(f"{path.name} cannot be read: {error}.") from None


def as_degrees(text: str, limit: float, where: str) -> float | None:
    """A coordinate in degrees within ±limit, or None where the cell is empty."""
    if not text.strip():
        return None
    try:
        value = parse_number(text)
    except ValueError:
        raise InvalidInputError(f"{where}: {text!r} is no coordinate.") from None
    if not abs(value) <= limit:
        raise InvalidInputError(f"{where}: {text!r} is beyond ±{limit:g} degrees.")
    return value
