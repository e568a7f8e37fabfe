import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tmsm

degrees = st.floats(-180, 180, exclude_min=True)


@given(lon=st.lists(degrees, min_size=1, max_size=20), seed=st.integers(0, 10**6))
def test_lonlat_round_trip(lon, seed):
    lon = np.array(lon)
    lat = np.random.default_rng(seed).uniform(-89.999, 89.999, lon.size)
    X = tmsm.lonlat_to_xyz(lon, lat)
    assert tmsm.Sphere(2).contains(X).all()
    back_lon, back_lat = tmsm.xyz_to_lonlat(X)
    np.testing.assert_allclose(back_lat, lat, rtol=0, atol=1e-12)
    # Towards a pole a degree of longitude shrinks: compare on the ground.
    turn = (back_lon - lon + 180.0) % 360.0 - 180.0
    np.testing.assert_allclose(turn * np.cos(np.radians(lat)), 0.0, atol=1e-12)


@given(seed=st.integers(0, 10**6))
def test_colatlon_round_trip(seed):
    rng = np.random.default_rng(seed)
    colat, lon = rng.uniform(1e-3, np.pi - 1e-3, 50), rng.uniform(0, 2 * np.pi, 50)
    back_colat, back_lon = tmsm.xyz_to_colatlon(tmsm.colatlon_to_xyz(colat, lon))
    np.testing.assert_allclose(back_colat, colat, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.sin(colat) * (back_lon - lon), 0.0, atol=1e-12)
    X = tmsm.Sphere(2).uniform(50, seed)
    np.testing.assert_allclose(tmsm.colatlon_to_xyz(*tmsm.xyz_to_colatlon(X)), X, rtol=0, atol=1e-14)
    np.testing.assert_allclose(tmsm.lonlat_to_xyz(*tmsm.xyz_to_lonlat(X)), X, rtol=0, atol=1e-14)


def test_exact_at_the_poles_and_at_every_quarter():
    lon = np.array([0.0, 90.0, 180.0, 270.0, 360.0, -90.0, -180.0, 45.0])
    X = tmsm.lonlat_to_xyz(lon, 0.0)
    expected = [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [1, 0, 0], [0, -1, 0], [-1, 0, 0]]
    np.testing.assert_array_equal(X[:7], expected)
    np.testing.assert_array_equal(tmsm.lonlat_to_xyz(lon, 90.0), np.tile([0, 0, 1], (8, 1)))
    np.testing.assert_array_equal(tmsm.lonlat_to_xyz(lon, -90.0), np.tile([0, 0, -1], (8, 1)))
    back_lon, back_lat = tmsm.xyz_to_lonlat([[0.0, 0.0, 1.0], [-0.0, -0.0, -1.0], [-1.0, -0.0, 0.0]])
    np.testing.assert_array_equal(back_lon, [0.0, 0.0, 180.0])
    np.testing.assert_array_equal(back_lat, [90.0, -90.0, 0.0])


def test_longitudes_beyond_the_seam_are_the_same_points():
    np.testing.assert_array_equal(tmsm.lonlat_to_xyz([350.0, 190.0], 10.0), tmsm.lonlat_to_xyz([-10.0, -170.0], 10.0))
    _, lon = tmsm.xyz_to_colatlon([[0.0, 1.0, -1e-20], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [-1.0, -0.0, -0.0]])
    np.testing.assert_array_equal(lon, 0.0)
    colat, _ = tmsm.xyz_to_colatlon([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [np.cos(1e-9), np.sin(1e-9), 0.0]])
    np.testing.assert_allclose(colat, [0.0, np.pi, 1e-9], rtol=1e-15)


def test_the_papers_axes():
    # μ* = (π/2, π) is (0, −1, 0), and φ > π/2 is x₁ < 0.
    np.testing.assert_array_equal(tmsm.colatlon_to_xyz(np.pi / 2, np.pi), [0.0, -1.0, 0.0])
    np.testing.assert_array_equal(tmsm.colatlon_to_xyz([0.0, np.pi], 1.0), [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    assert tmsm.colatlon_to_xyz(np.pi / 2 + 0.1, 1.0)[0] < 0


def test_numbers_and_arrays():
    assert tmsm.lonlat_to_xyz(10, 20).shape == (3,)
    assert tmsm.lonlat_to_xyz([10], [20]).shape == (1, 3)
    lon, lat = tmsm.xyz_to_lonlat(tmsm.lonlat_to_xyz(10, 20))
    assert isinstance(lon, float)
    assert isinstance(lat, float)
    assert (lon, lat) == pytest.approx((10, 20))
