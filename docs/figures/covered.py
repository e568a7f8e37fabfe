"""Draw docs/figures/covered.png from the recorded study: how often regions and intervals contain the truth."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from tmsm_experiments.coverage import report

BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#D8D8D8", "#222222"
PLACES = {
    "inside the region": "inside",
    "on its border": "border",
    "10° outside": "10° off",
    "30° outside": "30° off",
    "60° outside": "60° off",
    "outside, in flat space": "off",
    "no centre (flat)": "flat",
}
PANELS = (
    ("Centre", 0.0, ("region covers", "confidence region"), ("ellipse covers", "ellipse of the delta method")),
    (
        "Other parameters (another scale)",
        75.0,
        ("interval lowest", "interval (profile)"),
        ("wald lowest", "estimate ± 1.96 standard errors"),
    ),
)


def main():
    rows = list(report.read().values())
    rng = np.random.default_rng(0)  # spreads the points of a line a little, to make them visible
    figure, panels = plt.subplots(1, 2, figsize=(10.4, 4.9), sharey=True, layout="constrained")
    for axes, (title, lowest, *kinds) in zip(panels, PANELS, strict=True):
        axes.axvspan(92.0, 98.0, color=GREY, lw=0, label="wanted: 92 to 98 %")
        axes.axvline(95.0, color=INK, lw=0.8)
        for (column, label), colour, shift in zip(kinds, (BLUE, ORANGE), (-0.17, 0.17), strict=True):
            shares, heights = [], []
            for height, centre in enumerate(PLACES.values()):
                found = [100.0 * float(row[column]) for row in rows if row["centre"] == centre and row[column]]
                shares += found
                heights += list(height + shift + rng.uniform(-0.11, 0.11, len(found)))
            axes.plot(shares, heights, "o", ms=4, color=colour, alpha=0.65, mew=0, label=label)
        axes.set(xlabel="samples in which the truth is covered, %", xlim=(lowest, 101.0))
        axes.legend(title=title, title_fontsize=11, frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set(yticks=range(len(PLACES)), yticklabels=PLACES, ylabel="true centre", ylim=(len(PLACES) - 0.4, -0.6))
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=120)


if __name__ == "__main__":
    main()
