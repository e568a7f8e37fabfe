"""A density map in words: the text of a summary, and what a notebook shows."""

from __future__ import annotations

from html import escape
from typing import Protocol

from tmsm.display.notebook import embedded_picture
from tmsm.display.plots.map_display import MapDisplay
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.text import facts_text, shortened
from tmsm.maps.region_density import RegionDensity
from tmsm.maps.series_fit import SeriesFit

__all__ = ["Mapped", "full_name", "map_html", "map_summary"]


class Mapped(Protocol):
    """A fitted map."""

    @property
    def density_(self) -> RegionDensity:
        """The density that was found."""

    @property
    def kept_rows_(self) -> FloatArray:
        """Some of the rows, shape (m, D)."""

    @property
    def map_name(self) -> str:
        """What pages and tables call this kind of map."""

    @property
    def smoothings_(self) -> SeriesFit | None:
        """The fit whose other smoothings a page shows; None where there are none."""

    @property
    def n_samples_(self) -> int:
        """Number of rows."""

    @property
    def held_out_(self) -> float:
        """Mean log density of rows that were held out."""

    @property
    def cautions(self) -> list[str]:
        """What to be wary of, in sentences."""

    def facts(self) -> list[tuple[str, str]]:
        """How the map came about: pairs of a name and words."""


def full_name(fitted: Mapped) -> str:
    """What a map is called, with its class: smooth map (DensityMap)."""
    return f"{fitted.map_name} ({type(fitted).__name__})"


def map_summary(fitted: Mapped) -> str:
    """A heading and the facts."""
    facts = facts_text([(name, shortened(text)) for name, text in fitted.facts()])
    rule = "─" * max(len(line) for line in facts.splitlines())
    heading = full_name(fitted)
    return "\n".join([f"{heading[0].upper()}{heading[1:]}, {fitted.n_samples_:,} rows", rule, facts])


def map_html(fitted: Mapped) -> str:
    """The facts and a small map; everything escaped."""
    body = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in fitted.facts())
    display = MapDisplay(fitted.density_, fitted.kept_rows_)
    picture = embedded_picture(lambda ax: display.plot(ax, legend=False), "density map")
    return f"<div><strong>{escape(full_name(fitted))}</strong><table><tbody>{body}</tbody></table>{picture}</div>"
