"""Draw the picture of the first page: what was seen, where each method puts the centre."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tmsm

TRUTH = tmsm.colatlon_to_xyz(np.pi / 2, np.pi)
REGION = tmsm.Cap([-1.0, 0.0, 0.0], np.pi / 2 - 0.2)
MODEL = tmsm.VonMisesFisher()
SEEN, UNSEEN, BORDER = "#2b6cb0", "#c8ccd4", "#c53030"


def plane(X):
    """Colatitude across, longitude up, in degrees: the paper's angle plane."""
    colat, lon = tmsm.xyz_to_colatlon(X)
    return np.degrees(colat), np.degrees(lon)


def main():
    X = MODEL.sample(1500, random_state=3, mean_direction=TRUTH, concentration=6.0)
    inside = REGION.contains(X)
    seen = X[inside]
    naive = tmsm.NaiveMLE(MODEL).fit(seen)
    fit = tmsm.ScoreMatching(MODEL, REGION).fit(seen)

    figure, axes = plt.subplots(figsize=(8.6, 4.3), layout="constrained")
    axes.scatter(*plane(X[~inside]), s=7, color=UNSEEN, label=f"never seen ({np.count_nonzero(~inside):,})")
    axes.scatter(*plane(seen), s=7, color=SEEN, alpha=0.6, linewidths=0, label=f"seen ({len(seen):,})")
    axes.axvline(np.degrees(np.pi / 2 + 0.2), color=BORDER, lw=1.6, label="border")
    axes.plot(*plane(naive.params_.mean_direction[None]), "X", ms=13, mfc="white", mec="black", mew=1.4)
    for ring in fit.confidence_region("mean_direction").rings:
        axes.fill(*plane(ring), fc="#f6ad55", ec="black", lw=1.0, alpha=0.75, zorder=3)
    axes.plot(*plane(fit.params_.mean_direction[None]), "o", ms=7, color="black", zorder=4)
    axes.plot(*plane(TRUTH[None]), "*", ms=17, mfc="#ecc94b", mec="black", mew=1.0, zorder=5)

    def label(text, point, offset):
        axes.annotate(
            text,
            [float(c[0]) for c in plane(np.asarray(point)[None])],
            xytext=offset,
            textcoords="offset points",
            arrowprops={"arrowstyle": "-", "lw": 0.8},
            bbox={"boxstyle": "round,pad=0.3", "fc": "white", "ec": "none", "alpha": 0.9},
            fontsize=9.5,
        )

    kappa, error = fit.params_.concentration, fit.std_errors_.concentration
    label("true centre, κ = 6", TRUTH, (-150, 48))
    label(f"tmsm: κ = {kappa:.1f} ± {error:.1f}\nand its 95 % region", fit.params_.mean_direction, (-165, -62))
    label(f"ordinary fit: κ = {naive.params_.concentration:.1f}", naive.params_.mean_direction, (38, 62))
    axes.set(xlabel="colatitude (degrees)", ylabel="longitude (degrees)", xlim=(20, 180), ylim=(90, 270))
    axes.legend(loc="lower right", frameon=True, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130)


if __name__ == "__main__":
    main()
