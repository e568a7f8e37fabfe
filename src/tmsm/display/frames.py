"""The frame that a fit is shown in: that of its rows, or the one that is asked for."""

from __future__ import annotations

from tmsm.inference.fit import Fit
from tmsm.manifolds.frames import Frame, frame_named

__all__ = ["shown_in"]


def shown_in(fit: Fit, frame: str | Frame | None) -> Fit:
    """The fit, to be shown in the frame of a name; as it is where there is no name."""
    return fit.in_frame(frame_named(frame) if isinstance(frame, str) else frame)
