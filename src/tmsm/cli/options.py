"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tmsm.foundation.validation import parse_number

__all__ = [
    "Also",
    "Background",
    "BackgroundMap",
    "Bad",
    "Columns",
    "Covariates",
    "Exposure",
    "Groups",
    "Interaction",
    "Known",
    "Marks",
    "ModelName",
    "Outside",
    "Points",
    "PointsWhere",
    "RegionText",
    "Robust",
    "Sky",
    "Weight",
    "Where",
    "Within",
    "real",
    "whole",
]


def real(text: Any) -> float:
    """A number as tables have them, which Python's own ``1_0`` is not; what an option's text is parsed with."""
    try:
        return parse_number(str(text))
    except ValueError:
        raise typer.BadParameter(f"{str(text)!r} is no number.") from None


def whole(at_least: int) -> Callable[[Any], int]:
    """A parser of whole numbers."""

    def parse(text: Any) -> int:
        given = str(text)
        digits = given.strip().removeprefix("-").removeprefix("+")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 4000) or int(given) < at_least:
            raise typer.BadParameter(f"{given!r} must be a whole number of at least {at_least}.")
        return int(given)

    return parse


Points = Annotated[
    Path,
    typer.Argument(
        metavar="POINTS",
        help="CSV and other tables of text, Parquet, GeoJSON, GeoPackage, shapefile; a folder of Parquet or CSV files.",
    ),
]
RegionText = Annotated[
    str,
    typer.Option(
        "--region",
        metavar="BORDER",
        help="Where points could be observed: a GeoJSON, GeoPackage or shapefile with polygons, a HEALPix mask or MOC, "
        "usa, cap:LON,LAT,DEGREES, box:WEST,SOUTH,EAST,NORTH (then ,rounded=STEP for rounded points), or everywhere; "
        "several as 'A & B', 'A | B', 'A - B', each file with its own filter as FILE[FILTER].",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where", metavar="FILTER", help="Features of the border's file to use, such as 'ADMIN = \"Nepal\"'."
    ),
]
PointsWhere = Annotated[
    str | None, typer.Option("--points-where", metavar="FILTER", help="Points to use, such as 'mag >= 5'.")
]
Bad = Annotated[
    str,
    typer.Option(
        "--bad", help="Rows whose coordinates are no numbers, or beyond their range: raise (an error) or skip."
    ),
]
Sky = Annotated[
    str | None,
    typer.Option(
        "--sky",
        metavar="FRAME",
        help="Points are directions on the sky: icrs (right ascension, declination) or galactic (l, b). "
        "The border is in the same degrees.",
    ),
]
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        help="vmf, kent, fisher-bingham, bingham, watson, heavy-tailed, mixture:NUMBER (of vmf; mixture:2:kent of "
        "another; mixture lets BIC choose the number); product with --also.",
    ),
]
Background = Annotated[bool, typer.Option("--background", help="Add a background that is uniform inside the border.")]
BackgroundMap = Annotated[
    Path | None,
    typer.Option(
        "--background-map",
        metavar="FILE",
        help="Add a background that is proportional to a map, in a file as for --exposure.",
    ),
]
Covariates = Annotated[
    list[str] | None,
    typer.Option(
        "--covariate",
        metavar="COLUMN",
        help="A column of numbers, such as year, on which the parameters may depend; may be given several times.",
    ),
]
Known = Annotated[
    list[str] | None,
    typer.Option("--known", metavar="NAME=NUMBER", help="A parameter that is known, such as concentration=6."),
]
Robust = Annotated[
    str | None,
    typer.Option(
        "--robust",
        metavar="C|auto",
        help="Reduce the influence of a few bad points: weight each by its density to the power C, such as 0.3; auto "
        "chooses the power.",
    ),
]
Weight = Annotated[
    str, typer.Option(help="auto, geodesic, projected, chordal, saturating, normal, componentwise or combined.")
]
Columns = Annotated[
    str | None, typer.Option(metavar="LON,LAT", help="Names of the columns with the coordinates, if they are unusual.")
]
Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        metavar="COLUMN:KIND",
        help="A column that is part of every point: COLUMN:circle:PERIOD (month:circle:12) or COLUMN:line.",
    ),
]
Within = Annotated[
    list[str] | None,
    typer.Option(
        "--within", metavar="BOUNDS", help="The values at which a column of --also was observed, such as 'mag > 4.5'."
    ),
]
Interaction = Annotated[
    bool, typer.Option("--interaction", help="Let the place and the columns of --also depend on each other.")
]
Outside = Annotated[str, typer.Option(help="Points outside the border: raise (an error) or drop.")]
Exposure = Annotated[
    Path | None,
    typer.Option(
        "--exposure",
        metavar="FILE",
        help="A map of exposure times or detection probabilities: HEALPix or an image in FITS, GeoTIFF, ASCII grid.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option("--groups", metavar="COLUMN", help="Rows with the same value in it may depend on each other."),
]
Marks = Annotated[
    list[str] | None,
    typer.Option("--mark", metavar="NAME=LON,LAT", help="A known place, to be shown in pictures and the report."),
]
