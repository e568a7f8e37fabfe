"""Draw the idea of truncated score matching on an interval: density, gradient of its logarithm, weights."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

LOW, HIGH, MEAN, SCALE = 0.0, 2.5, -0.4, 0.4
INK, BLUE, ORANGE, GREY = "#222222", "#0072B2", "#D55E00", "#9A9A9A"


def main():
    x = np.linspace(-2.6, 3.4, 1201)
    seen = (x > LOW) & (x < HIGH)
    density = np.exp(-0.5 * (x - MEAN) ** 2) / np.sqrt(2.0 * np.pi)
    draws = np.random.default_rng(3).normal(MEAN, 1.0, 500)
    rows = draws[(draws > LOW) & (draws < HIGH)][:70]
    d = np.minimum(x - LOW, HIGH - x)[seen]

    figure, (top, middle, bottom) = plt.subplots(
        3, 1, figsize=(7.4, 6.4), sharex=True, layout="constrained", height_ratios=[1.25, 1.0, 1.0]
    )
    top.plot(x, density, "--", color=GREY, lw=1.4, label="density where nothing was seen")
    top.plot(x[seen], density[seen], color=BLUE, lw=2.2, label="density inside the region")
    top.plot(rows, np.full(rows.size, -0.022), "|", color=INK, ms=8, label="rows")
    top.plot([MEAN, MEAN], [0.0, density.max()], ":", color=ORANGE, lw=1.8)
    top.annotate(
        "mean, outside\nthe region",
        (MEAN, 0.2),
        (-2.05, 0.30),
        color=ORANGE,
        arrowprops={"arrowstyle": "-", "color": ORANGE},
    )
    top.plot(x[seen], 2.9 * density[seen], color=BLUE, lw=1.0, alpha=0.55, label="density inside, multiplied by 2.9")
    top.set(ylabel="density", ylim=(-0.06, 1.12))
    top.legend(frameon=False, fontsize=9, loc="upper left")

    middle.plot(x, MEAN - x, "--", color=GREY, lw=1.4)
    middle.plot(x[seen], (MEAN - x)[seen], color=BLUE, lw=2.2)
    middle.axhline(0.0, color=GREY, lw=0.6)
    middle.plot([MEAN], [0.0], "o", color=ORANGE, ms=7)
    middle.annotate("the same line for both curves above;\nit is zero at the mean", (-2.5, -3.4), fontsize=9, color=INK)
    middle.set(ylabel="gradient of\nthe log density")

    bottom.plot(x[seen], d / d.max(), color=ORANGE, lw=2.0, label="distance d,\ndivided by its maximum")
    bottom.plot(x[seen], 1.0 - np.exp(-d / SCALE), color=BLUE, lw=2.2, label="saturating,\n1 − exp(−d/0.4)")
    bottom.set(ylabel="weight", xlabel="x", ylim=(-0.05, 1.1), xlim=(-2.6, 3.4))
    bottom.legend(frameon=False, fontsize=9, loc="upper left")

    for axes in (top, middle, bottom):
        axes.axvspan(LOW, HIGH, color=BLUE, alpha=0.07, lw=0)
        for border in (LOW, HIGH):
            axes.axvline(border, color=INK, lw=1.2)
        axes.spines[["top", "right"]].set_visible(False)
    top.text(HIGH + 0.05, 0.98, "border", fontsize=9)
    top.text(1.25, 0.98, "region", fontsize=9, ha="center")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=120)


if __name__ == "__main__":
    main()
