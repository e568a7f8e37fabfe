"""Von Mises–Fisher inside the real border of the contiguous United States."""

import numpy as np
import pytest

import tmsm
from scenarios.united_states import REPEATS, SETTINGS, estimates


@pytest.mark.parametrize("resolution", ["50m", "110m"])
@pytest.mark.parametrize(("lonlat", "kappa", "spread"), SETTINGS)
def test_concentration_is_unbiased_inside_the_united_states(lonlat, kappa, spread, resolution):
    usa = tmsm.datasets.load_border("usa", resolution)
    found = estimates(usa, lonlat, kappa, range(REPEATS))
    assert abs(found.mean() - kappa) < 3 * found.std() / np.sqrt(REPEATS)
    if resolution == "50m":
        # Four standard errors of a standard deviation.
        assert found.std() == pytest.approx(spread, rel=4 / np.sqrt(2 * REPEATS))


def test_nearest_vertex_is_not_nearest_point():
    # The negative control: the same border as a bare set of vertices biases the fit.
    usa = tmsm.datasets.load_border("usa", "50m")
    vertices = tmsm.BorderPoints(np.vstack(usa.rings), contains=usa.contains)
    lonlat, kappa, _ = SETTINGS[1]
    found = estimates(usa, lonlat, kappa, range(30), fitted=vertices)
    assert abs(found.mean() - kappa) > 3 * found.std() / np.sqrt(30)


def test_the_49th_parallel_is_straight():
    usa = tmsm.datasets.load_border("usa", "110m")
    lon = np.linspace(-122.0, -96.0, 50)
    assert not usa.contains(tmsm.lonlat_to_xyz(lon, 49.3)).any()
    assert usa.contains(tmsm.lonlat_to_xyz(lon, 48.7)).all()
