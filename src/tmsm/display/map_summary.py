"""A density map in words: the text of a summary, and what a notebook shows."""

from __future__ import annotations

from html import escape
from typing import Protocol

from tmsm.display.notebook import embedded_picture
from tmsm.display.plots.map_display import MapDisplay
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.text import facts_text, shortened
from tmsm.maps.region_density import RegionDensity

__all__ = ["Mapped", "map_html", "map_summary"]


class Mapped(Protocol):
    """A fitted map."""

    @property
    def density_(self) -> RegionDensity:
        """The density that was found."""

    @property
    def kept_rows_(self) -> FloatArray:
        """Some of the rows, shape (m, D)."""

    @property
    def n_samples_(self) -> int:
        """Number of rows."""

    @property
    def held_out_(self) -> float:
        """Mean log density of rows that were held out."""

    def facts(self) -> list[tuple[str, str]]:
        """How the map came about: pairs of a name and words."""


def map_summary(fitted: Mapped) -> str:
    """A heading and the facts."""
    facts = facts_text([(name, shortened(text)) for name, text in fitted.facts()])
    rule = "─" * max(len(line) for line in facts.splitlines())
    return "\n".join([f"{type(fitted).__name__}, {fitted.n_samples_:,} rows", rule, facts])


def map_html(fitted: Mapped) -> str:
    """The facts and a small map; everything escaped."""
    body = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in fitted.facts())
    display = MapDisplay(fitted.density_, fitted.kept_rows_)
    picture = embedded_picture(lambda ax: display.plot(ax, legend=False), "density map")
    return f"<div><strong>{escape(type(fitted).__name__)}</strong><table><tbody>{body}</tbody></table>{picture}</div>"
