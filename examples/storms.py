"""Storms: only those inside the United States were seen.

Fixes of Atlantic cyclones depend on each other within a storm, so storms are groups.  Ignoring the border puts
the centre where most was seen; score matching puts it out at sea, with an error that says how little that is known.
"""

import sys

import tmsm


def main(picture: str | None = None) -> None:
    storms, border = tmsm.datasets.load_atlantic_storms(), tmsm.datasets.load_border("usa")
    seen = storms[border.contains(storms.X)]
    model = tmsm.VonMisesFisher()
    fit = tmsm.ScoreMatching(model, border, "geodesic").fit(seen.X, groups=seen.storm)
    naive = tmsm.NaiveMLE(model).fit(seen.X, groups=seen.storm)
    print(fit.summary())
    if picture:
        fits = {"score matching": fit, "ignoring the border": naive}
        tmsm.FitDisplay.from_estimators(fits, view="map", frame="earth").figure_.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
