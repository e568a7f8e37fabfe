"""Masses of regions with small parts: the stated error bounds the true one."""

from functools import reduce
from operator import or_

import numpy as np
import pytest
from scipy import special, stats

import tmsm
from tests.registry import unit
from tmsm.measure.nodes import Grid, build_nodes

VMF = tmsm.VonMisesFisher()
SPHERE = tmsm.Sphere(2)
NORTH = {"mean_direction": [0.0, 0.0, 1.0]}


def angle(a, b):
    return float(np.arccos(np.clip(a @ b, -1.0, 1.0)))


def cap_mass(center, radius, mean, kappa):
    """P(x in the cap): rings of constant distance ρ to the centre, each a Bessel function."""
    x, w = np.polynomial.legendre.leggauss(200)
    rho, step = 0.5 * radius * (1.0 + x), 0.5 * radius * w
    cosine, sine = center @ mean, np.linalg.norm(np.cross(center, mean))
    across = kappa * sine * np.sin(rho)
    exponent = kappa * (cosine * np.cos(rho) - 1.0) + across
    return float(kappa / -np.expm1(-2.0 * kappa) * (step * np.sin(rho) * np.exp(exponent) * special.i0e(across)).sum())


def cell_corner(rng):
    """A corner of a cell of some level on a face of the cube, or a point on its side."""
    parts = 2.0 ** rng.integers(1, 9)
    u, v = np.floor(rng.uniform(-1, 1, 2) * parts) / parts
    v = rng.uniform(-1, 1) if rng.random() < 0.3 else v
    return unit(*np.roll([rng.choice([-1.0, 1.0]), u, v], rng.integers(3)))


def archipelago(rng):
    """Disjoint caps, some with holes, islands down to 1e-4 radians on corners of cells and anywhere."""
    caps, parts = [], []
    for k in range(9):
        large = k < 2
        center = SPHERE.uniform(1, rng)[0] if large or rng.random() < 0.4 else cell_corner(rng)
        radius = rng.uniform(0.1, 0.5) if large else float(np.exp(rng.uniform(np.log(1e-4), np.log(0.03))))
        if any(angle(center, c) < 1.02 * (radius + r) for c, r, sign in caps if sign > 0):
            continue
        caps.append((center, radius, 1.0))
        part = tmsm.Cap(center, radius)
        if large:
            hole = (unit(*(center + 0.3 * radius * rng.standard_normal(3))), 0.1 * radius * rng.random() ** 2 + 1e-4)
            if angle(center, hole[0]) + hole[1] < 0.98 * radius:
                caps.append((*hole, -1.0))
                part = part & ~tmsm.Cap(*hole)
        parts.append(part)
    return reduce(or_, parts), caps


def test_an_island_on_the_corner_of_a_cell():
    region = tmsm.Cap([0.0, 0.0, 1.0], 0.01) | tmsm.Cap([1.0, 0.0, 0.0], 0.5)
    mean = unit(0, 0, 1)
    for kappa in (1.0, 1000.0):
        exact = np.log(cap_mass(mean, 0.01, mean, kappa) + cap_mass(unit(1, 0, 0), 0.5, mean, kappa))
        mass = VMF.log_mass(region, concentration=kappa, **NORTH)
        assert abs(mass.value - exact) <= mass.error < 1e-5
    # The island alone, cut out of the grid: π r² and not the square about it.
    nodes = build_nodes(region, Grid(2, 3))
    island = np.exp(nodes.log_weights[nodes.X[:, 2] > 0.9]).sum()
    assert island == pytest.approx(2 * np.pi * (1 - np.cos(0.01)), rel=0.03)


@pytest.mark.parametrize("seed", range(4))
def test_archipelagos(seed):
    rng = np.random.default_rng(seed)
    region, caps = archipelago(rng)
    kappa = (0.01, 3.0, 60.0)[seed % 3]
    mean = caps[rng.integers(len(caps))][0]
    exact = sum(sign * cap_mass(center, radius, mean, kappa) for center, radius, sign in caps)
    if seed % 4 == 3:
        region, exact = ~region, 1.0 - exact
    mass = VMF.log_mass(region, mean_direction=mean, concentration=kappa)
    assert abs(mass.value - np.log(exact)) <= mass.error < 1e-4


def rough_ring(rng, center, radius, m):
    across = np.linalg.svd(center[None, :])[2][1:]
    turn, r = np.linspace(0, 2 * np.pi, m, endpoint=False), radius * rng.uniform(0.5, 1.0, m)
    rim = np.cos(turn)[:, None] * across[0] + np.sin(turn)[:, None] * across[1]
    return np.cos(r)[:, None] * center + np.sin(r)[:, None] * rim


@pytest.mark.parametrize("seed", range(2))
def test_polygons_of_many_parts(seed):
    rng = np.random.default_rng(seed)
    centers, radii, rings = [], [], []
    for _ in range(30):
        center, radius = cell_corner(rng), float(np.exp(rng.uniform(np.log(1e-4), np.log(0.3))))
        if all(angle(center, c) > 1.05 * (radius + r) for c, r in zip(centers, radii, strict=True)):
            centers.append(center)
            radii.append(radius)
            rings.append(rough_ring(rng, center, radius, int(rng.integers(3, 40))))
            if len(rings) % 3 == 0:
                rings.append(rough_ring(rng, center, 0.2 * radius, 7))
    region = tmsm.SphericalPolygon(rings)
    mass = VMF.log_mass(region, concentration=1e-9, **NORTH)
    assert abs(mass.value - np.log(region.area / (4 * np.pi))) <= mass.error < 1e-3


def test_thin_boxes_and_straits():
    def share(west, south, east, north):
        return (east - west) / 720.0 * (np.sin(np.radians(north)) - np.sin(np.radians(south)))

    boxes = [(0, 10, 8, 10.1), (70, 0, 70.2, 9), (100, 0, 110, 8), (110.1, 0, 120, 8)]
    region = reduce(or_, (tmsm.LonLatBox(*box) for box in boxes))
    mass = VMF.log_mass(region, concentration=1e-9, **NORTH)
    assert abs(mass.value - np.log(sum(share(*box) for box in boxes))) <= mass.error < 1e-3
    # What is left out of a band: two caps of a hundredth of a degree round the poles.
    poles = ~tmsm.LonLatBox(-180, -89.99, 180, 89.99) | tmsm.LonLatBox(0, -10, 40, 10)
    exact = share(0, -10, 40, 10) + 1.0 - np.sin(np.radians(89.99))
    mass = VMF.log_mass(poles, concentration=1e-9, **NORTH)
    assert abs(mass.value - np.log(exact)) <= mass.error + 1e-9 < 1e-4


def test_tiny_arcs_on_the_circle():
    rng = np.random.default_rng(0)
    for _ in range(20):
        at = np.sort(rng.choice(400, 6, replace=False)) * (2 * np.pi / 400)
        radius = np.exp(rng.uniform(np.log(1e-7), np.log(7e-3), 6))
        region = reduce(or_, (tmsm.Cap([np.cos(a), np.sin(a)], r) for a, r in zip(at, radius, strict=True)))
        kappa, mean = float(np.exp(rng.uniform(-3, 5))), rng.uniform(0, 2 * np.pi)
        x, w = np.polynomial.legendre.leggauss(40)
        s = at[:, None] + radius[:, None] * x
        density = np.exp(kappa * (np.cos(s - mean) - 1.0)) / (2 * np.pi * special.i0e(kappa))
        mass = VMF.log_mass(region, mean_direction=[np.cos(mean), np.sin(mean)], concentration=kappa)
        assert abs(mass.value - np.log((radius[:, None] * w * density).sum())) <= mass.error < 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_small_parts_in_the_plane(seed):
    rng = np.random.default_rng(seed)
    parts, exact, taken = [], 0.0, []
    for _ in range(7):
        center, radius = rng.integers(-16, 17, 2) / 8.0, float(np.exp(rng.uniform(np.log(1e-4), np.log(0.6))))
        if any(np.linalg.norm(center - c) < 1.02 * (radius + r) for c, r in taken):
            continue
        taken.append((center, radius))
        if rng.random() < 0.5:
            parts.append(tmsm.Ball(center, radius))
            x, w = np.polynomial.legendre.leggauss(60)
            rho, far = 0.5 * radius * (1.0 + x), np.linalg.norm(center)
            terms = rho * np.exp(-0.5 * (rho - far) ** 2) * special.i0e(rho * far)
            exact += float(0.5 * radius * (w * terms).sum())
        else:
            half = radius * np.array([0.1, 0.9])
            parts.append(tmsm.Box(center - half, center + half))
            exact += float(np.prod(np.diff(stats.norm.cdf([center - half, center + half]), axis=0)))
    mass = tmsm.MultivariateNormal().log_mass(reduce(or_, parts), mean=[0.0, 0.0], covariance=np.eye(2))
    assert abs(mass.value - np.log(exact)) <= mass.error + 1e-11 < 1e-4


def test_a_likelihood_over_many_islands():
    rng = np.random.default_rng(0)
    grid = [(lon, lat) for lon in np.arange(-60, 60, 6.0) for lat in np.arange(-30, 31, 6.0)]
    centers = tmsm.lonlat_to_xyz(*np.array(grid).T)
    region = tmsm.SphericalPolygon([rough_ring(rng, c, 0.006, 8) for c in centers])
    params = {"mean_direction": unit(1, 0.2, 0.1), "concentration": 4.0}
    draws = VMF.sample(300_000, random_state=1, **params)
    fit = tmsm.TruncatedMLE(VMF, region).fit(draws[region.contains(draws)])
    assert abs(fit.params_.concentration - 4.0) < 3.5 * fit.std_errors_.concentration
    assert fit.quadrature_error_ < 0.25
    assert fit.n_nodes_ < 1_500_000
