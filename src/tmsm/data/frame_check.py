"""Points, borders and maps of one fit must be in one frame."""

from __future__ import annotations

from typing import Any

from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds.frames import FRAMES, PLAIN, Frame

__all__ = ["check_frame", "frame_of"]

_IN_WORDS = {"earth": "on the Earth", "icrs": "in ICRS", "galactic": "in galactic coordinates"}


def frame_of(rows: Any) -> Frame:
    """The frame of rows; PLAIN, which agrees with all, where nothing is known."""
    frame: Frame = getattr(rows, "frame", PLAIN)
    return frame


def check_frame(name: str | None, rows: Any, what: str) -> None:
    """Raise where something of a named frame, such as "The exposure map", meets rows of another."""
    frame = frame_of(rows)
    if name is None or name == PLAIN.name or frame.name in (PLAIN.name, name):
        return
    raise InvalidInputError(
        f"{what} is {_IN_WORDS[name]} and the points are {_IN_WORDS[frame.name]}. "
        f"Give the points in {FRAMES[name].coordinates[0]} and {FRAMES[name].coordinates[1]} of that frame, or convert "
        f"{what[0].lower()}{what[1:]}."
    )
