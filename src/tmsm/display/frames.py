"""The frame that a fit is shown in: that of its rows, or the one that is asked for."""

from __future__ import annotations

from tmsm.inference.fit import Fit
from tmsm.manifolds.frames import PLAIN, Frame, frame_named

__all__ = ["frame_of"]


def frame_of(fit: Fit, frame: str | Frame | None) -> Frame:
    """The frame of a name, or of the rows that a fit has kept where there is no name."""
    if isinstance(frame, Frame):
        return frame
    if frame is not None:
        return frame_named(frame)
    of_rows: Frame = getattr(fit.kept, "frame", PLAIN)
    return of_rows
