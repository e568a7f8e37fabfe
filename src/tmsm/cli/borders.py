"""How a border is written on the command line: operands with & | - between them, each with a filter of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tmsm.cli.streams import say
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.given_files import check_file
from tmsm.foundation.validation import check_option, parse_number
from tmsm.manifolds import Sphere
from tmsm.manifolds.coordinates import lonlat_to_xyz
from tmsm.manifolds.frames import EARTH, FRAMES, PLAIN, Frame
from tmsm.regions import Cap, Everywhere, HealpixMask, LonLatBox, Region, SphericalPolygon
from tmsm.regions.healpix_files import kind_of_file

__all__ = ["Operand", "border_files", "check_agreement", "frame_of", "parse_border", "read_region"]

_SHAPES = {"cap": ("longitude", "latitude", "radius"), "box": ("west", "south", "east", "north")}

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


def frame_of(sky: str | None) -> Frame:
    """The frame of the points: the Earth, unless --sky says which one of the sky."""
    if sky is None:
        return EARTH
    return FRAMES[check_option(sky, [name for name, frame in FRAMES.items() if frame.is_sky], "--sky")]


def read_region(text: str, where: str | None = None, frame: Frame | None = EARTH) -> Region:
    """A border: one operand, or several with & (both), | (either) and - (without) between them, from left to right.

    It is in the ``frame`` of the points, where there are any: a file that says that it is in another one is refused.
    """
    operands = parse_border(text, where)
    region = _read_operand(operands[0].text, operands[0].where, frame)
    for operand in operands[1:]:
        other = _read_operand(operand.text, operand.where, frame)
        if operand.sign == "|":
            region = region | other
            continue
        if operand.sign == "-" and region == other:
            raise InvalidInputError(f"The border {text!r} leaves nothing: before and after '-' is the same.")
        region = region & (other if operand.sign == "&" else ~other)
        if _is_surely_empty(region):
            raise InvalidInputError(f"The border {text!r} leaves nothing: its parts lie apart.")
    return region


def _is_surely_empty(region: Region) -> bool:
    """Whether every point of a lattice is farther from the region than the lattice is wide."""
    n = 20_000
    turn = np.remainder(np.arange(n) * (3.0 - np.sqrt(5.0)) * 180.0, 360.0)  # by the golden angle
    height = 1.0 - (2.0 * np.arange(n) + 1.0) / n
    lattice = lonlat_to_xyz(turn, np.degrees(np.arcsin(height)))
    return bool((region.signed_distance(lattice)[0] < -1.2 * np.sqrt(4.0 * np.pi / n)).all())


def _read_operand(text: str, where: str | None, frame: Frame | None) -> Region:
    """A file, "usa", "cap:LON,LAT,DEGREES", "box:WEST,SOUTH,EAST,NORTH[,rounded=STEP]" or "everywhere"."""
    if where is not None and not Path(text).exists() and (text in ("everywhere", "usa") or _is_shape(text)):
        raise InvalidInputError(f"{text} has no properties to filter by: a filter is for a file with polygons.")
    if text == "everywhere":
        return Everywhere(Sphere(2))
    if text == "usa" or (text.lower() == "usa" and not Path(text).exists()):
        from tmsm.datasets import load_border

        if frame is not None and frame.is_sky:
            raise InvalidInputError(f"usa is a border on the Earth, and --sky {frame.name} is for points on the sky.")
        return load_border("usa")
    if _is_shape(text) and not Path(text).exists():
        kind, _, rest = text.partition(":")
        return _shape(kind, rest)
    path = Path(text)
    if not path.exists():
        hint = " Write & | - between borders with blanks round them." if any(sign in text for sign in "&|") else ""
        raise InvalidInputError(
            f"There is no file {text!r}. Give a border as GeoJSON, any file that geopandas reads, a HEALPix mask or "
            f"MOC, or usa, cap:LON,LAT,DEGREES, box:WEST,SOUTH,EAST,NORTH, everywhere.{hint}"
        )
    check_file(path, "the border", folders=(".gdb",))
    if _is_mask(path):
        if where is not None:
            raise InvalidInputError(f"{path.name} is a mask of the sky, which has no properties to filter by.")
        mask = HealpixMask.from_file(path)
        check_agreement(path, mask.frame, frame)
        return mask
    return SphericalPolygon.from_file(path, where)


def _is_mask(path: Path) -> bool:
    """Whether a file is a sky mask, not polygons."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".json", ".txt")):
        return kind_of_file(path).startswith("moc-")
    return name.endswith((".fits", ".fit", ".fts", ".moc"))


def check_agreement(path: Path, name: str | None, frame: Frame | None) -> None:
    """Raise where a map is in another frame than the points."""
    if name is None or frame is None or frame.name in (name, PLAIN.name):
        if name is None and frame is not None:
            say(f"{path.name} does not say its frame, and is taken for a map of {frame.title}.")
        return
    given, points = FRAMES[name], f"{frame.coordinates[0]} and {frame.coordinates[1]} of {frame.title}"
    where = f"Say --sky {name}" if given.is_sky else "Leave out --sky"
    raise InvalidInputError(
        f"{path.name} is a map of {given.title}, and the points are taken for {points}. {where} if the points are "
        "there, too, or convert the map."
    )


def _is_shape(text: str) -> bool:
    kind, _, rest = text.partition(":")
    return kind in _SHAPES and bool(rest)


def _shape(kind: str, rest: str) -> Region:
    names = _SHAPES[kind]
    listed, _, rounded = rest.partition(",rounded=") if kind == "box" else (rest, "", "")
    try:
        numbers = [parse_number(part) for part in listed.split(",")]
        steps = [parse_number(part) for part in rounded.split("/")] if rounded else []
    except ValueError:
        numbers, steps = [], []
    if len(numbers) != len(names) or len(steps) > 2:
        also = " After them may come rounded= and the step to which the points were rounded." if kind == "box" else ""
        raise InvalidInputError(
            f"{kind}:{rest} must be {kind}: and {len(names)} numbers, {', '.join(names)}, in degrees.{also}"
        )
    if kind == "box":
        return LonLatBox(*numbers, rounded=(steps[0], steps[-1]) if steps else None)
    if not 0.0 < numbers[2] < 180.0:
        raise InvalidInputError(f"The radius of cap:{rest} must be between 0 and 180 degrees; got {numbers[2]:g}.")
    return Cap(lonlat_to_xyz(numbers[0], numbers[1]), float(np.radians(numbers[2])))
