"""NOAA's files by download, kept in a folder so that each is fetched once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tmsm.datasets.hurdat2 import read_hurdat2
from tmsm.datasets.storm_events import StormEvents, read_storm_events
from tmsm.datasets.tables import StormFixes
from tmsm.foundation.errors import DownloadError, InvalidInputError
from tmsm.foundation.progress import with_progress

__all__ = ["fetch_hurdat2", "fetch_storm_events"]

_STORM_EVENTS = "https://www.ncei.noaa.gov/pub/data/swdi/stormevents/csvfiles/"
_HURDAT2_PAGE = "https://www.nhc.noaa.gov/data/"
_HURDAT2 = "https://www.nhc.noaa.gov/data/hurdat/"
_FIRST_YEAR = 1950
_SECONDS = 30.0


def fetch_storm_events(years: Iterable[int], folder: str | Path | None = None) -> StormEvents:
    """Download NOAA Storm Events of some years ("details" and "locations"), and read them.

    Parameters
    ----------
    years
        Calendar years from 1950 on.
    folder
        Where the files are kept; by default the user's cache.  What is there already is not fetched again.

    Examples
    --------
    >>> import tmsm
    >>> events = tmsm.datasets.fetch_storm_events([2017, 2018])  # doctest: +SKIP
    """
    wanted = sorted({int(year) for year in years})
    if not wanted or wanted[0] < _FIRST_YEAR:
        raise InvalidInputError(f"years must be calendar years from {_FIRST_YEAR} on; got {wanted}.")
    target = _folder(folder)
    parts = [(year, part) for year in wanted for part in ("details", "locations")]
    patterns = [rf"StormEvents_{part}-ftp_v[\d.]+_d{year}_c\d+\.csv\.gz" for year, part in parts]
    by_hand = (
        f"Download StormEvents_details… and StormEvents_locations… for these years from {_STORM_EVENTS} by hand "
        "into a folder, and pass it to read_storm_events."
    )
    steps = with_progress(patterns, len(patterns), "Fetching storm events")
    return read_storm_events([_kept_or_fetched(p, target, _STORM_EVENTS, _STORM_EVENTS, by_hand) for p in steps])


def fetch_hurdat2(folder: str | Path | None = None) -> StormFixes:
    """Download NOAA's HURDAT2 for the Atlantic, the newest edition, and read it.

    Parameters
    ----------
    folder
        Where the file is kept; by default the user's cache.  An edition that is there is not fetched again.

    Examples
    --------
    >>> import tmsm
    >>> fixes = tmsm.datasets.fetch_hurdat2()  # doctest: +SKIP
    """
    by_hand = f"Download the Atlantic HURDAT2 text file from {_HURDAT2_PAGE} by hand, and pass it to read_hurdat2."
    pattern = r"hurdat2-1851-\d{4}-\w+\.txt"
    return read_hurdat2(_kept_or_fetched(pattern, _folder(folder), _HURDAT2_PAGE, _HURDAT2, by_hand))


def _folder(folder: str | Path | None) -> Path:
    if folder is not None:
        return Path(folder)
    return Path(_pooch().os_cache("tmsm"))


def _kept_or_fetched(pattern: str, folder: Path, page: str, base: str, by_hand: str) -> Path:
    """The newest file of a pattern: the one in the folder, else the one that a page links to."""
    kept = sorted(path for path in folder.glob("*") if re.fullmatch(pattern, path.name))
    if kept:
        return kept[-1]
    pooch = _pooch()
    from urllib.request import urlopen

    from requests import RequestException

    try:
        with urlopen(page, timeout=_SECONDS) as answer:
            listed = re.findall(pattern, answer.read().decode(errors="replace"))
        if not listed:
            raise DownloadError(f"{page} lists no file {pattern!r}. {by_hand}")
        name = max(listed)
        downloader = pooch.HTTPDownloader(progressbar=False, timeout=_SECONDS)
        # What the agency publishes changes, so there is no checksum to compare with.
        return Path(pooch.retrieve(base + name, known_hash=None, fname=name, path=folder, downloader=downloader))
    except DownloadError:
        raise
    except (OSError, RequestException) as error:
        raise DownloadError(f"{page} cannot be reached ({error}). {by_hand}") from None


def _pooch() -> Any:
    try:
        import pooch
    except ImportError:
        raise DownloadError(
            "Downloads need pooch: install tmsm[data], or download by hand and read the files."
        ) from None
    pooch.get_logger().setLevel("WARNING")
    return pooch
