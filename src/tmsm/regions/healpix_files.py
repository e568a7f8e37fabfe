"""HEALPix maps and multi-order coverage maps in files: what sky masks and exposure maps are read from."""

from __future__ import annotations

import gzip
import re
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, TmsmError
from tmsm.foundation.optional import load_package
from tmsm.manifolds.frames import GALACTIC, ICRS

__all__ = [
    "HealpixFile",
    "Kind",
    "frame_of_header",
    "kind_of_file",
    "open_fits",
    "read_healpix",
    "read_moc",
]

# What HEALPix writes for a pixel that was not seen.
_UNSEEN = -1.6375e30
_FRAMES = {
    "": None, "UNKNOWN": None, "C": ICRS.name, "EQUATORIAL": ICRS.name, "CELESTIAL": ICRS.name, "ICRS": ICRS.name,
    "J2000": ICRS.name, "FK5": ICRS.name, "Q": ICRS.name, "G": GALACTIC.name, "GALACTIC": GALACTIC.name,
}  # fmt: skip
_MAX_MOC_PIXELS = 20_000_000
_MULTI_ORDER = ("NUNIQ", "RANGE")

# "healpix", "moc", "image" (FITS), "moc-json", "moc-ascii" or "other".
Kind = str


@final
@dataclass(frozen=True)
class HealpixFile:
    """A map of a file.

    Attributes
    ----------
    nside, nest
        Resolution, and whether pixels are in nested order.
    pixels
        Numbers of the pixels that the file holds, shape (m,); None where it holds all.
    values
        Shape (m,), or of all pixels; NaN where the file says that nothing is known.
    frame
        "icrs", "galactic" or None.
    """

    nside: int
    nest: bool
    pixels: Any
    values: FloatArray
    frame: str | None


def kind_of_file(path: Path) -> Kind:
    """What a file holds, by its content."""
    head = _head(path)
    if head.startswith(b"SIMPLE  ="):
        return _kind_of_fits(path)
    text = head.decode("ascii", "replace").lstrip("\ufeff \t\r\n")
    if re.match(r'\{\s*("\d+"\s*:\s*\[|\}\s*$)', text):
        return "moc-json"
    if re.match(r"\d+/[\d\s,/-]*$", text[:-20] if len(head) >= 4096 else text):
        return "moc-ascii"
    return "other"


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(4096)
    if head[:2] == b"\x1f\x8b":
        try:
            with gzip.open(path, "rb") as packed:
                return packed.read(4096)
        except (OSError, EOFError, zlib.error):
            return b""
    return head


@contextmanager
def open_fits(path: Path) -> Iterator[Any]:
    """The parts of a FITS file; whatever a damaged one makes astropy raise becomes one sentence."""
    fits = load_package("astropy.io.fits", f"{path.name} is a FITS file, which", "sky")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on keywords of old headers that astropy mends by itself
            with fits.open(path, memmap=False) as file:
                yield file
    except TmsmError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{path.name} cannot be read as FITS: {error}") from None


def _kind_of_fits(path: Path) -> Kind:
    with open_fits(path) as file:
        table = _healpix_table(file)
        if table is not None:
            several = str(table.header.get("ORDERING", "")).strip().upper() in _MULTI_ORDER
            return "moc" if several or "MOCVERS" in table.header else "healpix"
    return "image"


def _healpix_table(file: Any) -> Any:
    """The first table of a FITS file that is a HEALPix map or coverage; None where there is none."""
    for hdu in file:
        header = hdu.header
        marked = str(header.get("PIXTYPE", "")).strip().upper() == "HEALPIX" or "MOCVERS" in header
        if header.get("XTENSION", "").strip() == "BINTABLE" and (marked or "NSIDE" in header):
            return hdu
    return None


def frame_of_header(value: Any, path: Path) -> str | None:
    """The frame that a header's COORDSYS names; an error for others than ICRS and galactic."""
    name = str("" if value is None else value).strip().upper()
    if name not in _FRAMES:
        raise InvalidInputError(
            f"{path.name} is in the coordinate system {name!r}. Give it in ICRS (C) or galactic coordinates (G)."
        )
    return _FRAMES[name]


def read_healpix(path: Path) -> HealpixFile:
    """A HEALPix map in FITS: implicit or explicit pixels, ring or nested order; the first column of values."""
    with open_fits(path) as file:
        table = _healpix_table(file)
        if table is None:
            raise InvalidInputError(f"{path.name} holds no HEALPix map.")
        header = table.header
        order = str(header.get("ORDERING", "")).strip().upper()
        if order in _MULTI_ORDER:
            raise InvalidInputError(
                f"{path.name} is a map of pixels of many sizes ({order}): flatten it to one resolution first."
            )
        if order not in ("RING", "NESTED", "NEST"):
            raise InvalidInputError(
                f"{path.name} does not say the order of its pixels: its header must have ORDERING RING or NESTED, "
                f"and has {order!r}."
            )
        names = list(table.columns.names)
        explicit = str(header.get("INDXSCHM", "")).strip().upper() == "EXPLICIT"
        index = next((name for name in names if name.upper() in ("PIXEL", "PIX", "HPXINDEX", "INDEX")), names[0])
        others = [name for name in names if not explicit or name != index]
        pixels = np.asarray(table.data[index]).ravel().astype(np.int64) if explicit else None
        if not others:
            raise InvalidInputError(f"{path.name} has pixel numbers and no values.")
        values = _column(table, others[0])
        nside = _nside(path, header, values.size, explicit)
        if pixels is not None:
            if pixels.size and not (pixels.min() >= 0 and pixels.max() < 12 * nside**2):
                raise InvalidInputError(f"{path.name} has pixel numbers beyond those of nside {nside}.")
            if np.unique(pixels).size < pixels.size:
                raise InvalidInputError(f"{path.name} has some pixels twice.")
        frame = frame_of_header(header.get("COORDSYS"), path)
        bad = float(header.get("BAD_DATA", _UNSEEN))
    values[np.isclose(values, _UNSEEN, rtol=1e-5, atol=0.0) | (values == bad)] = np.nan
    return HealpixFile(nside, order != "RING", pixels, values, frame)


def _column(table: Any, name: str) -> FloatArray:
    """A column of numbers, rows of vectors one after the other, as floats (n,)."""
    raw = np.asarray(table.data[name]).ravel()
    values = raw.astype(np.float64)
    null = table.columns[name].null
    if isinstance(null, int | np.integer) and raw.dtype.kind in "iu":
        values[raw == null] = np.nan
    return values


def _nside(path: Path, header: Any, n_values: int, explicit: bool) -> int:
    given = header.get("NSIDE")
    nside = int(given) if given is not None else round(float(np.sqrt(n_values / 12.0)))
    if nside < 1:
        raise InvalidInputError(f"{path.name} has NSIDE {nside}.")
    if not explicit and n_values != 12 * nside**2:
        said = f"A HEALPix map of nside {nside} has {12 * nside**2:,} pixels"
        raise InvalidInputError(f"{said}, and {path.name} has {n_values:,} values: it may be cut short.")
    return nside


def read_moc(path: Path, kind: Kind) -> HealpixFile:
    """A multi-order coverage map, flattened to the finest order that it uses: values are ones."""
    mocpy = load_package("mocpy", f"{path.name} is a coverage map (MOC), which", "sky")
    if kind == "moc":
        with open_fits(path) as file:
            header = _healpix_table(file).header
            if str(header.get("MOCDIM", "SPACE")).strip().upper() != "SPACE":
                raise InvalidInputError(f"{path.name} is a coverage map of time, not of the sky alone.")
            names = [header.get(f"TTYPE{k + 1}", "") for k in range(header.get("TFIELDS", 0))]
            if len(names) > 1:
                raise InvalidInputError(
                    f"{path.name} is a map with values in pixels of many sizes ({', '.join(names)}), not a coverage "
                    "map: make a mask of it first."
                )
            if frame_of_header(header.get("COORDSYS", "C"), path) == GALACTIC.name:
                raise InvalidInputError(
                    f"{path.name} is a coverage map (MOC) in galactic coordinates, which the standard does not know: "
                    "give it in ICRS, or as a HEALPix map."
                )
    form = {"moc": "fits", "moc-json": "json", "moc-ascii": "ascii"}[kind]
    try:
        moc = mocpy.MOC.load(str(path), form)
        cells = np.asarray(moc.uniq_hpx, dtype=np.uint64)
    except Exception as error:  # a damaged file
        raise InvalidInputError(f"{path.name} cannot be read as a coverage map (MOC): {error}") from None
    if cells.size == 0:
        raise InvalidInputError(f"{path.name} covers nothing: no pixel was observed.")
    # A cell k of order o has the number 4·4^o + k.
    orders = (np.floor(np.log2(cells.astype(np.float64))).astype(np.int64) - 2) // 2
    order = int(orders.max())
    counts = 4.0 ** (order - orders)
    if counts.sum() > _MAX_MOC_PIXELS:
        raise InvalidInputError(
            f"{path.name} covers {counts.sum():.3g} pixels of its finest order {order}, more than "
            f"{_MAX_MOC_PIXELS:,}: degrade it to a lower order first (mocpy: moc.degrade_to_order)."
        )
    numbers = cells.astype(np.int64) - 4 * 4**orders
    repeats = counts.astype(np.int64)
    first = np.repeat(numbers * repeats, repeats)
    within = np.arange(int(repeats.sum())) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    pixels = first + within
    return HealpixFile(2**order, True, pixels, np.ones(len(pixels)), ICRS.name)
