"""Nodes in dimension three: charts, cubes cut by planes, volumes, masses and likelihoods against closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

import tmsm
from tests.registry import unit
from tmsm.manifolds import SolidChart
from tmsm.measure.half_cubes import cut_cubes
from tmsm.measure.integrals import plan_nodes
from tmsm.measure.nodes import Grid, build_nodes, has_nodes
from tmsm.measure.solids import solid_nodes

NORMAL, VMF = tmsm.MultivariateNormal(), tmsm.VonMisesFisher()
SPHERE, LINE, CIRCLE = tmsm.Sphere(2), tmsm.Euclidean(1), tmsm.Sphere(1)
MU = np.array([0.3, -0.2, 0.4])
SIGMA = np.array([[1.0, 0.3, 0.1], [0.3, 0.8, -0.2], [0.1, -0.2, 0.5]])
CUBE = ((-1.0,) * 3, (1.0,) * 3)

CHARTS = [
    (tmsm.Euclidean(3), ((-1.0, 0.0, 2.0), (1.0, 3.0, 2.5)), 3.0),
    (tmsm.Torus(3), None, (2 * np.pi) ** 3),
    (SPHERE * LINE, ((-1.0,) * 3 + (0.5,), (1.0,) * 3 + (2.0,)), 6 * np.pi),
    (CIRCLE * SPHERE, None, 8 * np.pi**2),
    (CIRCLE * tmsm.Euclidean(2), ((-1.0, -1.0, 0.0, 1.0), (1.0, 1.0, 2.0, 4.0)), 12 * np.pi),
    (tmsm.Sphere(3), None, 2 * np.pi**2),
    (tmsm.Rotations(), None, np.pi**2),
    (tmsm.Hyperbolic(3), ((-0.4, 0.1, 0.0), (0.5, 0.6, 1.2)), None),
    (tmsm.Hyperbolic(2) * CIRCLE, ((-0.4, 0.1, -1.0, -1.0), (0.5, 0.6, 1.0, 1.0)), None),
]


@pytest.mark.parametrize(("manifold", "window", "volume"), CHARTS, ids=[repr(case[0]) for case in CHARTS])
def test_charts(manifold, window, volume):
    chart = manifold.charts(window)
    assert isinstance(chart, SolidChart)
    rng = np.random.default_rng(0)
    face = rng.integers(chart.faces, size=3000)
    s = chart.low + chart.side * rng.uniform(0.05, 0.95, (3000, 3))
    X = chart.points(face, s)
    assert manifold.contains(X).all()
    slopes, h = chart.slopes(face, s), 1e-5
    for k, e in enumerate(np.eye(3)):
        velocity = (chart.points(face, s + h * e) - chart.points(face, s - h * e)) / (2 * h)
        np.testing.assert_allclose(slopes[k], manifold.tangent_of(X, velocity), atol=1e-6)
        # Tangents have the lengths that the scales allow.
        assert (np.linalg.norm(slopes[k] / chart.scales, axis=1) <= 1 + 1e-6).all()
    J = np.stack(slopes, axis=2)
    np.testing.assert_allclose(chart.density(face, s), np.sqrt(np.linalg.det(np.swapaxes(J, 1, 2) @ J)), rtol=1e-6)
    half = 0.05 * chart.side
    for corner in half * np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1]]):
        assert (manifold.geodesic_distance(X, chart.points(face, s + corner)) <= chart.radius(half) * (1 + 1e-9)).all()
    # The border as a plane: next to a point it is the signed distance to first order.
    if manifold.is_closed:
        ball = tmsm.GeodesicBall(manifold, X[0], 1.1)
        d, inward = ball.signed_distance(X)
        plane = chart.plane(face, s, X, d, inward)
        step = 1e-4 * rng.standard_normal((3000, 3))
        there = ball.signed_distance(chart.points(face, s + step))[0]
        near = np.abs(d) < 0.03
        assert np.abs(plane[:, 0] + (plane[:, 1:] * step).sum(axis=1) - there)[near].max() < 1e-5
        assert near.sum() > 10
    if volume is not None:
        everywhere = tmsm.Everywhere(manifold)
        assert np.exp(build_nodes(everywhere, Grid(1, 0, window)).log_weights).sum() == pytest.approx(volume, rel=1e-6)


def test_cut_cubes():
    rng = np.random.default_rng(1)
    forms = rng.standard_normal((40, 4))
    forms[:6] = [[0, 0, 0, 1], [0.3125, 0, -1, 0], [0.5, 1, 1, 1], [-2.5, 1, -1, 1], [9, 1, 1, 1], [-9, 1, 1, 1]]
    x = (np.arange(64) + 0.5) / 32 - 1
    S = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=3).reshape(-1, 3)
    cut = cut_cubes(forms)
    nodes = np.stack(cut.nodes(), axis=1)
    on_cut = np.stack([cut.original(s) for s in cut.on_cut()], axis=1)
    for k, form in enumerate(forms):
        inside = S[form[0] + S @ form[1:] > 0]
        assert cut.volume[k] == pytest.approx(8 * len(inside) / len(S), abs=4e-3)
        if len(inside) > 5_000:
            np.testing.assert_allclose(nodes[k].mean(axis=0), inside.mean(axis=0), atol=2e-3)
            np.testing.assert_allclose(np.cov(nodes[k].T, bias=True), np.cov(inside.T, bias=True), atol=2e-3)
        if cut.area[k] > 0:
            np.testing.assert_allclose(form[0] + on_cut[k] @ form[1:], 0, atol=1e-12)


CAP = tmsm.Cap(unit(1, 2, -1, 0.5), 0.8)
BALL = tmsm.Ball([0.0, 0.0, 0.0], 1.0)
HALVES = [
    tmsm.HalfSpace([1.0, 0.0, 0.0], -0.7),
    tmsm.HalfSpace([0.0, 1.0, 0.0], -0.4),
    tmsm.HalfSpace([0, 0, 1.0], 0.13),
]
LENS = (1 - 0.3 / np.sqrt(2)) ** 2 * (2 + 0.3 / np.sqrt(2)) / 3 * np.pi
VOLUMES = {
    "ball": (BALL, CUBE, 4 / 3 * np.pi, 3),
    "tiny ball": (tmsm.Ball([0.1, 0.2, 0.3], 2e-4), CUBE, 4 / 3 * np.pi * 8e-12, 2),
    "outside of a ball": (~BALL, ((-1.1, -1.2, -1.05), (1.0, 1.03, 1.3)), 2.1 * 2.23 * 2.35 - 4 / 3 * np.pi, 3),
    "cap of S3": (tmsm.GeodesicBall(tmsm.Sphere(3), CAP.center, 0.8), None, np.pi * (1.6 - np.sin(1.6)), 2),
    "edges along the grid": (HALVES[0] & HALVES[1] & HALVES[2], CUBE, 1.7 * 1.4 * 0.87, 3),
    "sharp edge": (BALL & tmsm.HalfSpace([1.0, 1.0, 0.0], 0.3), CUBE, LENS, 3),
    "union": (
        tmsm.Ball([-0.4, 0, 0], 0.5) | tmsm.Ball([0.4, 0, 0], 0.5),
        CUBE,
        np.pi / 3 - 2 * np.pi * 0.01 * 1.4 / 3,
        3,
    ),
    "seam": (
        tmsm.Box([-0.7, -0.5, -0.5], [0.1, 0.5, 0.5]) | tmsm.Box([0.1, -0.5, -0.5], [0.6, 0.5, 0.5]),
        CUBE,
        1.3,
        3,
    ),
    "ball of the torus": (
        tmsm.GeodesicBall(tmsm.Torus(3), np.tile([0.6, 0.8], 3), 1.1),
        None,
        4 / 3 * np.pi * 1.331,
        3,
    ),
    "hyperbolic ball": (
        tmsm.GeodesicBall(tmsm.Hyperbolic(3), [0.2, 0.0, 0.3], 0.9),
        ((-1.5,) * 3, (1.9,) * 3),
        np.pi * (np.sinh(1.8) - 1.8),
        3,
    ),
}


@pytest.mark.parametrize("name", VOLUMES)
def test_volumes_and_what_is_in_doubt(name):
    region, window, volume, depth = VOLUMES[name]
    chart = region.manifold.charts(window)
    errors = []
    for leaf in (1, 4 if name == "tiny ball" else 3):
        nodes = solid_nodes(region, chart, depth, depth + leaf)
        assert (nodes.weights >= 0).all()
        errors.append(abs(nodes.weights.sum() / volume - 1))
        doubts = nodes.doubts
        stated = np.abs(doubts.bias.sum()) + 3 * np.linalg.norm(doubts.spread) + doubts.blind.sum()
        assert errors[-1] <= stated / volume + 1e-9
    assert errors[1] < 1e-5
    assert stated / volume < (2e-4 if name == "tiny ball" else 2e-5)


def test_a_plane_that_is_not_fitted_is_far_worse(monkeypatch):
    """The control: without the bend of the border the error is of second order."""
    chart = BALL.manifold.charts(CUBE)
    fitted = solid_nodes(BALL, chart, 3, 5).weights.sum()
    monkeypatch.setattr("tmsm.measure.half_cubes.CutCubes.bent", lambda self, offsets: self)
    plain = solid_nodes(BALL, chart, 3, 5).weights.sum()
    truth = 4 / 3 * np.pi
    assert abs(fitted / truth - 1) < 2e-6
    assert abs(plain / truth - 1) > 5e-4


def ball_mass(r, s):
    return stats.ncx2.logcdf(r**2 / s**2, 3, MU @ MU / s**2)


@pytest.mark.parametrize(("r", "s"), [(1.5, 1.0), (1e-3, 1.0), (5.0, 1.0), (1.0, 0.15)])
def test_normal_mass_in_balls(r, s):
    ball = tmsm.Ball([0.0, 0.0, 0.0], r)
    params = {"mean": MU, "covariance": np.eye(3) * s**2}
    mass = NORMAL.log_mass(ball, **params)
    assert abs(mass.value - ball_mass(r, s)) <= mass.error < 2e-5
    if r == 1.5:
        outside = NORMAL.log_mass(~ball, **params)
        assert abs(outside.value - np.log1p(-np.exp(ball_mass(r, s)))) <= outside.error < 2e-5


@pytest.mark.parametrize(("offset", "units"), [(0.5, (1, 1, 1)), (4.0, (1, 1, 1)), (0.5, (100, 1, 0.1))])
def test_normal_mass_in_half_spaces(offset, units):
    units = np.array(units)
    normal = np.array([1.0, -2.0, 0.5])
    exact = stats.norm(normal @ MU, np.sqrt(normal @ SIGMA @ normal)).logsf(offset)
    mass = NORMAL.log_mass(
        tmsm.HalfSpace(normal / units, offset), mean=MU * units, covariance=SIGMA * np.outer(units, units)
    )
    assert abs(mass.value - exact) <= mass.error < 1e-3


def test_boxes_in_space_are_products_of_intervals():
    box = tmsm.Box([-1.0, -0.5, -np.inf], [1.0, np.inf, np.inf])
    deviations = np.array([1.0, 0.7, 0.5])
    mass = NORMAL.log_mass(box, mean=MU, covariance=np.diag(deviations**2))
    sides = [stats.norm(m, s) for m, s in zip(MU, deviations, strict=True)]
    exact = np.log(sides[0].cdf(1) - sides[0].cdf(-1)) + sides[1].logsf(-0.5)
    assert mass.value == pytest.approx(exact, abs=1e-11)
    assert box.sides[2] == tmsm.Everywhere(tmsm.Euclidean(1))
    rounded = tmsm.Box([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], rounded=0.1)
    assert [side.bounds[0].item() for side in rounded.sides] == pytest.approx([0.05] * 3)


def cap_mass(kappa, angle, radius):
    """The mass of a von Mises–Fisher density on S³ in a cap whose centre is an angle away from its mean."""

    def shell(r):
        across = kappa * np.sin(r) * np.sin(angle)
        return np.exp(kappa * (np.cos(r - angle) - 1)) * np.sin(r) ** 2 * -np.expm1(-2 * across) / across

    part, whole = (integrate.quad(shell, 0, end, epsabs=0, epsrel=1e-12, limit=300)[0] for end in (radius, np.pi))
    return np.log(part / whole)


@pytest.mark.parametrize("kappa", [1.0, 20.0, 300.0])
def test_balls_of_the_three_sphere_and_of_rotations(kappa):
    mean = unit(0, 1, 0, 0.1)
    angle = np.arccos(CAP.center @ mean)
    own = VMF.log_mass(CAP, mean_direction=mean, concentration=kappa)
    assert own.value == pytest.approx(cap_mass(kappa, angle, 0.8), abs=max(own.error, 1e-9))
    ball = tmsm.GeodesicBall(tmsm.Sphere(3), CAP.center, 0.8)
    mass = VMF.log_mass(ball, mean_direction=mean, concentration=kappa)
    assert abs(mass.value - cap_mass(kappa, angle, 0.8)) <= mass.error < 2e-5


def test_a_range_of_motion_written_as_a_function():
    center = unit(1, -2, 0.5, 1)
    cap = tmsm.RotationCap(center, 1.2)
    same = tmsm.Implicit(lambda q: (q @ center) ** 2 - np.cos(0.6) ** 2, tmsm.Rotations())
    model, params = (
        tmsm.MatrixFisher(),
        {"parameter": cap.manifold.to_matrices([center])[0] @ np.diag([4.0, 2.0, -1.0])},
    )
    exact = model.log_mass(cap, **params).value
    for region, value in ((same, exact), (~cap, np.log1p(-np.exp(exact)))):
        mass = model.log_mass(region, **params)
        assert abs(mass.value - value) <= mass.error < 2e-5


def test_a_box_of_angles_as_an_intersection_and_as_functions():
    low, high = np.array([-1.0, 2.5, 0.2]), np.array([1.3, -2.5, 2.0])
    box = tmsm.AngleBox(low, high)
    half = 0.5 * np.remainder(high - low, 2 * np.pi)
    turns = np.column_stack([np.cos(low + half), np.sin(low + half)])
    functions = [lambda x, k=k: x[2 * k : 2 * k + 2] @ turns[k] - np.cos(half[k]) for k in range(3)]
    circle = tmsm.Everywhere(CIRCLE)
    arcs = [tmsm.Cap(turn, h) for turn, h in zip(turns, half, strict=True)]
    crossing = (arcs[0] * circle * circle) & (circle * arcs[1] * circle) & (circle * circle * arcs[2])
    model = tmsm.SineVonMises().on(tmsm.Torus(3))
    params = {
        "mean_angles": [0.5, -2.8, 1.0],
        "concentration": [2.0, 2.0, 2.5],
        "interaction": [[0.0, 0.8, -0.6], [0.8, 0.0, 0.5], [-0.6, 0.5, 0.0]],
    }
    exact = model.log_mass(box, **params)
    mass = model.log_mass(crossing, **params)
    assert abs(mass.value - exact.value) <= mass.error < 2e-5
    theta = model.natural_parameters(**params)
    nodes = build_nodes(tmsm.Implicit(functions, tmsm.Torus(3)), Grid(3, 1))
    log_integral = np.log(np.exp(model.log_kernel(nodes.X, theta) + nodes.log_weights).sum())
    assert log_integral - model.log_normaliser(theta) == pytest.approx(exact.value, abs=3e-4)


def test_regions_of_products_that_are_no_products():
    space = SPHERE * LINE
    model = (VMF * NORMAL).on(space)
    params = {"mean_direction": unit(1, -2, 1), "concentration": 3.0, "mean": [0.4], "covariance": [[1.3]]}
    product = tmsm.Hemisphere([0.0, 0.0, 1.0]) * tmsm.Box([0.0], [2.0])
    outside = model.log_mass(~product, **params)
    assert abs(outside.value - np.log1p(-np.exp(model.log_mass(product, **params).value))) <= outside.error < 2e-5
    # The height of the line above the direction's own: z + x₃ is a sum of two independent numbers.
    slanted = tmsm.Implicit(lambda x: x[3] - x[2] - 0.3, space)
    mass = model.log_mass(slanted, **params)
    n = 300_000
    share = slanted.contains(model.sample(n, random_state=0, **params)).mean()
    assert abs(mass.value - np.log(share)) < 4 * np.sqrt((1 - share) / share / n)
    assert mass.error < 2e-5


def test_everywhere_in_dimension_three():
    for manifold in (tmsm.Torus(3), tmsm.Sphere(3), tmsm.Rotations(), CIRCLE * SPHERE, SPHERE * LINE):
        assert has_nodes(tmsm.Everywhere(manifold))
    assert not has_nodes(tmsm.Everywhere(tmsm.Euclidean(4)))
    family = tmsm.ExponentialFamily(lambda x: 2.0 * x[:3], tmsm.Sphere(3))
    theta = np.array([1.0, 0.5, -2.0])
    X = tmsm.Sphere(3).uniform(5, 0)
    kappa = 2.0 * np.linalg.norm(theta)
    exact = VMF.logpdf(X, mean_direction=np.append(2.0 * theta / kappa, 0.0), concentration=kappa)
    np.testing.assert_allclose(family.logpdf(X, coefficients=theta), exact, atol=1e-6)


def test_likelihood_in_a_ball():
    """The maximum agrees with one by SciPy in spherical coordinates, and with that by draws to their error."""
    ball, n = tmsm.Ball([0.0, 0.0, 0.0], 1.5), 1000
    X = NORMAL.sample(n, ball, random_state=1, mean=MU, covariance=SIGMA)
    fit = tmsm.TruncatedMLE(NORMAL, ball).fit(X)
    assert fit.result_.nodes.cell is not None  # a grid
    assert fit.quadrature_error_ < 0.05
    assert fit.n_nodes_ < 200_000
    model = NORMAL.on(tmsm.Euclidean(3))
    r, dr = (0.75 * a for a in np.polynomial.legendre.leggauss(24))
    z, dz = np.polynomial.legendre.leggauss(24)
    turn = 2 * np.pi * np.arange(32) / 32
    R, Z, T = (a.ravel() for a in np.meshgrid(r + 0.75, z, turn, indexing="ij"))
    rim = np.sqrt(1 - Z**2)
    nodes = np.column_stack([R * rim * np.cos(T), R * rim * np.sin(T), R * Z])
    weights = (np.multiply.outer(np.outer(dr, dz), np.full(32, 2 * np.pi / 32))).ravel() * R**2
    t, mean = model.statistics(nodes), model.statistics(X).mean(axis=0)

    def objective(theta):
        e = (t - mean) @ theta
        q = weights * np.exp(e - e.max())
        return e.max() + np.log(q.sum()), q @ (t - mean) / q.sum()

    best = optimize.minimize(objective, fit.natural_params_, jac=True, method="BFGS", options={"gtol": 1e-8})
    deviation = np.sqrt(np.diag(fit.covariance_))
    assert np.abs((best.x - fit.natural_params_) / deviation).max() < fit.quadrature_error_ + 1e-3
    assert fit.log_likelihood_ == pytest.approx(-best.fun, abs=1e-5)


def test_nodes_move_the_estimate_by_less_than_they_say():
    region = tmsm.Ball([0.0, 0.0, 0.0], 1.5) & ~tmsm.Ball([0.2, 0.0, 0.0], 0.7)
    X = NORMAL.sample(2000, region, random_state=1, mean=MU, covariance=SIGMA)
    fit = tmsm.TruncatedMLE(NORMAL, region).fit(X)
    model = NORMAL.on(tmsm.Euclidean(3))
    plan = plan_nodes(model.at(fit.natural_params_), region, X)
    fine = build_nodes(region, Grid(plan.grid.cell, 4, plan.grid.window))
    t = model.statistics(fine.X) - model.statistics(X).mean(axis=0)
    e = t @ fit.natural_params_ + fine.log_weights
    q = np.exp(e - e.max())
    slope = q @ t / q.sum()
    moved = fit.covariance_ @ slope * len(X)
    assert np.sqrt(moved @ np.linalg.solve(fit.covariance_, moved)) < fit.quadrature_error_ < 0.05


def test_what_needs_too_many_nodes_is_left_to_draws():
    narrow = np.full((3, 3), 0.9999) + 1e-4 * np.eye(3)
    region = tmsm.HalfSpace([1.0, -1.0, 0.0], 0.01)
    mass = NORMAL.log_mass(region, mean=np.zeros(3), covariance=narrow)
    assert 1e-4 < mass.error < 1e-2
    assert abs(mass.value - stats.norm(0, np.sqrt(2e-4)).logsf(0.01)) < 4 * mass.error
    X = NORMAL.sample(300, region, random_state=0, mean=np.zeros(3), covariance=narrow)
    fit = tmsm.TruncatedMLE(NORMAL, region).fit(X)
    assert fit.result_.nodes.cell is None
    assert "Monte Carlo nodes" in fit.result_.nodes.description


def test_a_region_without_points_is_an_error():
    apart = tmsm.Ball([0.0, 0.0, 0.0], 1.0) & tmsm.Ball([3.0, 0.0, 0.0], 1.0)
    with pytest.raises(ValueError, match="No part of the region was found to integrate over"):
        NORMAL.log_mass(apart, mean=MU, covariance=SIGMA)


def test_an_exposure_in_dimension_three():
    """A known exposure in a ball: the score is normalised by the nodes."""
    ball = tmsm.Ball([0.0, 0.0, 0.0], 1.5)
    X = NORMAL.sample(2000, ball, random_state=3, mean=MU, covariance=SIGMA)
    fit = tmsm.TruncatedMLE(NORMAL, ball, log_exposure=lambda X: 0.3 * X[:, 0]).fit(X)
    plain = tmsm.TruncatedMLE(NORMAL, ball).fit(X)
    # p ∝ exp(0.3 x₁ + θ·t) is the plain family with another θ.
    shift = np.abs(fit.natural_params_ - plain.natural_params_)
    assert shift.max() == pytest.approx(0.3, abs=1e-3)
    assert fit.score(X) == pytest.approx(plain.score(X), abs=1e-4)


def test_a_function_with_two_borders_in_space():
    """A shell between two spheres, written as functions."""
    shell = tmsm.Implicit([lambda x: 1.0 - x @ x, lambda x: jnp.sqrt(x @ x + 1e-9) - 0.6], tmsm.Euclidean(3))
    nodes = solid_nodes(shell, shell.manifold.charts(((-1.2,) * 3, (1.2,) * 3)), 3, 4)
    assert nodes.weights.sum() == pytest.approx(4 / 3 * np.pi * (1 - 0.216), rel=1e-4)
