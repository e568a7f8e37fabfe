"""What the user names on the command line: points, borders, models, methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from tmsm.data.exposure_map import ExposureMap
from tmsm.data.point_files import PointFile, read_frame, read_points
from tmsm.estimators import NaiveMLE, ScoreMatching, TruncatedMLE
from tmsm.estimators.base import Estimator
from tmsm.foundation.errors import InvalidInputError, UnknownColumnsError
from tmsm.foundation.validation import check_option, parse_number
from tmsm.manifolds import Sphere
from tmsm.manifolds.coordinates import lonlat_to_xyz
from tmsm.manifolds.frames import FRAMES, PLAIN, Frame
from tmsm.models import Bingham, FisherBingham, Kent, VonMisesFisher, Watson
from tmsm.models.base import Model
from tmsm.regions import Cap, Everywhere, HealpixMask, LonLatBox, Region, SphericalPolygon
from tmsm.regions.healpix_files import kind_of_file
from tmsm.regions.rounding import find_grid

__all__ = [
    "METHODS",
    "MODELS",
    "make_estimator",
    "make_model",
    "read_exposure",
    "read_region",
    "read_table",
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


def read_region(text: str, frame: Frame | None = None) -> Region:
    """A border: a file, "usa", "cap:LON,LAT,DEGREES", "box:WEST,SOUTH,EAST,NORTH[,rounded=STEP]" or "everywhere".

    A file that says in which frame it is must agree with that of the points, if it is given.
    """
    if text == "everywhere":
        return Everywhere(Sphere(2))
    if text == "usa":
        from tmsm.datasets import load_border

        return load_border("usa")
    kind, _, rest = text.partition(":")
    if kind in _SHAPES and rest and not Path(text).exists():
        return _shape(kind, rest)
    path = Path(text)
    if path.is_dir():
        raise InvalidInputError(f"{text!r} is a folder; give the file that holds the border.")
    if not path.is_file():
        raise InvalidInputError(
            f"There is no file {text!r}. Give a border as GeoJSON, any file that geopandas reads, a HEALPix mask "
            "or MOC, or usa, cap:LON,LAT,DEGREES, box:WEST,SOUTH,EAST,NORTH, everywhere."
        )
    if path.stat().st_size == 0:
        raise InvalidInputError(f"{path.name} is empty.")
    if _is_mask(path):
        mask = HealpixMask.from_file(path)
        _agree(path, mask.frame, frame)
        return mask
    if path.suffix.lower() in (".geojson", ".json"):
        return SphericalPolygon.from_geojson(path)
    return SphericalPolygon.from_geometry(read_frame(path))


def _is_mask(path: Path) -> bool:
    """Whether a file is a sky mask, not polygons."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".json", ".txt")):
        return kind_of_file(path).startswith("moc-")
    return name.endswith((".fits", ".fit", ".fts", ".moc"))


def read_exposure(path: Path | None, frame: Frame | None = None) -> ExposureMap | None:
    """A map of exposures; one that says in which frame it is must agree with that of the points, if it is given."""
    if path is None:
        return None
    found = ExposureMap.from_file(path)
    _agree(path, found.frame, frame)
    return found


def _agree(path: Path, name: str | None, frame: Frame | None) -> None:
    if name is None or frame is None or frame.name in (name, PLAIN.name):
        return
    given, points = FRAMES[name], f"{frame.coordinates[0]} and {frame.coordinates[1]} of {frame.title}"
    if given.is_sky:
        advice = f"Say --sky {name} if the points are there, too"
    else:
        advice = "Leave out --sky if the points are there, too"
    raise InvalidInputError(
        f"{path.name} is a map of {given.title}, and the points are taken for {points}. {advice}, or convert the map."
    )


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


def make_estimator(
    method: str, model: Model, region: Region, weight: str, exposure: ExposureMap | None = None
) -> Estimator:
    """The estimator that a method's name stands for."""
    check_option(method, METHODS, "--method")
    if method == "naive" and exposure is not None:
        raise InvalidInputError("--exposure is not for --method naive, which takes every place for equally well seen.")
    if method in ("naive", "mle"):
        if weight != "auto":
            raise InvalidInputError(f"--weight is for score matching, not for --method {method}.")
        return NaiveMLE(model) if method == "naive" else TruncatedMLE(model, region, log_exposure=exposure)
    refine: Literal["mle"] | None = "mle" if method == "refined" else None
    return ScoreMatching(model, region, weight, log_exposure=exposure, refine=refine)


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


def read_table(points: Path, columns: str | None, groups: str | None = None) -> PointFile:
    """A file of points, with the columns that an option names."""
    try:
        return read_points(points, _split_columns(columns), groups)
    except UnknownColumnsError as error:
        raise InvalidInputError(f"{error.problem} Name them with --columns LON,LAT.") from None


def _split_columns(text: str | None) -> list[str] | None:
    """Two names from LON,LAT."""
    if text is None:
        return None
    names = text.split(",")
    if len(names) != 2:
        raise InvalidInputError(f"--columns must be two names, LON,LAT; got {text!r}.")
    return names
