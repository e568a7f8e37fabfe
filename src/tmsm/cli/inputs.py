"""What the user names on the command line: points, borders, models, methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tmsm.cli.borders import check_agreement, frame_of, read_region
from tmsm.cli.factors import Factor, product_region, rows_within
from tmsm.cli.large_points import LargePoints, large_points
from tmsm.cli.models import usual_method
from tmsm.cli.notes import notes_on_reading
from tmsm.data.exposure_map import ExposureMap
from tmsm.data.named_tables import FramedPoints
from tmsm.data.point_files import PointFile, read_points
from tmsm.data.point_rows import Request
from tmsm.estimators import NaiveMLE, ScoreMatching, TruncatedMLE
from tmsm.estimators.base import Estimator
from tmsm.foundation.angles import parse_angle
from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError, UnknownColumnsError
from tmsm.foundation.filters import Filter
from tmsm.foundation.validation import check_option, parse_number
from tmsm.manifolds.coordinates import lonlat_to_xyz
from tmsm.manifolds.frames import EARTH, FRAMES, ICRS, Frame
from tmsm.models import Mixture
from tmsm.models.base import Model
from tmsm.regions import LonLatBox, Region
from tmsm.regions.rounding import find_grid

__all__ = [
    "METHODS",
    "Observed",
    "check_factors",
    "make_estimator",
    "read_background",
    "read_exposure",
    "read_marks",
    "read_power",
    "read_table",
    "reading_notes",
    "rows_inside",
]

METHODS = ("score", "refined", "mle", "naive")
# Beyond such a share exact copies are worth a word.
_MANY_COPIES = 0.05


def make_estimator(
    method: str | None,
    model: Model,
    region: Region,
    weight: str,
    exposure: ExposureMap | None = None,
    option: str = "--method",
    *,
    robust: float | Literal["auto"] | None = None,
    with_covariates: bool = False,
    outside: str = "raise",
) -> Estimator:
    """The estimator that a method's name stands for; None for the method that suits the model."""
    if with_covariates and not model.is_linear:
        raise InvalidInputError(
            "--covariate is for exponential families, as yet not for mixtures and heavy tails: use another model."
        )
    if robust is not None and not model.is_linear:
        raise InvalidInputError(
            "--robust is for exponential families, not for mixtures and heavy tails: leave it out, or use another "
            "model."
        )
    if method is None:
        method = usual_method(model, region.manifold.dim)
    check_option(method, METHODS, option)
    if method == "naive" and isinstance(model, Mixture) and model.has_background:
        raise InvalidInputError(
            f"A background lies inside the border, which {option} naive ignores: leave it out, or use {option} mle."
        )
    if method == "naive" and exposure is not None:
        raise InvalidInputError(f"--exposure is not for {option} naive, which takes every place for equally well seen.")
    if robust is not None and method != "score":
        raise InvalidInputError(
            f"--robust is for {option} score, not for {option} {method}: a likelihood follows every point, bad ones "
            "too."
        )
    if method in ("naive", "mle"):
        if weight != "auto":
            raise InvalidInputError(f"--weight is for score matching, not for {option} {method}.")
        if method == "naive":
            return NaiveMLE(model)
        return TruncatedMLE(model, region, log_exposure=exposure).set_params(outside=outside)
    refine: Literal["mle"] | None = "mle" if method == "refined" else None
    matching = ScoreMatching(model, region, weight, log_exposure=exposure, refine=refine, robust=robust)
    return matching.set_params(outside=outside)


def check_factors(factors: Sequence[Factor], interaction: bool, others: Mapping[str, object]) -> None:
    """Raise where options are given that are not for points with further columns, or for these alone."""
    if interaction and not factors:
        raise InvalidInputError("--interaction is one with further columns: name them with --also.")
    for option, given in others.items():
        if factors and given is not None:
            why = {
                "--exposure": "a map says how well places were seen, whatever the other columns are",
            }.get(option, "pictures show places on a sphere alone")
            raise InvalidInputError(f"{option} is not for points with further columns (--also): {why}.")


@dataclass(frozen=True)
class Observed:
    """What was observed, as options name it: the points inside a border, how well they were seen, and their groups."""

    table: PointFile
    border: Region
    exposure: ExposureMap | None
    inside: BoolArray
    factors: tuple[Factor, ...] = ()
    # Points outside are not among those that estimators see.
    outside = "raise"

    @classmethod
    def read(
        cls,
        points: Path,
        region: str,
        *,
        columns: str | None,
        groups: str | None,
        where: str | None,
        points_where: str | None,
        bad: str,
        sky: str | None,
        outside: str,
        exposure: Path | None,
        factors: tuple[Factor, ...] = (),
        covariates: Sequence[str] = (),
        whole: str | None = None,
    ) -> Observed | LargePoints:
        """From files; every problem is told before anything is fitted.

        Folders and large files are read block by block, unless ``whole`` says what needs all points at once.
        """
        check_option(outside, ["raise", "drop"], "--outside")
        check_option(bad, ["raise", "skip"], "--bad")
        frame = frame_of(sky)
        names = [factor.column for factor in factors]
        more = _checked_covariates(covariates, names)
        request = Request(_split_columns(columns), groups, Filter.of(points_where), bad, frame, covariates=tuple(more))
        with in_words_of_options():
            source = large_points(points, request, "--also" if factors else whole)
        if source is not None:
            border, seen = read_region(region, where, frame), read_exposure(exposure, frame)
            len(source)  # whatever is wrong with the file is told now
            return LargePoints(source, border, seen, outside)
        table = read_table(
            points, columns, groups, where=points_where, bad=bad, frame=frame, also=names,
            covariates=more,
        )  # fmt: skip
        border, seen = read_region(region, where, frame), read_exposure(exposure, frame)
        inside = rows_inside(table, border, outside)
        if factors:
            inside = inside & rows_within(table, factors, outside)
            if not inside.any():
                raise InvalidInputError(
                    f"None of the {len(table):,} points of {table.path.name} lies inside the border and within the "
                    "bounds of the other columns."
                )
        return cls(table, product_region(border, factors), seen, inside, factors)

    @property
    def points(self) -> FramedPoints:
        """The points inside, with their frame: what estimators take."""
        place = self.table.points(self.inside)
        if not self.factors:
            return place
        more = [
            factor.points(values[self.inside]) for factor, values in zip(self.factors, self.table.also, strict=True)
        ]
        return FramedPoints(np.hstack([place.X, *more]), place.frame)

    @property
    def covariates(self) -> dict[str, FloatArray] | None:
        """What is known of each of them beside its place, by the names of the columns, or None."""
        return {name: values[self.inside] for name, values in self.table.covariates.items()} or None

    @property
    def labels(self) -> Any:
        """Which group each of them belongs to, or None."""
        return None if self.table.groups is None else self.table.groups[self.inside]

    def notes(self) -> list[str]:
        """What a reader of the results has to know about how the points were read and chosen."""
        notes, n = [], int(self.inside.sum())
        columns = [self.table.longitude, self.table.latitude, *self.table.also]
        copies = n - len(np.unique(np.column_stack(columns)[self.inside], axis=0))
        if self.table.groups is None and copies > _MANY_COPIES * n:
            notes.append(
                f"{copies:,} of {n:,} points are exact copies of others: if they repeat one observation, "
                "the errors are too small. Remove such rows from the file, or name with --groups the column that tells "
                "which rows belong together."
            )
        notes += reading_notes(self.table)
        if n < len(self.table):
            notes.append(
                f"{len(self.table) - n:,} of {len(self.table):,} points lie outside the border"
                f"{' or the bounds of other columns' * bool(self.factors)} and were left out."
            )
        return notes


def read_exposure(path: Path | None, frame: Frame) -> ExposureMap | None:
    """A map of exposures; one that says that it is in another frame than the points is refused."""
    if path is None:
        return None
    found = ExposureMap.from_file(path)
    check_agreement(path, found.frame, frame)
    return found


def read_background(uniform: bool, path: Path | None, frame: Frame) -> Any:
    """What clusters sit on: True for a uniform background, a map, or False for none."""
    if path is None:
        return uniform
    if uniform:
        raise InvalidInputError("--background and --background-map are two backgrounds: give one of them.")
    found = ExposureMap.from_file(path)
    check_agreement(path, found.frame, frame)
    return found


def read_power(text: str | None) -> float | Literal["auto"] | None:
    """The power of a robust fit, "auto", or None."""
    if text is None or text == "auto":
        return None if text is None else "auto"
    try:
        power = parse_number(text)
    except ValueError:
        power = np.nan
    if not 0.0 <= power <= 2.0:
        raise InvalidInputError(f"--robust {text!r} must be auto, or a number from 0 to 2 such as 0.3.")
    return power


def _checked_covariates(names: Sequence[str], factors: Sequence[str]) -> list[str]:
    """Names of columns, each once."""
    found: list[str] = []
    for name in (given.strip() for given in names):
        if not name:
            raise InvalidInputError("--covariate must be the name of a column of the points.")
        if any(name.casefold() == other.casefold() for other in found):
            raise InvalidInputError(f"--covariate has the column {name!r} twice.")
        if any(name.casefold() == other.casefold() for other in factors):
            raise InvalidInputError(f"--covariate {name} is a part of every point already, by --also.")
        found.append(name)
    return found


def read_marks(pairs: list[str], frame: Frame = EARTH) -> dict[str, FloatArray]:
    """Known places by name, from NAME=LON,LAT; on the sky also with minutes and seconds."""
    marks = {}
    for pair in pairs:
        name, _, text = pair.rpartition("=")
        try:
            parse = parse_angle if frame.is_sky else parse_number
            first, second = text.split(",")
            lon, lat = (parse_angle(first, hours=True) if frame == ICRS else parse(first)), parse(second)
        except ValueError:
            lon = lat = np.nan
        if not name.strip() or not np.isfinite([lon, lat]).all():
            example = "Vega=279.23,38.78" if frame.is_sky else "Vienna=16.37,48.21"
            raise InvalidInputError(f"--mark {pair!r} must be NAME=LON,LAT in degrees, such as {example}.")
        try:
            marks[name.strip()] = lonlat_to_xyz(lon, lat)
        except InvalidInputError as error:
            raise InvalidInputError(f"--mark {pair!r} is not on the sphere: {error}") from None
    return marks


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
    frame: Frame = EARTH,
    also: Sequence[str] = (),
    covariates: Sequence[str] = (),
) -> PointFile:
    """A file of points, with the columns, rows and frame that options name."""
    check_option(bad, ["raise", "skip"], "--bad")
    with in_words_of_options():
        return read_points(
            points, _split_columns(columns), groups, where=where, bad=bad, frame=frame.name, also=also,
            covariates=covariates,
        )  # fmt: skip


@contextmanager
def in_words_of_options() -> Iterator[None]:
    """Where columns are not clear, say so with the option that names them."""
    try:
        yield
    except UnknownColumnsError as error:
        other = FRAMES[error.frame] if error.frame else None
        also = "" if other is None else f", or use --sky {other.name}" if other.is_sky else ", or leave --sky out"
        raise InvalidInputError(f"{error.problem} Name them with --columns LON,LAT{also}.") from None


def reading_notes(table: PointFile) -> list[str]:
    """What a reader of the results has to know about how the points were read."""
    return notes_on_reading(
        table.path.name, table.n_without, table.n_bad, table.first_bad, table.columns, table.read_as, table.frame,
        table.longitude,
    )  # fmt: skip


def _split_columns(text: str | None) -> list[str] | None:
    """Two names from LON,LAT."""
    if text is None:
        return None
    names = text.split(",")
    if len(names) != 2:
        raise InvalidInputError(f"--columns must be two names, LON,LAT; got {text!r}.")
    return names
