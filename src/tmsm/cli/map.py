"""``tmsm map``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tmsm.cli.options import (
    Bad,
    Columns,
    Exposure,
    Groups,
    Marks,
    Outside,
    Points,
    PointsWhere,
    RegionText,
    Sky,
    Where,
    real,
    whole,
)

if TYPE_CHECKING:
    from tmsm.estimators.mapped import MapEstimator

__all__ = ["density_map"]


def density_map(
    points: Points,
    region: RegionText,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write the map: a picture (.png, .svg, .pdf, .jpg), GeoTIFF (.tif), contours (.geojson) or HEALPix "
            "(.fits); may be given several times.",
            readable=False,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write an interactive page with both maps.", readable=False),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="series (the smooth map), kernel (the kernel map), or auto: the "
            "one that predicts points left out of its fit better.",
        ),
    ] = "auto",
    degree: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="Degree of the smooth map: 12 shows finer structure than 6.", parser=whole(1)
        ),
    ] = None,
    smoothing: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Ridge penalty of the smooth map, otherwise chosen.", parser=real),
    ] = None,
    share: Annotated[
        list[float] | None,
        typer.Option(
            metavar="SHARE",
            help="A share of the mass, such as 0.5, for the table, contours and the page; may be given several times.",
            parser=real,
        ),
    ] = None,
    step: Annotated[
        float | None, typer.Option(metavar="DEGREES", help="Size of the pixels of a GeoTIFF.", parser=real)
    ] = None,
    nside: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Resolution of a HEALPix map.", parser=whole(1))
    ] = None,
    error: Annotated[bool, typer.Option("--error", help="Draw the error instead of the density.")] = False,
    show_points: Annotated[bool, typer.Option("--points", help="Draw the points as well.")] = False,
    columns: Columns = None,
    where: Where = None,
    points_where: PointsWhere = None,
    bad: Bad = "raise",
    sky: Sky = None,
    outside: Outside = "raise",
    exposure: Exposure = None,
    groups: Groups = None,
    mark: Marks = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Map the density of points inside a border."""
    from tmsm.cli.advice import for_command
    from tmsm.cli.borders import border_files, frame_of
    from tmsm.cli.inputs import Observed, read_marks
    from tmsm.cli.map_options import check_files, check_map_options
    from tmsm.cli.outputs import check_outputs
    from tmsm.cli.screen import made_by, show_data, show_facts, show_table
    from tmsm.cli.streams import say
    from tmsm.display.report.map_page import html_map
    from tmsm.estimators.map_outputs import PICTURES, check_file
    from tmsm.foundation.whole_files import is_standard_output, write_text

    files = check_files(out or [], html, step=step, nside=nside, error=error, points=show_points, marks=bool(mark))
    check_map_options(method, degree, smoothing, share or [])
    read = [points, *border_files(region), *([exposure] if exposure is not None else [])]
    outputs = {f"--out {path}": path for path in files}
    check_outputs(read, {"--json": Path("-") if json else None, **outputs, "--html": html})
    marks = read_marks(mark or [], frame_of(sky))
    observed = Observed.read(
        points, region, columns=columns, groups=groups, where=where, points_where=points_where, bad=bad, sky=sky,
        outside=outside, exposure=exposure, whole="a map",
    )  # fmt: skip
    for path in files:
        check_file(path, observed.border, frame_of(sky), step=step, nside=nside)
    maps = _fitted(observed, method, degree, smoothing, both=html is not None)
    chosen = max(maps.values(), key=lambda one: one.held_out_) if method == "auto" else maps[method]
    shares = share or [0.5, 0.9]
    notes = observed.notes()
    if json:
        show_data(_content(maps, chosen, shares))
    elif html is None or not is_standard_output(html):
        facts = [(name, for_command(text)) for name, text in chosen.facts()]
        show_facts(f"{chosen.map_name.capitalize()}: {type(chosen).__name__}, {chosen.n_samples_:,} points", facts)
        show_table("Smallest areas that hold a share of the mass", _area_rows(chosen, shares))
        if len(maps) > 1:
            show_table("Points that were held out", _comparison_rows(maps, chosen))
    for note in notes:
        say(note)
    for path in files:
        options: dict[str, Any] = {}
        if path.suffix.lower() in PICTURES:
            options = {"what": "error" if error else "density", "rows": show_points, "marks": marks}
        chosen.write(path, step=step, nside=nside, shares=share or None, **options)
        say(f"Map: {path}")
    if html is not None:
        others = [one for one in maps.values() if one is not chosen]
        page = html_map(
            chosen, title=f"{points.name} inside {region}", beside=others[0] if others else None, made_by=made_by(),
            marks=marks, notes=notes, reword=for_command, shares=shares,
        )  # fmt: skip
        write_text(html, page)
        say(f"Page: {html}")


def _fitted(
    observed: Any, method: str, degree: int | None, smoothing: float | None, *, both: bool
) -> dict[str, MapEstimator]:
    """The maps that are asked for, by their names; a page shows both."""
    from tmsm.cli.streams import say
    from tmsm.estimators import AdaptiveKernel, DensityMap
    from tmsm.foundation.errors import EstimationError

    wanted: dict[str, MapEstimator] = {
        "series": DensityMap(
            observed.border,
            degree="auto" if degree is None else degree,
            smoothing="auto" if smoothing is None else smoothing,
            log_exposure=observed.exposure,
        ),
        "kernel": AdaptiveKernel(observed.border, log_exposure=observed.exposure),
    }
    found: dict[str, MapEstimator] = {}
    for name, estimator in wanted.items():
        if method not in ("auto", name) and not both:
            continue
        try:
            found[name] = estimator.fit(observed.points, groups=observed.labels)
        except EstimationError as error:
            # What one cannot carry the other may; where it was asked for, or nothing is left, that is an error.
            asked = method == name or (name == "series" and (degree is not None or smoothing is not None))
            if asked or (name == "kernel" and not found):
                raise
            say(f"The {estimator.map_name} could not be made: {error}")
    return found


def _area_rows(fitted: MapEstimator, shares: list[float]) -> list[list[str]]:
    rows = [["share", "area", "of the region"]]
    for share in shares:
        one = fitted.highest_density_region(share)
        rows.append([f"{100.0 * share:g} %", one.area_text, f"{100.0 * one.area / fitted.density_.area:.3g} %"])
    return rows


def _comparison_rows(maps: dict[str, MapEstimator], chosen: MapEstimator) -> list[list[str]]:
    from tmsm.display.map_summary import full_name

    rows = [["map", "mean log density", ""]]
    for one in maps.values():
        rows.append([full_name(one), f"{one.held_out_:.5g}", "chosen" if one is chosen else ""])
    return rows


def _content(maps: dict[str, MapEstimator], chosen: MapEstimator, shares: list[float]) -> dict[str, Any]:
    regions = [chosen.highest_density_region(share) for share in shares]
    return {
        "map": next(name for name, one in maps.items() if one is chosen),
        "n_samples": chosen.n_samples_,
        "held_out": {name: one.held_out_ for name, one in maps.items()},
        "area_steradians": chosen.density_.area,
        "regions": [
            {"share": one.share, "area_steradians": one.area, "area": one.area_text, "log_density": one.log_density}
            for one in regions
        ],
        "facts": dict(chosen.facts()),
    }
