"""A known exposure: points far from the axis are observed less often.

A telescope detects a source at the angle ρ from its axis with probability exp(−2 (1 − cos ρ)). If this probability
is given as ``log_exposure``, the estimate is corrected for it. Without it the estimated centre lies too close to
the axis.
"""

import sys

import numpy as np

import tmsm

AXIS = tmsm.lonlat_to_xyz(0.0, 40.0)
TRUTH = {"mean_direction": tmsm.lonlat_to_xyz(40.0, 20.0), "concentration": 5.0}
RATE = 2.0


def log_exposure(X):
    """Log e(x) = RATE (axis·x − 1), and its gradient."""
    return RATE * (X @ AXIS - 1.0), np.broadcast_to(RATE * AXIS, X.shape)


def main(picture: str | None = None) -> None:
    model, field = tmsm.VonMisesFisher(), tmsm.Cap(AXIS, np.radians(60.0))
    rng = np.random.default_rng(0)
    X = model.sample(9000, field, random_state=rng, **TRUTH)
    X = X[rng.random(len(X)) < np.exp(log_exposure(X)[0])]
    fit = tmsm.ScoreMatching(model, field, log_exposure=log_exposure).fit(X)
    without = tmsm.ScoreMatching(model, field).fit(X)
    print(fit.summary())
    for name, one in (("with the exposure", fit), ("without it", without)):
        lon, lat = tmsm.xyz_to_lonlat(one.params_.mean_direction)
        print(f"{name:<18} {lon:6.1f} {lat:5.1f}, κ = {one.params_.concentration:.2f} (truth: 40, 20, 5)")
    if picture:
        tmsm.FitDisplay.from_estimators({"exposure known": fit, "ignored": without}).figure_.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
