"""Nodes inside regions: their areas, their sharing, and masses against closed forms and draws."""

import time

import numpy as np
import pytest
from scipy import stats

import tmsm
from tests.registry import EVERYWHERE, REGIONS, star, unit
from tmsm.measure.integrals import plan_nodes
from tmsm.measure.nodes import Grid, build_nodes

VMF = tmsm.VonMisesFisher()
SPHERICAL = [case for case in REGIONS + EVERYWHERE if case.region.manifold == tmsm.Sphere(2)]


def lattice(n):
    """Points of equal area all over S²."""
    k = np.arange(n) + 0.5
    z = 1 - 2 * k / n
    turn = np.pi * (1 + np.sqrt(5)) * k
    return np.column_stack([np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z])


@pytest.mark.parametrize("case", SPHERICAL, ids=repr)
def test_areas_and_membership(case):
    nodes = build_nodes(case.region, Grid(3, 4))
    area = np.exp(nodes.log_weights).sum()
    counted = case.region.contains(lattice(400_000)).mean() * 4 * np.pi
    assert area == pytest.approx(counted, rel=4e-3)
    assert case.region.contains(nodes.X).mean() > 0.99  # nodes of cut cells may lie on the border
    assert (np.exp(nodes.log_weights) >= 0).all()


@pytest.mark.parametrize(
    ("region", "area"),
    [
        (tmsm.SphericalPolygon([np.eye(3)]), np.pi / 2),
        (tmsm.LonLatBox(-100, -20, 30, 70), np.radians(130) * (np.sin(np.radians(70)) + np.sin(np.radians(20)))),
        (tmsm.Cap(unit(1, 2, 3), 0.3), 2 * np.pi * (1 - np.cos(0.3))),
        (tmsm.Cap(unit(1, 2, 3), 3e-5), 4 * np.pi * np.sin(1.5e-5) ** 2),
        (tmsm.Hemisphere(unit(1, 2, 3)) & tmsm.Hemisphere(unit(3, 0, -1)), 2 * (np.pi - np.pi / 2)),
        (tmsm.SphericalPolygon([star(60, 1)]), tmsm.SphericalPolygon([star(60, 1)]).area),
        (~tmsm.SphericalPolygon([star(60, 1)]), 4 * np.pi - tmsm.SphericalPolygon([star(60, 1)]).area),
        # Two halves that touch: their distance is zero along the seam, which is no border.
        (tmsm.LonLatBox(0, -30, 40, 30) | tmsm.LonLatBox(40, -30, 80, 30), np.radians(80)),
    ],
    ids=["octant", "box", "cap", "tiny cap", "lune", "star", "outside of a star", "seam"],
)
def test_exact_areas(region, area):
    # A density that is nearly uniform: its mass is the area over 4π.
    mass = VMF.log_mass(region, mean_direction=[0.0, 0.0, 1.0], concentration=1e-9)
    assert mass.value == pytest.approx(np.log(area / (4 * np.pi)), abs=max(5 * mass.error, 1e-8))
    assert mass.error < 1e-4


def test_nodes_are_built_once_and_shared_by_equal_regions():
    first, second = (tmsm.SphericalPolygon([star(400, 3)]) for _ in range(2))
    grid = Grid(4, 5)
    start = time.perf_counter()
    nodes = build_nodes(first, grid)
    building = time.perf_counter() - start
    finding = []
    for _ in range(5):
        start = time.perf_counter()
        assert build_nodes(second, grid) is nodes
        finding.append(time.perf_counter() - start)
    assert min(finding) < 0.2 * building


@pytest.mark.parametrize("kappa", [1e-3, 6.0, 1e3, 1e6, 1e8])
def test_half_the_mass_lies_on_each_side_of_the_mean(kappa):
    mu = unit(1, 2, 0.5)
    across = unit(2, -1, 0)

    def log_cap(radius):
        """Logarithm of P(μ·x > c) = (e^κ − e^{κc}) / (e^κ − e^{−κ}), c = cos radius."""
        return np.log(-np.expm1(kappa * (np.cos(radius) - 1))) - np.log(-np.expm1(-2 * kappa))

    for region, whole in ((tmsm.Hemisphere(across), 0.0), (tmsm.Hemisphere(across) & tmsm.Cap(mu, 3.1), log_cap(3.1))):
        mass = VMF.log_mass(region, mean_direction=mu, concentration=kappa)
        assert mass.value == pytest.approx(whole - np.log(2), abs=max(3 * mass.error, 1e-12))
    mass = VMF.log_mass(tmsm.Cap(mu, 0.7), mean_direction=mu, concentration=kappa)
    assert mass.value == pytest.approx(log_cap(0.7), abs=1e-9)
    # The mean far outside: all the mass is in the tail next to the border.
    if kappa < 1e4:
        c = np.cos(1.2)
        exact = np.log(np.expm1(kappa * (c + 1))) - kappa * 2 - np.log(-np.expm1(-2 * kappa)) if kappa < 300 else None
        mass = VMF.log_mass(~tmsm.Cap(mu, 1.2), mean_direction=mu, concentration=kappa)
        if exact is not None:
            assert mass.value == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("name", [case.name for case in SPHERICAL if case.region.has_border])
def test_masses_agree_with_draws(name):
    region = next(case.region for case in SPHERICAL if case.name == name)
    model = tmsm.FisherBingham()
    params = {"linear": [2.0, -1.0, 1.0], "quadratic": np.diag([3.0, -1.0, -2.0])}
    n = 200_000
    share = region.contains(model.sample(n, random_state=2, **params)).mean()
    mass = model.log_mass(region, **params)
    assert abs(np.exp(mass.value) - share) < 4.5 * np.sqrt(share * (1 - share) / n) + 3 * mass.error
    assert mass.error < (2e-3 if name == "equator points" else 1e-3)


SIGMA = np.array([[1.0, 0.2], [0.2, 0.6]])


@pytest.mark.parametrize(
    ("region", "exact"),
    [
        (tmsm.HalfSpace([1.0, 0.0], 0.5), stats.norm.logsf(0.5)),
        (tmsm.HalfSpace([1.0, 0.0], 9.0), stats.norm.logsf(9.0)),
        (tmsm.HalfSpace([1.0, -2.0], 0.3), stats.norm(-0.6, np.sqrt(1 - 0.8 + 2.4)).logsf(0.3)),
        (tmsm.Box([-1.0, -np.inf], [1.0, np.inf]), np.log(2 * stats.norm.cdf(1) - 1)),
        (tmsm.Box([0.0, -1.0], [np.inf, 1.5]), None),
        (tmsm.Ball([0.5, 0.0], 1.5), None),
        (~tmsm.Ball([0.5, 0.0], 1.0), None),
        (tmsm.Polygon([[0, 0], [2, 0], [0, 2]]), None),
        (tmsm.Box([0.0, 0.0], [1.0, 1.0]) | tmsm.Box([1.0, 0.0], [2.0, 1.0]), None),
    ],
    ids=repr,
)
def test_masses_of_the_normal_in_the_plane(region, exact):
    params = {"mean": [0.0, 0.3], "covariance": SIGMA}
    model = tmsm.MultivariateNormal()
    mass = model.log_mass(region, **params)
    if exact is not None:
        assert mass.value == pytest.approx(exact, abs=max(3 * mass.error, 3e-6))
    else:
        n = 200_000
        share = region.contains(model.sample(n, random_state=0, **params)).mean()
        assert abs(np.exp(mass.value) - share) < 4.5 * np.sqrt(share * (1 - share) / n)
    assert mass.error < 1e-4


def test_masses_on_curves_and_above_dimension_two():
    interval = tmsm.Box([-0.5], [2.0])
    mass = tmsm.MultivariateNormal().log_mass(interval, mean=[0.4], covariance=[[1.3]])
    normal = stats.norm(0.4, np.sqrt(1.3))
    assert mass.value == pytest.approx(np.log(normal.cdf(2.0) - normal.cdf(-0.5)), abs=1e-12)
    arc = tmsm.Cap([0.0, 1.0], 1.1)
    mass = VMF.log_mass(arc, mean_direction=[0.0, 1.0], concentration=2.0)
    assert mass.value == pytest.approx(np.log(2 * stats.vonmises(2.0).cdf(1.1) - 1), abs=1e-10)
    half = VMF.log_mass(tmsm.Hemisphere(np.eye(10)[0]), mean_direction=np.eye(10)[1], concentration=20.0)
    assert 1e-4 < half.error < 1e-2
    assert abs(half.value + np.log(2)) < 4 * half.error
    with pytest.raises(ValueError, match=r"None of 262,144 draws fell inside the region"):
        VMF.log_mass(tmsm.Cap(-np.eye(5)[0], 0.3), mean_direction=np.eye(5)[0], concentration=50.0)


def test_sharp_densities_use_few_nodes():
    region = tmsm.SphericalPolygon([star(60, 1)])
    theta = VMF.natural_parameters(mean_direction=[1.0, 0.0, 0.0], concentration=1e7)
    assert len(plan_nodes(VMF.at(theta), region).nodes().X) < 100_000


def test_what_is_out_of_reach_is_an_error_and_no_hang():
    # All the mass in a thin ring along the whole border.
    with pytest.raises(ValueError, match=r"nodes would be needed: the density is too concentrated"):
        VMF.log_mass(tmsm.Hemisphere([0, 0, 1.0]), mean_direction=[0, 0, -1.0], concentration=1e6)
    mass = VMF.log_mass(tmsm.Hemisphere([0, 0, 1.0]), mean_direction=[0, 0, -1.0], concentration=1e3)
    assert mass.value == pytest.approx(-1000.0, abs=5 * mass.error + 1e-9)
    assert mass.error < 0.01
    mass = VMF.log_mass(tmsm.Cap([0, 0, 1.0], 1.0), mean_direction=[0, 0, 1.0], concentration=9e9)
    assert abs(mass.value) <= mass.error
