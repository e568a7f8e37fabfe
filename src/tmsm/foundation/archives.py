"""Numbers in a file: NumPy arrays (``.npz``) with words beside them, versioned, with a checksum, no code in it."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.given_files import check_file
from tmsm.foundation.json_text import parse_json
from tmsm.foundation.validation import short_repr
from tmsm.foundation.whole_files import write_whole

__all__ = ["read_archive", "write_archive"]

# Names of entries that are not numbers of ours.
_WORDS, _CHECKSUM = "words", "sha256"
# What reading a file that is none, or a part of one, may raise.
_BROKEN = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError, NotImplementedError, SyntaxError)


def write_archive(path: Path, form: str, version: int, content: Mapping[str, Any]) -> None:
    """Write a file whole, or not at all.

    Parameters
    ----------
    path
        The file; one that is there is replaced.
    form, version
        What kind of file it is.
    content
        JSON data, in which arrays of numbers may stand anywhere.
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    words = {"format": form, "version": version, "content": _taken_apart(content, "", arrays)}
    entries = {**arrays, _WORDS: np.frombuffer(json.dumps(words, allow_nan=False).encode(), dtype=np.uint8)}
    entries[_CHECKSUM] = np.frombuffer(_digest(entries), dtype=np.uint8)

    def save(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **cast("dict[str, Any]", entries))

    write_whole(path, save)


def read_archive(path: Path, form: str, version: int, what: str) -> dict[str, Any]:
    """The content of a file; one clear error where it is none of ours, of another version, or damaged.

    ``what`` it should hold, in words.
    """
    path = check_file(path, what)
    name = path.name
    try:
        with path.open("rb") as file:
            found = _entries(file)
    except OSError as error:
        raise InvalidInputError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
    except _BROKEN as error:
        if zipfile.is_zipfile(path):
            raise InvalidInputError(f"{name} is damaged, or does not hold {what}: {error}.") from None
        if path.read_bytes()[:2] == b"PK":  # as archives begin, whose end is missing
            raise InvalidInputError(f"{name} is damaged: a part of it is missing.") from None
        raise InvalidInputError(f"{name} does not hold {what}: it is no file of NumPy's.") from None
    if found is None:
        raise InvalidInputError(f"{name} does not hold {what}: it was not written by tmsm.")
    words = parse_json(found[_WORDS].tobytes().decode("utf-8", "replace"), name)
    if not isinstance(words, dict) or words.get("format") != form:
        raise InvalidInputError(f"{name} does not hold {what}: it was not written by tmsm.")
    if words.get("version") != version or type(words["version"]) is not int:
        raise InvalidInputError(
            f"{name} has version {short_repr(words.get('version'))} of the format, and this tmsm reads {version}: "
            "read it with the tmsm that wrote it, or sum the rows again."
        )
    checksum = found.pop(_CHECKSUM, np.zeros(0, dtype=np.uint8))
    if checksum.tobytes() != _digest(found):
        raise InvalidInputError(f"{name} is damaged: its checksum is not that of its numbers. Copy or write it again.")
    content = _put_together(words["content"], found)
    if not isinstance(content, dict):
        raise InvalidInputError(f"{name} is damaged: it has no content.")
    return content


def _entries(file: BinaryIO) -> dict[str, np.ndarray[Any, Any]] | None:
    """All arrays by name; None of a file of another kind."""
    archive = np.load(file, allow_pickle=False)
    if not isinstance(archive, np.lib.npyio.NpzFile) or _WORDS not in archive.files:
        return None
    return {key: archive[key] for key in archive.files}


def _digest(entries: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """The checksum of names, types, shapes and numbers."""
    found = hashlib.sha256()
    for key in sorted(entries):
        array = np.ascontiguousarray(entries[key])
        found.update(f"{key}\0{array.dtype.str}\0{array.shape}\0".encode())
        found.update(array.tobytes())
    return found.digest()


def _taken_apart(value: Any, name: str, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """JSON data with names of entries in place of arrays, which are collected."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"entry": name}
    if isinstance(value, float) and not np.isfinite(value):
        arrays[name] = np.array(value)
        return {"entry": name}
    if isinstance(value, Mapping):
        return {key: _taken_apart(one, f"{name}.{key}" if name else key, arrays) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_taken_apart(one, f"{name}.{k}", arrays) for k, one in enumerate(value)]
    return value


def _put_together(value: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Any:
    """What was taken apart."""
    if isinstance(value, dict):
        if set(value) == {"entry"}:
            array = arrays[value["entry"]]
            return array if array.ndim else array.item()
        return {key: _put_together(one, arrays) for key, one in value.items()}
    if isinstance(value, list):
        return [_put_together(one, arrays) for one in value]
    return value
