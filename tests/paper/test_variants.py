"""The storms' centre in planes and with the reference code's distance, and the shares by the coast."""

import numpy as np
import pytest

import tmsm
from tmsm_experiments.paper import catalogues, tables, variants

CENTRE = tmsm.lonlat_to_xyz(-96.0, 39.0)


@pytest.fixture(scope="module")
def border():
    return tmsm.datasets.load_border("usa")


def drawn(border, n=4000):
    mean = tmsm.lonlat_to_xyz(-92.0, 38.0)
    return tmsm.VonMisesFisher().sample(n, border, random_state=0, mean_direction=mean, concentration=60.0)


def test_the_plane_has_equal_areas_and_leads_back():
    plane = variants.EqualArea(CENTRE)
    X = tmsm.lonlat_to_xyz(*np.random.default_rng(0).uniform([-120.0, 20.0], [-70.0, 50.0], (20, 2)).T)
    flat = plane.flat(X)
    np.testing.assert_allclose([plane.back(point) for point in flat], X, atol=1e-12)
    tangents = np.linalg.svd(X[:, None, :])[2][:, 1:]
    step = 1e-6
    for x, frame in zip(X, tangents, strict=True):
        moved = [[x + sign * step * t for t in frame] for sign in (1.0, -1.0)]
        ahead, behind = (plane.flat(np.array(Z) / np.linalg.norm(Z, axis=1, keepdims=True)) for Z in moved)
        assert abs(np.linalg.det((ahead - behind) / (2.0 * step))) == pytest.approx(1.0, abs=1e-6)


def test_planes_agree_with_the_sphere_where_the_world_is_nearly_flat():
    mean = tmsm.lonlat_to_xyz(-96.2, 39.1)
    box = tmsm.SphericalPolygon([tmsm.lonlat_to_xyz([-97.0, -95.0, -95.0, -97.0], [38.2, 38.2, 39.8, 39.8])])
    X = tmsm.VonMisesFisher().sample(5000, box, random_state=1, mean_direction=mean, concentration=2e4)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), box, "geodesic").fit(X)
    found = variants.truncsm(X, box, variants.EqualArea(CENTRE))
    assert np.arccos(found @ fit.params_.mean_direction) < 0.05 * fit.std_errors_.mean_direction


def test_nearest_vertices(border):
    X, vertices = drawn(border, 50), np.vstack(border.rings)
    direct = np.linalg.norm(X[:, None, :] - vertices, axis=-1).argmin(axis=1)
    np.testing.assert_array_equal(variants.nearest_vertices(X, border), vertices[direct])


def test_the_codes_gradient_moves_the_centre(border):
    X = drawn(border)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), border, "geodesic").fit(X)
    ours, flat = fit.params_.mean_direction, variants.truncsm(X, border, variants.EqualArea(CENTRE))
    assert catalogues.kilometres(flat, ours) < 0.5 * catalogues.kilometres(variants.as_coded(X, border), ours)


def test_shares_by_the_coast(border):
    X = drawn(border, 500)
    direct = np.mean(catalogues.km_to_east_coast(X, "50m") < catalogues.COAST_KM)
    assert catalogues.share_by_the_coast(X, "50m") == pytest.approx(direct)
    nodes, area = catalogues.area_inside("50m")
    assert border.contains(nodes).all()
    assert catalogues.share_by_the_coast(nodes, "50m", area) == pytest.approx(0.072, abs=0.002)


def test_vertices_in_the_files():
    assert [catalogues.vertices_in_file(name) for name in catalogues.RESOLUTIONS] == [1987, 232]


def test_repeated_cells_are_left_empty():
    rows = [("a", "b", "1"), ("a", "b", "2"), ("a", "c", "3"), ("a", "b", "4")]
    assert tables.without_repeats(rows, 2) == [("a", "b", "1"), ("", "", "2"), ("a", "c", "3"), ("a", "b", "4")]
