"""The units that people read distances in."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DistanceUnit"]


@dataclass(frozen=True)
class DistanceUnit:
    """The unit in which people read distances.

    Attributes
    ----------
    scale
        The number of these units in one unit of the geodesic distance.
    symbol, name
        The symbol and the name of the unit.
    """

    scale: float = 1.0
    symbol: str = ""
    name: str = ""

    def text(self, distance: float) -> str:
        """A distance to three digits."""
        return f"{self.scale * distance:.3g}{self.symbol}"
