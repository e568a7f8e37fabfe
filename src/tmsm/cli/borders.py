"""How a border is written on the command line: operands with & | - between them, each with a filter of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tmsm.foundation.errors import InvalidInputError

__all__ = ["Operand", "border_files", "parse_border"]

_SIGNS = re.compile(r"\s+([&|-])\s+")


@dataclass(frozen=True)
class Operand:
    """A part of a border: the sign before it, "" for the first, what it is, and the filter in its brackets."""

    sign: str
    text: str
    where: str | None = None

    @property
    def is_file(self) -> bool:
        """Whether there is a file of this name."""
        return _exists(self.text)


def parse_border(text: str, where: str | None = None) -> list[Operand]:
    """The parts of a border, from left to right; ``where`` is the filter that --where gives to the only file in it."""
    if _exists(text):
        return [Operand("", text, where)]
    parts = list(_split(text))
    pieces, signs = _with_signs_in_names(parts[::2], parts[1::2])
    operands = [_operand(sign, piece, text) for sign, piece in zip(["", *signs], pieces, strict=True)]
    if where is None:
        return operands
    files = [k for k, operand in enumerate(operands) if operand.is_file]
    if len(files) > 1:
        names = ", ".join(repr(operands[k].text) for k in files)
        raise InvalidInputError(
            f"--where is for one file, and the border has {len(files)}: {names}. "
            "Give each its own filter in brackets: FILE[FILTER]."
        )
    if len(files) == 1:
        own = operands[files[0]]
        if own.where is not None:
            raise InvalidInputError(
                f"{own.text!r} has a filter in its brackets, and --where is another: write one, with and."
            )
        operands[files[0]] = replace(own, where=where)
    elif len(operands) == 1:
        operands = [replace(operands[0], where=where)]  # whoever reads it says that it takes none
    else:
        raise InvalidInputError(f"--where is for a file with polygons, and the border {text!r} has none.")
    return operands


def border_files(text: str) -> list[Path]:
    """The files that a border is read from."""
    return [Path(operand.text) for operand in parse_border(text) if operand.is_file]


def _operand(sign: str, piece: str, text: str) -> Operand:
    if not piece:
        raise InvalidInputError(f"The border {text!r} has a sign with nothing beside it. Write A & B, A | B or A - B.")
    if _exists(piece) or "[" not in piece:
        return Operand(sign, piece)
    places = [match.start() for match in re.finditer(r"\[", piece)]
    place = next((place for place in places if _exists(piece[:place])), places[0])
    if not piece.endswith("]"):
        if _exists(piece[:place]):
            raise InvalidInputError(f"The filter of {piece!r} must end with a bracket: FILE[FILTER].")
        return Operand(sign, piece)
    return Operand(sign, piece[:place].rstrip(), piece[place + 1 : -1])


def _split(text: str) -> Iterator[str]:
    """Operands and the signs between them in turn; a sign in brackets is a part of a filter."""
    inside = list(_in_brackets(text))
    start = 0
    for match in _SIGNS.finditer(text):
        if not inside[match.start(1)]:
            yield text[start : match.start()].strip()
            yield match.group(1)
            start = match.end()
    yield text[start:].strip()


def _in_brackets(text: str) -> Iterator[bool]:
    """For each character whether it stands in brackets that are closed; a bracket in quotes is none."""
    depth, quote = 0, ""
    marks = []
    for character in text:
        if depth and quote:
            quote = "" if character == quote else quote
        elif depth and character in "'\"":
            quote = character
        elif character == "[":
            depth += 1
        elif character == "]" and depth:
            depth -= 1
        marks.append(depth > 0)
    return iter(marks if depth == 0 else [False] * len(text))


def _with_signs_in_names(pieces: Sequence[str], signs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Put together again what is the name of a file: "north - south.json"."""
    whole: list[str] = []
    between: list[str] = []
    k = 0
    while k < len(pieces):
        joined = [pieces[k]]  # with none, one, two … of the pieces that follow
        for sign, piece in zip(signs[k:], pieces[k + 1 :], strict=True):
            joined.append(f"{joined[-1]} {sign} {piece}")
        more = next((m for m in range(len(joined) - 1, 0, -1) if _names_file(joined[m], pieces[k + m])), 0)
        whole.append(joined[more])
        k += more + 1
        between += signs[k - 1 : k]
    return whole, between


def _names_file(joined: str, last: str) -> bool:
    """Whether it is the name of a file, or one with a filter that begins in its last piece."""
    start = len(joined) - len(last)
    places = [start + match.start() for match in re.finditer(r"\[", last)]
    return _exists(joined) or any(_exists(joined[:place]) for place in places)


def _exists(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return False
