"""The border of a country: the true centre is known, and lies at sea.

Points are drawn from a von Mises–Fisher density with its centre off the coast. Those inside the United States are
kept. Score matching and the exact likelihood find the centre. The fit that ignores the border misses it by 10°.
"""

import sys

import numpy as np

import tmsm

TRUTH = {"mean_direction": tmsm.lonlat_to_xyz(-75.0, 31.0), "concentration": 40.0}


def main(picture: str | None = None) -> None:
    model, border = tmsm.VonMisesFisher(), tmsm.datasets.load_border("usa")
    X = model.sample(5000, border, random_state=0, **TRUTH)
    fits = {
        "score matching": tmsm.ScoreMatching(model, border).fit(X),
        "exact likelihood": tmsm.TruncatedMLE(model, border).fit(X),
        "ignoring the border": tmsm.NaiveMLE(model).fit(X),
    }
    for name, fit in fits.items():
        lon, lat = tmsm.xyz_to_lonlat(fit.params_.mean_direction)
        error = np.degrees(fit.std_errors_.mean_direction)
        print(f"{name:<20} {lon:7.2f} {lat:6.2f} ± {error:.2f}°, κ = {fit.params_.concentration:.1f}")
    print(fits["score matching"].summary())
    if picture:
        marks = {"truth": TRUTH["mean_direction"]}
        display = tmsm.FitDisplay.from_estimators(fits, view="map", frame="earth", marks=marks)
        display.figure_.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
