"""Draw the picture of the README: the centre of the Milky Way, found from the clusters that are seen in the north."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tmsm

CLUSTERS = tmsm.datasets.load_globular_clusters()
TRUTH = tmsm.lonlat_to_xyz(266.417, -29.008)  # Sagittarius A*
LIMITS = np.arange(-34, 1, 2)
NAMES = ("tmsm", "border ignored")


def fits(limit):
    """Both fits of the clusters north of a declination in degrees."""
    model, view = tmsm.VonMisesFisher(), tmsm.Cap([0.0, 0.0, 1.0], radius=np.radians(90.0 - limit))
    X = CLUSTERS.X[CLUSTERS.declination > limit]
    return {"tmsm": tmsm.ScoreMatching(model, view).fit(X), "border ignored": tmsm.NaiveMLE(model).fit(X)}


def distance(fit):
    """From the fitted centre to the true one, in degrees."""
    return np.degrees(np.arccos(fit.params_.mean_direction @ TRUTH))


def main():
    figure, (sky, curve) = plt.subplots(1, 2, figsize=(10.0, 4.9), width_ratios=(1.05, 1.0), layout="constrained")
    marks = {"true centre: Sagittarius A*": TRUTH, "clusters not seen": CLUSTERS.X[CLUSTERS.declination <= -20]}
    tmsm.FitDisplay.from_estimators(fits(-20), frame="icrs", marks=marks, density=False, legend=False, ax=sky)
    handles, labels = sky.get_legend_handles_labels()
    for points, label in zip(handles, labels, strict=True):
        if label.startswith("rows"):  # few points: larger and darker than in a picture of thousands
            points.set(sizes=[26.0], alpha=0.9)
    shown = [
        (h, label.split(" (")[0].replace("rows", "clusters seen")) for h, label in zip(handles, labels, strict=True)
    ]
    figure.legend(*zip(*shown, strict=True), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    sky.set_title("48 of 150 globular clusters, seen north of −20°", fontsize=10, pad=26)

    errors = np.array([[distance(fit) for fit in fits(limit).values()] for limit in LIMITS])
    places = ((-12.5, 38.0), (-23.0, 19.0))
    for values, name, colour, marker, place in zip(
        errors.T, NAMES, ("#0072B2", "#D55E00"), "oX", places[::-1], strict=True
    ):
        curve.plot(LIMITS, values, marker=marker, color=colour, ms=5)
        curve.text(*place, f"{name}: {values.mean():.0f}° on average", color=colour, fontsize=9)
    curve.set_title("The same at 18 limits of the view", fontsize=10, pad=26)
    curve.set(
        xlabel="southern limit of the view (declination, degrees)", ylabel="distance to the true centre (degrees)"
    )
    curve.set_ylim(bottom=0.0)
    curve.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("galaxy.png"), dpi=100)


if __name__ == "__main__":
    main()
