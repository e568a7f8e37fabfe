"""What each family expects outside the border, next to what was counted there."""

from pathlib import Path

from tmsm_experiments.paper import drawing
from tmsm_experiments.paper.families import COUNTED, MAP, RINGS
from tmsm_experiments.paper.instead import families_that_fit
from tmsm_experiments.paper.results import Results, Row

_COUNTED = "counted, with its 95 % interval"
_FITS, _DOES_NOT = "fits inside (95 % interval)", "does not fit inside"
# What is beyond stands at the edge.
_LIMITS = (0.03, 60.0)
_TITLES = {"cyclones": "cyclone fixes", "events": "Storm Events, all", "fatal events": "Storm Events with fatalities"}


def draw(results: Results, folder: Path) -> None:
    """A row of panels for each catalogue, a panel for each ring."""
    tables = [results.read("families"), results.read("families_events")]
    names = list(dict.fromkeys(row["catalogue"] for rows in tables for row in rows))
    rows = {name: [row for table in tables for row in table if row["catalogue"] == name] for name in names}
    size = 0.6 + 2.25 * len(names)
    with drawing.Drawing(folder, "families", 8.6, size, len(names), len(RINGS), sharex=True, sharey=True) as picture:
        for axes, name in zip(picture.axes, names, strict=True):
            for ax, ring in zip(axes, RINGS, strict=True):
                _draw_panel(ax, rows[name], ring)
            axes[0].set_ylabel(_TITLES[name])
        for ax, (low, high) in zip(picture.axes[0], RINGS, strict=True):
            ax.set_title(f"{low:,} to {high:,} km outside")
        picture.axes[-1, 1].set_xlabel("rows expected outside for each row inside")
        picture.legend(columns=3)


def _draw_panel(ax, rows: list[Row], ring: tuple[int, int]) -> None:
    low, high = ring
    families = [row for row in rows if row["family"] not in (COUNTED, MAP)]
    for row in rows:
        if row["family"] == COUNTED:
            ax.axvspan(float(row[f"low_{low}_{high}"]), float(row[f"high_{low}_{high}"]), fc=drawing.ORANGE, alpha=0.35)
            ax.axvline(
                float(row[f"outside_{low}_{high}"]),
                color=drawing.ORANGE,
                lw=1.4,
                label=_COUNTED,
            )
    fitting = [row["family"] for row in families_that_fit(families)]
    for k, row in enumerate(families):
        value, left, right = (float(row[f"{name}_{low}_{high}"]) for name in ("outside", "low", "high"))
        if value != value:
            continue
        fits = row["family"] in fitting
        colour, label = (drawing.BLUE, _FITS) if fits else (drawing.VERMILION, _DOES_NOT)
        ax.plot([left, right], [k, k], color=colour, lw=1.3)
        place = min(max(value, _LIMITS[0]), _LIMITS[1])
        ax.plot(place, k, marker="o", ms=5, ls="none", mec=colour, mfc=colour if fits else "white", label=label)
    ax.set(xscale="log", xlim=_LIMITS, yticks=range(len(families)), yticklabels=[row["family"] for row in families])
    ax.set_ylim(len(families) - 0.5, -0.5)
    ax.set_xticks([0.1, 1.0, 10.0], ["0.1", "1", "10"])
    ax.minorticks_off()
    ax.grid(axis="x", color="0.9", lw=0.6)
