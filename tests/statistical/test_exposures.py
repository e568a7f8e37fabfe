"""A known exposure is taken back, however it is given; without it the estimate is far off."""

import numpy as np
import pytest

import tmsm
from tmsm.data.map_grids import RingGrid
from tmsm.manifolds.lonlat import point_at

CAP = tmsm.Cap(tmsm.lonlat_to_xyz(40.0, 30.0), 0.7)
MODEL, CENTER, CONCENTRATION = tmsm.VonMisesFisher(), tmsm.lonlat_to_xyz(55.0, 20.0), 8.0
SLOPE = np.array([1.5, -1.0, 2.0])


def log_exposure(X):
    return X @ SLOPE + np.log1p(0.5 * X[..., 0] * X[..., 1])


def with_gradient(X):
    share = 0.5 / (1.0 + 0.5 * X[:, 0] * X[:, 1])
    return log_exposure(X), SLOPE + np.column_stack([share * X[:, 1], share * X[:, 0], np.zeros(len(X))])


def healpix_map():
    return tmsm.ExposureMap.from_healpix(np.exp(log_exposure(RingGrid.healpix(64).centres(np.arange(12 * 64**2)))))


def raster_map():
    lon, lat = np.arange(-179.5, 180.0), np.arange(-89.5, 90.0)
    return tmsm.ExposureMap.from_raster(np.exp(log_exposure(point_at(*np.meshgrid(lon, lat)))), lon, lat)


ESTIMATORS = {
    "combined": lambda **k: tmsm.ScoreMatching(MODEL, CAP, "combined", **k),
    "distance": lambda **k: tmsm.ScoreMatching(MODEL, CAP, "geodesic", **k),
    "refined": lambda **k: tmsm.ScoreMatching(MODEL, CAP, refine="mle", **k),
    "likelihood": lambda **k: tmsm.TruncatedMLE(MODEL, CAP, **k),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_values_and_maps_serve_like_gradients(name):
    rng = np.random.default_rng(2)
    X = MODEL.sample(40_000, CAP, random_state=rng, mean_direction=CENTER, concentration=CONCENTRATION)
    X = X[rng.random(len(X)) < np.exp(log_exposure(X) - log_exposure(X).max())]
    known = ESTIMATORS[name](log_exposure=with_gradient).fit(X)
    errors = np.sqrt(np.diag(known.covariance_))

    def away(fit, theta):
        return float(np.abs((fit.natural_params_ - theta) / errors).max())

    truth = CONCENTRATION * CENTER
    assert away(known, truth) < 3.5
    for exposure, limit in ((log_exposure, 1e-6), (healpix_map(), 0.02), (raster_map(), 0.02)):
        assert away(ESTIMATORS[name](log_exposure=exposure).fit(X), known.natural_params_) < limit
    assert away(ESTIMATORS[name]().fit(X), truth) > 15.0  # the control
