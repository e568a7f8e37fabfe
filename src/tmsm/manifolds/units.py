"""The units that people read distances in."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DistanceUnit"]


@dataclass(frozen=True)
class DistanceUnit:
    """The unit that people read distances in: ``scale`` of them are one unit of the geodesic distance."""

    scale: float = 1.0
    symbol: str = ""
    name: str = ""

    def text(self, distance: float) -> str:
        """A distance to three digits."""
        return f"{self.scale * distance:.3g}{self.symbol}"
