"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Columns", "Known", "ModelName", "Outside", "Points", "RegionText", "Weight"]

Points = Annotated[Path, typer.Argument(metavar="POINTS", help="CSV, TSV, Parquet, GeoJSON, GeoPackage, shapefile.")]
RegionText = Annotated[
    str,
    typer.Option(
        "--region",
        metavar="BORDER",
        help="Where points could be seen: a GeoJSON, GeoPackage or shapefile with polygons, usa, "
        "cap:LON,LAT,DEGREES, box:WEST,SOUTH,EAST,NORTH (then ,rounded=STEP for rounded points), or everywhere.",
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
Outside = Annotated[str, typer.Option(help="Points outside the border: raise or drop.")]
