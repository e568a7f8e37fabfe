"""The share of a map's mass in a region, with its error."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from tmsm.foundation.text import readable
from tmsm.inference.delta import check_level, critical_square

__all__ = ["Share"]


@final
class Share(float):
    """A share of the mass with its standard error: a number between 0 and 1; `share` of a map makes it.

    Attributes
    ----------
    value
        The share.
    std_error
        Its standard error.

    Examples
    --------
    >>> from tmsm.maps.shares import Share
    >>> share = Share(0.25, 0.02)
    >>> float(share), [round(end, 3) for end in share.confidence_interval()]
    (0.25, [0.213, 0.291])
    """

    std_error: float

    def __new__(cls, value: float, std_error: float) -> Share:
        """A share and its standard error."""
        made = super().__new__(cls, min(max(value, 0.0), 1.0))
        made.std_error = float(std_error)
        return made

    @property
    def value(self) -> float:
        """The share alone."""
        return float(self)

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """(low, high), symmetric on the scale log(share/(1 − share)).

        Parameters
        ----------
        level
            Confidence level between 0 and 1.
        """
        level, p = check_level(level), float(self)
        if not 1e-12 < p < 1.0 - 1e-12:
            return p, p
        reach = float(np.sqrt(critical_square(1, level))) * self.std_error / (p * (1.0 - p))
        centre = float(np.log(p) - np.log1p(-p))
        low, high = (
            float(1.0 / (1.0 + np.exp(-np.clip(end, -700.0, 700.0)))) for end in (centre - reach, centre + reach)
        )
        return low, high

    def __repr__(self) -> str:
        low, high = self.confidence_interval()
        return f"<share {float(self):.3g} ± {self.std_error:.2g}, 95 % interval {readable(low)} to {readable(high)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Share, (float(self), self.std_error)
