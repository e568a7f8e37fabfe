"""How much of a kernel lies inside a region, against sums that are computed another way, for every width and place."""

import numpy as np
import pytest

import tmsm
from tests.references.test_maps import BORDERS, bell_points, frame_of
from tmsm.maps.cut_mass import inside_masses
from tmsm.measure.nodes import Grid, build_nodes

AXIS = tmsm.lonlat_to_xyz(20.0, 40.0)
KAPPAS = (0.0, 0.01, 0.5, 2.0, 5.0, 8.3, 30.0, 1e3, 1e6)
LARGE = {
    "box of 300 by 160 degrees": lambda: tmsm.LonLatBox(-150.0, -80.0, 150.0, 80.0),
    "all but a cap at a pole": lambda: tmsm.LonLatBox(-180.0, -60.0, 180.0, 90.0),
    "outside of a triangle": lambda: ~tmsm.SphericalPolygon([tmsm.lonlat_to_xyz([0, 60, 25], [0, 5, 50])]),
    "triangle round an opposite point": lambda: tmsm.SphericalPolygon([tmsm.lonlat_to_xyz([0, 0, 90], [-1e-3, 80, 0])]),
}


def inside_of(region, X, kappa):
    found, exact = inside_masses(region, X, np.full(len(X), kappa), np.random.default_rng(0))
    assert exact
    return found


@pytest.mark.parametrize("radius", [0.05, 0.5, 1.0, 0.5 * np.pi, 1.7, 2.5, 3.1])
def test_a_kernel_cut_by_a_cap_has_its_integral(radius):
    other = np.pi - radius
    d = np.array([0.0, 0.3 * radius, 0.9 * radius, radius - 1e-4, radius, radius + 0.02, other, other + 1e-3, 3.14])
    X = np.cos(d)[:, None] * AXIS + np.sin(d)[:, None] * frame_of(AXIS)[0]
    u = (np.arange(30_000) + 0.5) / 30_000
    for kappa in KAPPAS:
        # 1 − cos of the distances to the centre that divide a kernel into equal parts.
        v = 2.0 * u if kappa == 0.0 else -np.log1p(u * np.expm1(-2.0 * kappa)) / kappa
        # At each of them this share of the circle is nearer to the axis than the radius.
        cosine = np.cos(radius) - (1.0 - v) * np.cos(d)[:, None]
        with np.errstate(divide="ignore"):
            cosine /= np.sqrt(v * (2.0 - v)) * np.sin(d)[:, None]
        expected = np.arccos(np.clip(cosine, -1.0, 1.0)).mean(axis=1) / np.pi
        np.testing.assert_allclose(inside_of(tmsm.Cap(AXIS, radius), X, kappa), expected, atol=5e-5, err_msg=str(kappa))


@pytest.mark.parametrize("name", ["box of degrees", "polygon with hole and island", *LARGE])
def test_kernels_at_corners_and_opposite_to_them_agree_with_even_points(name):
    region = {**BORDERS, **LARGE}[name]()
    corners = np.vstack(region.border_edges(1e-4))
    corners = corners[:: max(len(corners) // 2, 1)][:2]
    sphere = tmsm.Sphere(2)
    aside = sphere.project_tangent(corners, np.tile(1e-5 * frame_of(AXIS)[0], (2, 1)))
    beside = sphere.exponential(corners, aside)
    X = np.vstack([corners, -corners, beside, -beside, sphere.uniform(2, 1)])
    for kappa in (0.01, 2.0, 9.0, 1e5):
        found = inside_of(region, X, kappa)
        expected = [region.contains(bell_points(x, kappa, 20_000)).mean() for x in X]
        # The border is some hundred points of 20,000 long.
        np.testing.assert_allclose(found, expected, atol=1.5e-3, err_msg=str(kappa))


@pytest.mark.parametrize("name", LARGE)
def test_the_uniform_kernel_has_the_share_of_the_area(name):
    region = LARGE[name]()
    area = np.exp(build_nodes(region, Grid(2, 3)).log_weights).sum() / (4.0 * np.pi)
    found = inside_of(region, tmsm.Sphere(2).uniform(20, 0), 0.0)
    np.testing.assert_allclose(found, area, atol=3e-4)
    np.testing.assert_allclose(found, found[0], atol=1e-9)


def test_a_pole_of_a_great_circle_sees_half_of_it():
    region = tmsm.Hemisphere(AXIS)
    X = np.stack([AXIS, -AXIS, frame_of(AXIS)[0]])
    for kappa in (0.5, 3.0, 40.0):
        inside = -np.expm1(-kappa) / -np.expm1(-2.0 * kappa)
        np.testing.assert_allclose(inside_of(region, X, kappa), [inside, 1.0 - inside, 0.5], atol=1e-5)
