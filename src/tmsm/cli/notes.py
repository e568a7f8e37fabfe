"""What a reader of results has to know about how points were read."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds.frames import ICRS, Frame

__all__ = ["notes_on_reading"]

# Names of columns that hold hours.
_HOURS = re.compile(r"hour|hrs?\b|[_\W]h\W?$", re.IGNORECASE)


def notes_on_reading(
    name: str,
    n_without: int,
    n_bad: int,
    first_bad: str | None,
    columns: Sequence[str],
    read_as: Frame,
    frame: Frame,
    longitude: FloatArray,
) -> list[str]:
    """Sentences about a file of this name: rows that were left out, and what its columns were taken for."""
    notes = []
    if n_without:
        notes.append(f"{n_without:,} rows of {name} have no coordinates and were left out.")
    if n_bad:
        rows = "1 bad row" if n_bad == 1 else f"{n_bad:,} bad rows"
        notes.append(f"{rows} of {name} left out; the first: {first_bad}.")
    if read_as == ICRS and _HOURS.search(columns[0]) and (np.abs(longitude) <= 24.0).all():
        notes.append(
            f"The column {columns[0]!r} of {name} looks like hours, and its values were taken for degrees: "
            "multiply it by 15, or write 17:45:40."
        )
    if read_as != frame:
        notes.append(
            f"{name} has {' and '.join(read_as.coordinates)}, which were turned into {' and '.join(frame.coordinates)}."
        )
    return notes
