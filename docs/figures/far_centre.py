"""Draw docs/figures/far_centre.png: the confidence region of a centre beyond the border, and the ellipse that fails."""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tmsm

CAP = tmsm.Cap([0.0, 0.0, 1.0], 0.5)
TRUTH = tmsm.lonlat_to_xyz(0.0, 90.0 - np.degrees(0.5) - 30.0)
MODEL = tmsm.VonMisesFisher()
SEEN, BORDER, REGION, ELLIPSE = "#2b6cb0", "#c53030", "#f6ad55", "#6b46c1"


def flat(X):
    """Angle from the pole, in the direction of the longitude: longitude 0 points to the right."""
    lon, lat = tmsm.xyz_to_lonlat(np.atleast_2d(X))
    away = 90.0 - lat
    return away * np.cos(np.radians(lon)), away * np.sin(np.radians(lon))


def closed(ring):
    return np.vstack([ring, ring[:1]])


def main():
    X = MODEL.sample(200, CAP, random_state=0, mean_direction=TRUTH, concentration=6.0)
    fit = tmsm.ScoreMatching(MODEL, CAP).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tmsm.errors.TmsmWarning)  # that the ellipse is too small: it is shown here
        ellipse = fit.mean_direction_ellipse()
    region = fit.confidence_region("mean_direction").rings[0]

    figure, axes = plt.subplots(figsize=(8.6, 3.7))
    axes.scatter(*flat(X), s=7, color=SEEN, alpha=0.6, linewidths=0, label="200 points")
    axes.add_patch(plt.Circle((0.0, 0.0), np.degrees(0.5), fill=False, color=BORDER, lw=1.6, label="border"))
    axes.fill(*flat(closed(region)), fc=REGION, ec="black", lw=1.2, alpha=0.55, label="95 % confidence region")
    axes.plot(*flat(closed(ellipse)), "--", color=ELLIPSE, lw=1.8, label="ellipse of the delta method")
    axes.plot(*flat(fit.params_.mean_direction), "o", ms=7, color="black", label="estimated centre")
    axes.plot(*flat(TRUTH), "*", ms=16, mfc="#ecc94b", mec="black", mew=1.0, label="true centre")
    axes.set(
        aspect="equal", xlim=(-33, 100), ylim=(-33, 33), xlabel="degrees from the centre of the cap", ylabel="degrees"
    )
    axes.legend(loc="upper left", frameon=False, fontsize=9, bbox_to_anchor=(1.0, 1.0))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130, bbox_inches="tight")


if __name__ == "__main__":
    main()
