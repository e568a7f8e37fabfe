"""What the user names on the command line: points, borders, models, methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tmsm.cli.borders import parse_border
from tmsm.data.point_files import PointFile, read_points
from tmsm.estimators import NaiveMLE, ScoreMatching, TruncatedMLE
from tmsm.estimators.base import Estimator
from tmsm.foundation.errors import InvalidInputError, UnknownColumnsError
from tmsm.foundation.validation import check_option, parse_number
from tmsm.manifolds import Sphere
from tmsm.manifolds.coordinates import lonlat_to_xyz
from tmsm.manifolds.frames import FRAMES
from tmsm.models import Bingham, FisherBingham, Kent, VonMisesFisher, Watson
from tmsm.models.base import Model
from tmsm.regions import Cap, Everywhere, LonLatBox, Region, SphericalPolygon
from tmsm.regions.rounding import find_grid

__all__ = [
    "METHODS",
    "MODELS",
    "make_estimator",
    "make_model",
    "read_region",
    "read_table",
    "reading_notes",
    "rows_inside",
]

MODELS: dict[str, type[Model]] = {
    "vmf": VonMisesFisher,
    "kent": Kent,
    "fisher-bingham": FisherBingham,
    "bingham": Bingham,
    "watson": Watson,
}
METHODS = ("score", "refined", "mle", "naive")
_SHAPES = {"cap": ("longitude", "latitude", "radius"), "box": ("west", "south", "east", "north")}


def read_region(text: str, where: str | None = None, sky: str | None = None) -> Region:
    """A border: one operand, or several with & (both), | (either) and - (without) between them, from left to right."""
    operands = parse_border(text, where)
    region = _read_operand(operands[0].text, operands[0].where, sky)
    for operand in operands[1:]:
        other = _read_operand(operand.text, operand.where, sky)
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


def _read_operand(text: str, where: str | None, sky: str | None) -> Region:
    """A file, "usa", "cap:LON,LAT,DEGREES", "box:WEST,SOUTH,EAST,NORTH[,rounded=STEP]" or "everywhere"."""
    if where is not None and not Path(text).exists() and (text in ("everywhere", "usa") or _is_shape(text)):
        raise InvalidInputError(f"{text} has no properties to filter by: a filter is for a file with polygons.")
    if text == "everywhere":
        return Everywhere(Sphere(2))
    if text == "usa":
        from tmsm.datasets import load_border

        if sky is not None:
            raise InvalidInputError(f"usa is a border on the Earth, and --sky {sky} is for points on the sky.")
        return load_border("usa")
    if _is_shape(text) and not Path(text).exists():
        kind, _, rest = text.partition(":")
        return _shape(kind, rest)
    path = Path(text)
    if path.is_dir() and path.suffix.lower() != ".gdb":
        raise InvalidInputError(f"{text!r} is a folder; give the file that holds the border.")
    if not path.exists():
        hint = " Write & | - between borders with blanks round them." if any(sign in text for sign in "&|") else ""
        raise InvalidInputError(
            f"There is no file {text!r}. Give a border as GeoJSON or any file that geopandas reads, "
            f"or usa, cap:LON,LAT,DEGREES, box:WEST,SOUTH,EAST,NORTH, everywhere.{hint}"
        )
    return SphericalPolygon.from_file(path, where)


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


def make_model(name: str, known: list[str], option: str = "--model") -> Model:
    """A model with what is known of it, given as NAME=NUMBER."""
    check_option(name, MODELS, option)
    values = {}
    for pair in known:
        key, _, text = pair.partition("=")
        try:
            values[key.strip()] = parse_number(text)
        except ValueError:
            raise InvalidInputError(f"--known {pair!r} must be NAME=NUMBER, such as concentration=6.") from None
    allowed = {"vmf": ["concentration"], "kent": ["concentration", "ovalness"], "watson": ["concentration"]}.get(
        name, []
    )
    for key in values:
        if key not in allowed:
            hint = f"it can know {' and '.join(allowed)}" if allowed else "nothing can be known of it here"
            raise InvalidInputError(f"--known {key} is not for the model {name}: {hint}.")
    return MODELS[name](**values)


def make_estimator(method: str, model: Model, region: Region, weight: str) -> Estimator:
    """The estimator that a method's name stands for."""
    check_option(method, METHODS, "--method")
    if method in ("naive", "mle"):
        if weight != "auto":
            raise InvalidInputError(f"--weight is for score matching, not for --method {method}.")
        return NaiveMLE(model) if method == "naive" else TruncatedMLE(model, region)
    return ScoreMatching(model, region, weight, refine="mle" if method == "refined" else None)


def rows_inside(points: PointFile, region: Region, outside: str) -> Any:
    """Which points lie inside; an error with its likely cause where none does, or where some do not and must."""
    inside = region.contains(points.X)
    n = int(inside.sum())
    if n == 0:
        hint = "Check that both are in degrees, longitude first."
        if (np.abs(points.longitude) <= 90.0).all():
            swapped = lonlat_to_xyz(np.clip(points.latitude, -180.0, 180.0), points.longitude)
            if region.contains(swapped).any():
                hint = "With longitude and latitude swapped some would: name the columns with --columns LON,LAT."
        raise InvalidInputError(
            f"None of the {len(points):,} points of {points.path.name} lies inside the border. {hint}"
        )
    if n < len(points) and outside == "raise" and not region.left_out(points.X[~inside]).all():
        raise InvalidInputError(
            f"{len(points) - n:,} of the {len(points):,} points of {points.path.name} lie outside the border. "
            f"Leave them out with --outside drop, or check the border.{_rounding(points, region)}"
        )
    return inside


def _rounding(points: PointFile, region: Region) -> str:
    """Say what to do where rounding put points on the border."""
    on_border = int(np.count_nonzero(region.signed_distance(points.X)[0] == 0.0))
    grid = find_grid(region.manifold, points.X) if on_border else None
    if grid is None:
        return ""
    steps = "/".join(f"{step:g}" for step in (grid.steps[:1] if len(set(grid.steps)) == 1 else grid.steps))
    remedy = (
        f"Write box:WEST,SOUTH,EAST,NORTH,rounded={steps}." if isinstance(region, LonLatBox) else grid.remedy(region)
    )
    return f" {grid.describe()}, and {on_border:,} of the points lie exactly on the border. {remedy}"


def read_table(
    points: Path,
    columns: str | None,
    groups: str | None = None,
    *,
    where: str | None = None,
    bad: str = "raise",
    sky: str | None = None,
) -> PointFile:
    """A file of points, with the columns, rows and frame that options name."""
    check_option(bad, ["raise", "skip"], "--bad")
    if sky is not None:
        check_option(sky, [name for name, frame in FRAMES.items() if frame.is_sky], "--sky")
    try:
        return read_points(
            points, _split_columns(columns), groups, where=where, bad=bad, frame="earth" if sky is None else sky
        )
    except UnknownColumnsError as error:
        other = FRAMES[error.frame] if error.frame else None
        also = "" if other is None else f", or use --sky {other.name}" if other.is_sky else ", or leave --sky out"
        raise InvalidInputError(f"{error.problem} Name them with --columns LON,LAT{also}.") from None


def reading_notes(table: PointFile) -> list[str]:
    """What a reader of the results has to know about how the points were read."""
    notes, name = [], table.path.name
    if table.n_without:
        notes.append(f"{table.n_without:,} rows of {name} have no coordinates and were left out.")
    if table.n_bad:
        rows = "1 bad row" if table.n_bad == 1 else f"{table.n_bad:,} bad rows"
        notes.append(f"{rows} of {name} left out; the first: {table.first_bad}.")
    if table.read_as != table.frame:
        notes.append(
            f"{name} has {' and '.join(table.read_as.coordinates)}, which were turned into "
            f"{' and '.join(table.frame.coordinates)}."
        )
    return notes


def _split_columns(text: str | None) -> list[str] | None:
    """Two names from LON,LAT."""
    if text is None:
        return None
    names = text.split(",")
    if len(names) != 2:
        raise InvalidInputError(f"--columns must be two names, LON,LAT; got {text!r}.")
    return names
