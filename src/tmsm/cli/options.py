"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tmsm.foundation.validation import parse_number

__all__ = ["Columns", "Exposure", "Known", "ModelName", "Outside", "Points", "RegionText", "Weight", "real", "whole"]


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


Points = Annotated[Path, typer.Argument(metavar="POINTS", help="CSV, TSV, Parquet, GeoJSON, GeoPackage, shapefile.")]
RegionText = Annotated[
    str,
    typer.Option(
        "--region",
        metavar="BORDER",
        help="Where points could be seen: a GeoJSON, GeoPackage or shapefile with polygons, a HEALPix mask or MOC, "
        "usa, cap:LON,LAT,DEGREES, box:WEST,SOUTH,EAST,NORTH (then ,rounded=STEP for rounded points), or everywhere.",
    ),
]
ModelName = Annotated[str, typer.Option("--model", help="vmf, kent, fisher-bingham, bingham or watson.")]
Known = Annotated[
    list[str] | None, typer.Option("--known", metavar="NAME=NUMBER", help="What is known, such as concentration=6.")
]
Weight = Annotated[
    str, typer.Option(help="auto, geodesic, projected, chordal, saturating, normal, componentwise or combined.")
]
Columns = Annotated[
    str | None, typer.Option(metavar="LON,LAT", help="Names of the columns, where they cannot be guessed.")
]
Exposure = Annotated[
    Path | None,
    typer.Option(
        "--exposure",
        metavar="FILE",
        help="A map of exposure times or detection probabilities: HEALPix or an image in FITS, GeoTIFF, ASCII grid.",
    ),
]
Outside = Annotated[str, typer.Option(help="Points outside the border: raise or drop.")]
