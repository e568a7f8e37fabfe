"""Von Mises–Fisher inside the real border of the contiguous United States."""

import numpy as np
import pytest

import tmsm
from tests.shared_data import data_file

# (mean lon/lat, κ) and the spread of κ̂ with the geodesic weight at n = 10,000.
SETTINGS = [((-97.0, 39.0), 30.0, 1.17), ((-80.0, 31.0), 60.0, 2.3), ((-112.0, 34.0), 200.0, 3.6)]
REPEATS = 100


def estimates(region, lonlat, kappa, seeds, fitted=None):
    model = tmsm.VonMisesFisher()
    estimator = tmsm.ScoreMatching(model, fitted or region, "geodesic", standard_errors=False)
    mu = tmsm.lonlat_to_xyz(*lonlat)
    return np.array(
        [
            estimator.fit(
                model.sample(10_000, region, random_state=seed, mean_direction=mu, concentration=kappa)
            ).params_.concentration
            for seed in seeds
        ]
    )


@pytest.mark.parametrize("resolution", ["50m", "110m"])
@pytest.mark.parametrize(("lonlat", "kappa", "spread"), SETTINGS)
def test_concentration_is_unbiased_inside_the_united_states(lonlat, kappa, spread, resolution):
    usa = tmsm.SphericalPolygon.from_geojson(data_file(f"usa_contiguous_{resolution}.geojson"))
    found = estimates(usa, lonlat, kappa, range(REPEATS))
    assert abs(found.mean() - kappa) < 3 * found.std() / np.sqrt(REPEATS)
    if resolution == "50m":
        # Four standard errors of a standard deviation.
        assert found.std() == pytest.approx(spread, rel=4 / np.sqrt(2 * REPEATS))


def test_nearest_vertex_is_not_nearest_point():
    # The negative control: the same border as a bare set of vertices biases the fit.
    usa = tmsm.SphericalPolygon.from_geojson(data_file("usa_contiguous_50m.geojson"))
    vertices = tmsm.BorderPoints(np.vstack(usa.rings), contains=usa.contains)
    lonlat, kappa, _ = SETTINGS[1]
    found = estimates(usa, lonlat, kappa, range(30), fitted=vertices)
    assert abs(found.mean() - kappa) > 3 * found.std() / np.sqrt(30)


def test_the_49th_parallel_is_straight():
    usa = tmsm.SphericalPolygon.from_geojson(data_file("usa_contiguous_110m.geojson"))
    lon = np.linspace(-122.0, -96.0, 50)
    assert not usa.contains(tmsm.lonlat_to_xyz(lon, 49.3)).any()
    assert usa.contains(tmsm.lonlat_to_xyz(lon, 48.7)).all()
