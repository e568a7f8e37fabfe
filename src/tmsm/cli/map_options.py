"""What options of `tmsm map` ask for, checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tmsm.estimators.map_outputs import PICTURES, RASTERS, check_ending
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_number, check_option
from tmsm.foundation.whole_files import is_standard_output

__all__ = ["check_files", "check_map_options"]


def check_files(
    out: Sequence[Path],
    html: Path | None,
    *,
    step: float | None,
    nside: int | None,
    error: bool,
    points: bool,
    marks: bool,
) -> list[Path]:
    """The files to write; an error where one has a wrong ending or stands twice, or an option is for none of them."""
    from tmsm.cli.outputs import PAGES

    endings = {check_ending(path) for path in out}
    for k, path in enumerate(out):
        if path in out[:k]:
            raise InvalidInputError(f"--out {path} stands there twice: leave one of them out.")
    if html is not None and not is_standard_output(html) and html.suffix.lower() not in PAGES:
        raise InvalidInputError(f"--html {str(html)!r} must end in {', '.join(PAGES)}.")
    if step is not None:
        check_number(step, "--step", above=0.0)
    picture = not endings.isdisjoint(PICTURES)
    for option, given, serves, wanted in (
        ("--step", step is not None, not endings.isdisjoint(RASTERS), "a GeoTIFF: add --out FILE.tif"),
        ("--nside", nside is not None, ".fits" in endings, "a HEALPix map: add --out FILE.fits"),
        ("--error", error, picture, "pictures: add --out FILE.png"),
        ("--points", points, picture, "pictures: add --out FILE.png"),
        ("--mark", marks, picture or html is not None, "pictures and pages: add --out FILE.png or --html FILE.html"),
    ):
        if given and not serves:
            raise InvalidInputError(f"{option} is for {wanted}, or leave {option} out.")
    return list(out)


def check_map_options(method: str, degree: int | None, smoothing: float | None, shares: Sequence[float]) -> None:
    """Raise where what is asked for of the maps contradicts itself, or is out of range."""
    check_option(method, ["auto", "series", "kernel"], "--method")
    for one in shares:
        if not 0.0 < one < 1.0:
            raise InvalidInputError(f"--share {one:g} must be between 0 and 1, such as 0.5 for 50 %.")
    if smoothing is not None:
        check_number(smoothing, "--smoothing", above=0.0)
    if method == "kernel" and (degree is not None or smoothing is not None):
        raise InvalidInputError("--degree and --smoothing are for the smooth map: leave them out, or --method kernel.")
