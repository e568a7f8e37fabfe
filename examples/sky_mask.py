"""A sky mask: the dust of the Milky Way hides stars.

The region is the union of the HEALPix pixels that are farther than 20° from the galactic plane. Its border is the
outline of these pixels. The simulated directions have their centre inside the hidden band.
"""

import sys

import numpy as np
from astropy_healpix import HEALPix

import tmsm

NSIDE = 16
TRUTH = {"mean_direction": tmsm.lonlat_to_xyz(60.0, 5.0), "concentration": 3.0}


def main(picture: str | None = None) -> None:
    grid = HEALPix(NSIDE, order="ring")
    latitude = grid.healpix_to_lonlat(np.arange(grid.npix))[1].to_value("deg")
    sky = tmsm.HealpixMask(NSIDE, np.flatnonzero(np.abs(latitude) > 20.0))
    model = tmsm.VonMisesFisher()
    X = model.sample(4000, sky, random_state=0, **TRUTH)
    fit = tmsm.ScoreMatching(model, sky).fit(X)
    print(fit.summary())
    if picture:
        fits = {"score matching": fit, "ignoring the mask": tmsm.NaiveMLE(model).fit(X)}
        tmsm.FitDisplay.from_estimators(fits, frame="galactic").figure_.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
