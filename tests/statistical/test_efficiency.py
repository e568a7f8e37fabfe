"""What the default weights are worth on every kind of manifold: the Cramér–Rao bound over the asymptotic covariance.

Both are integrals, so that nothing here is left to chance but the scales that are taken from draws.
"""

import numpy as np
import pytest

import tmsm
from scenarios import direction_energy, ellipsoid, hyperbolic, rotations, torus, triangle
from scenarios.efficiency import efficiency, nodes_of
from tmsm import weights

SINGLE = weights.Auto(combine=False)
ROWS = 3000


def angles(name):
    _, box = torus.SETTINGS[name]
    theta = torus.theta(name)
    return torus.MODEL, box, theta, *nodes_of(torus.MODEL, box, theta)


def turned(name):
    model, region, theta = rotations.MODEL, rotations.REGIONS[name], rotations.THETA
    return model, region, theta, *nodes_of(model, region, theta)


def energies(name):
    params, threshold = direction_energy.SETTINGS[name]
    model, region = direction_energy.MODEL, direction_energy.region(threshold)
    theta = model.natural_parameters(**params)
    return model, region, theta, *nodes_of(model, region, theta)


def in_triangle(family, name):
    return triangle.FAMILIES[family], triangle.REGION, triangle.theta(family, name), *triangle.nodes(4)


def on_ellipsoid(statistics, border):
    theta, nodes = ellipsoid.TRUTH[statistics], ellipsoid.nodes(border, 40_000)
    return ellipsoid.model(statistics), ellipsoid.region(border), theta, *nodes


def in_ball(place):
    X, area = hyperbolic.polar_nodes()
    return hyperbolic.MODEL, hyperbolic.BALL, hyperbolic.theta(place), X, np.log(area)


# What is integrated, the weight, the least share of the bound, and the most that the distance itself reaches.
CASES = {
    "torus, inside": (angles, ("inside",), SINGLE, 0.95, 0.80),
    "torus, corner": (angles, ("corner",), SINGLE, 0.84, 0.72),
    "torus, outside": (angles, ("outside",), SINGLE, 0.86, 0.72),
    "torus, corner, combined": (angles, ("corner",), "auto", 0.94, 0.72),
    "three angles": (angles, ("three angles",), SINGLE, 0.89, 0.72),
    "rotations": (turned, ("mode on the border",), "auto", 0.94, 0.80),
    "axis of rotations": (turned, ("axis on the border",), "auto", 0.94, 0.80),
    "direction × energy": (energies, ("mean outside",), "auto", 0.95, 0.78),
    "triangle, outside": (in_triangle, ("von Mises–Fisher", "outside"), "auto", 0.92, 0.60),
    "triangle, Fisher–Bingham": (in_triangle, ("Fisher–Bingham", "corner"), "auto", 0.92, 0.68),
    "ellipsoid, flat": (on_ellipsoid, (ellipsoid.linear, ellipsoid.flat), "constraints", 0.80, 0.87),
    "ellipsoid, flat, combined": (on_ellipsoid, (ellipsoid.linear, ellipsoid.flat), "auto", 0.95, 0.87),
    "ellipsoid, wavy": (on_ellipsoid, (ellipsoid.quadratic, ellipsoid.wavy), "constraints", 0.75, 0.76),
    "ellipsoid, wavy, combined": (on_ellipsoid, (ellipsoid.quadratic, ellipsoid.wavy), "auto", 0.85, 0.76),
    "hyperbolic": (in_ball, ("border",), "auto", 0.97, 0.80),
}


@pytest.mark.parametrize("case", CASES)
def test_efficiency(case):
    integrated, of_what, weight, least, most_of_the_distance = CASES[case]
    setting = integrated(*of_what)
    ours, control = (efficiency(*setting[:3], one, *setting[3:], ROWS).share for one in (weight, "geodesic"))
    assert least <= ours < 1.001
    assert control < min(most_of_the_distance, ours)


def test_half_of_a_sphere_of_many_dimensions():
    """95 % regions of the mean hold it, and those of the likelihood that ignores the border do not."""
    model, mean, half = tmsm.VonMisesFisher(), np.eye(50)[1], tmsm.Hemisphere(np.eye(50)[0])
    ours, naive, repeats = 0, 0, 100
    for seed in range(repeats):
        X = model.sample(1000, half, random_state=seed, mean_direction=mean, concentration=50.0)
        ours += tmsm.ScoreMatching(model, half).fit(X).covers(mean)
        naive += tmsm.NaiveMLE(model).fit(X).covers(mean)
    assert ours >= 88  # of 100 at 95 %: fewer in one of 600 runs
    assert naive < 5
