"""The Milky Way: only the globular clusters north of declination −20° are used.

Globular clusters surround the centre of the Galaxy, Sagittarius A*, which lies outside this view. The ordinary fit
puts the centre into the middle of the observed clusters, 39° from the true one. Score matching misses it by 1°,
with a standard error of 11°.
"""

import sys

import numpy as np

import tmsm


def main(picture: str | None = None) -> None:
    clusters = tmsm.datasets.load_globular_clusters()
    seen = clusters.declination > -20.0
    view = tmsm.Cap([0.0, 0.0, 1.0], radius=np.radians(110.0))  # what can be seen from the north
    truth = tmsm.lonlat_to_xyz(266.417, -29.008)  # Sagittarius A*
    model = tmsm.VonMisesFisher()
    fit = tmsm.ScoreMatching(model, view).fit(clusters.X[seen])
    print(fit.summary())
    print("Sagittarius A* is inside the 95 % confidence region:", fit.covers(truth))
    if picture:
        fits = {"score matching": fit, "ignoring the border": tmsm.NaiveMLE(model).fit(clusters.X[seen])}
        marks = {"Sagittarius A*": truth, "clusters that were not seen": clusters.X[~seen]}
        display = tmsm.FitDisplay.from_estimators(fits, frame="icrs", marks=marks, density=False)
        display.figure_.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
