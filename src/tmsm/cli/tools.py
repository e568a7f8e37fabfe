"""``tmsm region`` and ``tmsm simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tmsm.cli.options import Sky, Where, real, whole
from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds.frames import Frame, readable_length
from tmsm.regions import Region

__all__ = ["region", "simulate"]

# Cells and leaves of the quadrature of an area with the digits that are right, and the smallest that it sees, in sr.
_CELL, _LEAVES, _SMALLEST = 5, ((8, 5), (5, 4), (3, 3), (1, 2)), 1e-14


def region(
    border: Annotated[
        str, typer.Argument(metavar="BORDER", help="A file with polygons, one of the short forms, or several.")
    ],
    where: Where = None,
    sky: Sky = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Write a picture.", readable=False)] = None,
) -> None:
    """Check a border and describe it: parts, vertices, area."""
    from tmsm.cli.borders import border_files, frame_of, read_region
    from tmsm.cli.outputs import check_outputs
    from tmsm.cli.screen import show_facts
    from tmsm.cli.streams import say
    from tmsm.manifolds.frames import FRAMES
    from tmsm.regions import SphericalPolygon

    check_outputs(border_files(border), {"--plot": plot})
    found = read_region(border, where, None if sky is None else frame_of(sky))
    # A mask may say its frame; there are no points that could be in another one.
    frame = FRAMES[min(found.frames)] if sky is None and found.frames else frame_of(sky)
    rows = [("valid", "yes"), ("kind", type(found).__name__)]
    if isinstance(found, SphericalPolygon):
        lon, lat = frame.lonlat(np.vstack(found.rings))
        rows += [
            ("rings", f"{len(found.rings):,}"),
            ("vertices", f"{len(lon):,}"),
            ("area", _with_unit(found.area, frame)),
            ("length of the border", f"{found.perimeter * frame.unit.scale:,.0f}{frame.unit.symbol}"),
            (frame.coordinates[0], _covering_arc(lon)),
            (frame.coordinates[1], _latitudes(found, lat)),
        ]
    else:
        rows.append(("as given", repr(found)))
        if found.has_border:
            rows.append(("area", _area(found, frame)))
    show_facts(border, rows)
    if plot is not None:
        from tmsm.display.plots.region_display import draw_region
        from tmsm.foundation.whole_files import write_whole

        figure = draw_region(found, frame)
        write_whole(plot, lambda path: figure.savefig(path, format=plot.suffix.lstrip(".").lower(), dpi=150))
        say(f"Picture: {plot}")


def simulate(
    n: Annotated[int, typer.Argument(parser=whole(1), metavar="N", help="Number of points inside the border.")],
    region: Annotated[str, typer.Option("--region", metavar="BORDER", help="Where points can be observed.")],
    mean: Annotated[str, typer.Option(metavar="LON,LAT", help="Mean direction, or axis, in degrees.")],
    concentration: Annotated[float, typer.Option(parser=real, metavar="NUMBER", help="Concentration κ.")],
    model: Annotated[str, typer.Option(help="vmf, kent or watson.")] = "vmf",
    ovalness: Annotated[float, typer.Option(parser=real, metavar="NUMBER", help="Kent: ovalness β.")] = 0.0,
    toward: Annotated[str | None, typer.Option(metavar="LON,LAT", help="Kent: where the major axis points.")] = None,
    where: Where = None,
    sky: Sky = None,
    seed: Annotated[int, typer.Option(parser=whole(0), metavar="NUMBER", help="Seed of the random numbers.")] = 0,
    out: Annotated[
        Path, typer.Option(metavar="FILE.csv", help="File, or - for standard output.", readable=False)
    ] = Path("-"),
) -> None:
    """Draw points of a model inside a border, as a CSV with lon and lat, or with ra and dec, or l and b."""
    from tmsm.cli.borders import border_files, frame_of, read_region
    from tmsm.cli.outputs import check_outputs
    from tmsm.cli.streams import say
    from tmsm.foundation.whole_files import is_standard_output, write_text

    check_outputs(border_files(region), {"--out": out})
    frame = frame_of(sky)
    border = read_region(region, where, frame)
    chosen, params = _truth(model, mean, concentration, ovalness, toward)
    X = chosen.sample(n, border if border.has_border else None, random_state=seed, **params)
    lon, lat = frame.lonlat(X)
    text = f"{frame.short[0].lower()},{frame.short[1].lower()}\n" + "".join(
        f"{a:.6f},{b:.6f}\n" for a, b in zip(lon, lat, strict=True)
    )
    write_text(out, text)
    if not is_standard_output(out):
        say(f"{n:,} points: {out}")


def _area(region: Region, frame: Frame) -> str:
    """By quadrature that knows the border."""
    from tmsm.foundation.errors import TooManyNodesError
    from tmsm.measure.nodes import Grid, build_nodes
    from tmsm.regions import HealpixMask

    if isinstance(region, HealpixMask):
        return _with_unit(region.area, frame)
    for leaf, digits in _LEAVES:
        try:
            area = float(np.exp(build_nodes(region, Grid(_CELL, leaf)).log_weights).sum())
        except TooManyNodesError:  # a long border
            continue
        if area < _SMALLEST:
            return "none, or too small to see: the region is empty, or a sliver"
        return _with_unit(area, frame, digits)
    return "not known: the border is too detailed"


def _with_unit(area: float, frame: Frame, digits: int = 10) -> str:
    unit = "square degrees" if frame.is_sky else "km²"
    size = readable_length(area * frame.unit.scale**2, digits)
    return f"{size} {unit} ({100 * area / (4 * np.pi):.3g} % of the sphere)"


def _latitudes(region: Region, lat: FloatArray) -> str:
    """From south to north; a pole that lies inside counts, too."""
    south, north = region.contains(np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]))
    return f"{-90.0 if south else lat.min():.4g}° to {90.0 if north else lat.max():.4g}°"


def _covering_arc(lon: FloatArray) -> str:
    """The shortest stretch of longitudes that holds all of them, from west to east."""
    ordered = np.sort(lon)
    gaps = np.diff(ordered, append=ordered[0] + 360.0)
    widest = int(np.argmax(gaps))
    west, east = ordered[(widest + 1) % ordered.size], ordered[widest]
    return f"{west:.4g}° to {east:.4g}°" if gaps[widest] > 5.0 else "all round"


def _truth(model: str, mean: str, concentration: float, ovalness: float, toward: str | None):  # type: ignore[no-untyped-def]
    from tmsm.foundation.errors import InvalidInputError
    from tmsm.foundation.validation import check_option
    from tmsm.models import Kent, VonMisesFisher, Watson

    check_option(model, ["vmf", "kent", "watson"], "--model")
    if model != "kent" and (ovalness != 0.0 or toward is not None):
        raise InvalidInputError(f"--ovalness and --toward are for --model kent, not for {model}.")
    direction = _direction(mean, "--mean")
    if model == "vmf":
        return VonMisesFisher(), {"mean_direction": direction, "concentration": concentration}
    if model == "watson":
        return Watson(), {"axis": direction, "concentration": concentration}
    if toward is None:
        raise InvalidInputError("--model kent needs --toward LON,LAT: where the oval's major axis points.")
    major = _direction(toward, "--toward")
    major = major - (major @ direction) * direction
    length = float(np.linalg.norm(major))
    if length < 1e-6:
        raise InvalidInputError("--toward must differ from --mean.")
    if not 2.0 * ovalness <= concentration:
        raise InvalidInputError(
            f"--ovalness {ovalness:g} is beyond half of --concentration {concentration:g}: the density would have two "
            "modes."
        )
    params = {"mean_direction": direction, "major_axis": major / length}
    return Kent(), {**params, "concentration": concentration, "ovalness": ovalness}


def _direction(text: str, option: str):  # type: ignore[no-untyped-def]
    from tmsm.foundation.errors import InvalidInputError
    from tmsm.foundation.validation import parse_number
    from tmsm.manifolds.coordinates import lonlat_to_xyz

    try:
        lon, lat = (parse_number(part) for part in text.split(","))
    except ValueError:
        raise InvalidInputError(f"{option} must be LON,LAT in degrees; got {text!r}.") from None
    return lonlat_to_xyz(lon, lat)
