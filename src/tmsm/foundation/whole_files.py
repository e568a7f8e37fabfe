"""Results on their way out: files that are there whole or not at all, and standard output."""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from tmsm.foundation.errors import InvalidInputError, InvalidTypeError

__all__ = ["as_path", "is_standard_output", "place_of", "send", "visible", "write_text", "write_whole"]

# Controls (but not tabs and ends of lines), and marks that turn the direction of writing.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def as_path(path: str | os.PathLike[str]) -> Path:
    """The name of a file that a user gave."""
    try:
        return Path(path)
    except TypeError:
        raise InvalidTypeError(f"path must be the name of a file; got {type(path).__name__}.") from None


def is_standard_output(path: Path) -> bool:
    """Whether a name stands for standard output: ``-`` or /dev/stdout."""
    return str(path) in _STANDARD_OUTPUT


def place_of(path: Path) -> Path:
    """The plain file, there or to come, that a name stands for once links are followed; an error where it is none."""
    place = Path(os.path.realpath(path))
    try:
        state = place.stat()
    except FileNotFoundError:
        return place
    except OSError as error:
        raise _cannot(path, error) from None
    if stat.S_ISDIR(state.st_mode):
        raise InvalidInputError(f"{str(path)!r} cannot be written: it is a folder. Give the name of a file.")
    if not stat.S_ISREG(state.st_mode):
        raise InvalidInputError(
            f"{str(path)!r} cannot be written: it is a pipe or a device, not a plain file. Standard output is -."
        )
    if not os.access(place, os.W_OK):
        raise InvalidInputError(f"{str(path)!r} cannot be written: the file is protected against writing.")
    return place


def write_whole(path: Path, save: Callable[[Path], object]) -> None:
    """Save under another name in the same folder and rename; a clear error where that cannot be.

    A link stays a link: the file behind it is written.  A file that was there keeps its mode.
    """
    place = place_of(path)
    temporary = place.with_name(f".tmsm-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # Never through something that another put there under this name.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        save(temporary)
        with suppress(FileNotFoundError):
            _take_mode(temporary, place.stat())
        temporary.replace(place)
    except OSError as error:
        raise _cannot(path, error) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole, or standard output."""
    if is_standard_output(path):
        # To a program or a file as it is: a page holds scripts with controls in them.
        send(sys.stdout, text, exact=sys.stdout is not None and not sys.stdout.isatty())
        return
    # Bytes of a file name that are no text (lone surrogates) become \udcff, which JSON reads.
    data = text.encode("utf-8", "backslashreplace")
    write_whole(path, lambda temporary: temporary.write_bytes(data))


def visible(text: str) -> str:
    r"""The text with ``\x1b`` and the like in place of control characters: names and cells of files may hold any."""
    return _CONTROLS.sub(lambda found: ascii(found.group())[1:-1], text)


def send(stream: TextIO | None, text: str, *, exact: bool = False) -> None:
    """Write text to a standard stream at once, `visible` unless ``exact``.

    A closed stream takes nothing.  A reader who leaves early (``| head``) has seen enough: what follows goes nowhere.
    """
    if stream is None:
        return
    try:
        stream.write(text if exact else visible(text))
        stream.flush()
    except OSError as error:
        _discard(stream)
        if not isinstance(error, BrokenPipeError):
            raise InvalidInputError(f"Standard output cannot be written: {error.strerror or error}.") from None


def _discard(stream: TextIO) -> None:
    """Lead what the stream still holds, and all that follows, nowhere: else the interpreter complains at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _take_mode(path: Path, state: os.stat_result) -> None:
    if hasattr(os, "chown"):
        with suppress(OSError):  # for the superuser only
            os.chown(path, state.st_uid, state.st_gid)
    path.chmod(stat.S_IMODE(state.st_mode))


def _cannot(path: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(f"{str(path)!r} cannot be written: {error.strerror or error}.")
