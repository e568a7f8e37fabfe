"""What each family expects outside the border, next to what was counted there."""

from pathlib import Path

from tmsm_experiments.paper import drawing
from tmsm_experiments.paper.families import BACKGROUNDS, COUNTED, MAP, RINGS, with_dagger
from tmsm_experiments.paper.instead import families_that_fit
from tmsm_experiments.paper.results import Results, Row

_FITS, _DOES_NOT = "fits inside, 95 % interval", "does not fit inside, 95 % interval"
_CLUSTERS_ONLY, _NO_FIT = "† clusters only, without the background", "could not be fitted"
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
            value, left, right = (float(row[f"{name}_{low}_{high}"]) for name in ("outside", "low", "high"))
            ax.axvline(value, color=drawing.ORANGE, lw=1.4, label="counted")
            ax.axvspan(left, right, fc=drawing.ORANGE, alpha=0.35, label="95 % interval of what was counted")
    fitting = [row["family"] for row in families_that_fit(families)]
    for k, row in enumerate(families):
        value, left, right = (float(row[f"{name}_{low}_{high}"]) for name in ("outside", "low", "high"))
        if value != value:
            ax.text(1.0, k, _NO_FIT, color="0.4", ha="center", va="center", fontsize=8)
            continue
        fits, clusters_only = row["family"] in fitting, row["family"] in BACKGROUNDS
        colour, label = (drawing.BLUE, _FITS) if fits else (drawing.VERMILION, _DOES_NOT)
        style = {"color": colour, "lw": 1.3, "ms": 5, "mec": colour, "mfc": colour if fits else "white"}
        if clusters_only:
            style |= {"marker": "D", "ms": 4, "ls": ":"}
        else:
            style |= {"marker": "o", "label": label}
        place = min(max(value, _LIMITS[0]), _LIMITS[1])
        ax.plot([left, place, right], [k, k, k], markevery=[1], **style)
    ax.plot([], [], marker="D", ms=4, ls=":", lw=1.3, color=drawing.GREY, label=_CLUSTERS_ONLY)
    names = [with_dagger(row["family"]) for row in families]
    ax.set(xscale="log", xlim=_LIMITS, yticks=range(len(families)), yticklabels=names)
    ax.set_ylim(len(families) - 0.5, -0.5)
    ax.set_xticks([0.1, 1.0, 10.0], ["0.1", "1", "10"])
    ax.minorticks_off()
    ax.grid(axis="x", color="0.9", lw=0.6)
