"""Manifolds that are known by a metric alone against those with formulas, up to whole fits."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest

import tmsm
from scenarios import hyperbolic as scenario
from tmsm.manifolds import Chart, Manifold
from tmsm.models import Field, LinearModel, Parameters
from tmsm.regions import Region, SmoothBorder

jnp = pytest.importorskip("jax.numpy")


def lorentz(x):
    return jnp.eye(x.size) - jnp.outer(x, x) / (1 + x @ x)


def polar(x):
    return jnp.diag(jnp.array([1.0, x[0] ** 2]))


def to_plane(X):
    return X[:, :1] * np.column_stack([np.cos(X[:, 1]), np.sin(X[:, 1])])


def plane_slopes(X):
    """Derivatives of the flat coordinates by (r, φ), shape (n, 2, 2)."""
    cos, sin = np.cos(X[:, 1]), np.sin(X[:, 1])
    return np.stack([np.column_stack([cos, -X[:, 0] * sin]), np.column_stack([sin, X[:, 0] * cos])], axis=1)


HYPERBOLIC, POLAR = Chart(lorentz, 2), Chart(polar, 2, origin=[2.0, 0.5])


@dataclass(frozen=True, eq=False, repr=False)
class Written(LinearModel):
    """Statistics with plain derivatives by the coordinates of a manifold, so that its own geometry does the rest."""

    kind: str = "lorentz"

    home = Manifold
    fields = (Field("natural"),)

    @property
    def size(self):
        return 3

    def plain(self, X):
        """Values, first and second derivatives."""
        if self.kind == "lorentz":
            time = np.sqrt(1 + (X**2).sum(1))
            first = np.concatenate([(X / time[:, None])[:, None], np.broadcast_to(np.eye(2), (len(X), 2, 2))], axis=1)
            second = np.zeros((len(X), 3, 2, 2))
            second[:, 0] = np.eye(2) / time[:, None, None] - X[:, :, None] * X[:, None, :] / time[:, None, None] ** 3
            return np.column_stack([time, X]), first, second
        # (x, y, r²/2) in polar coordinates.
        values, slopes, r = to_plane(X), plane_slopes(X), X[:, 0]
        first = np.concatenate([slopes, np.stack([r, 0 * r], axis=1)[:, None]], axis=1)
        second = np.zeros((len(X), 3, 2, 2))
        for k in range(2):
            second[:, k, 0, 1] = second[:, k, 1, 0] = slopes[:, k, 1] / r
            second[:, k, 1, 1] = -values[:, k]
        second[:, 2, 0, 0] = 1.0
        return np.column_stack([values, r**2 / 2]), first, second

    def statistics(self, X):
        return self.plain(X)[0]

    def gradient(self, X):
        first = self.plain(X)[1]
        return np.stack([self.manifold.tangent_gradient(X, first[:, a]) for a in range(3)], axis=1)

    def hessian(self, X, V):
        _, first, second = self.plain(X)
        U, bend = self.manifold.velocity(X, V), self.manifold.acceleration(X, V)
        return np.einsum("naij,ni,nj->na", second, U, U) + np.einsum("nai,ni->na", first, bend)

    def laplacian(self, X):
        return sum(self.hessian(X, e) for e in self.manifold.tangent_frame(X))

    def parameters(self, theta):
        return Parameters(natural=theta)

    def parameter_jacobian(self, theta):
        return {"natural": np.eye(3)}


@dataclass(frozen=True, eq=False, repr=False)
class Pulled(SmoothBorder, Region):
    """A smooth region of another manifold, in the coordinates of a chart."""

    region: Region
    chart: Chart

    @property
    def manifold(self):
        return self.chart

    @property
    def reach(self):
        return self.region.smooth_border.reach

    def smooth_distance(self, X):
        there = to_plane(X) if self.chart == POLAR else X
        d, gradient, laplacian = self.region.smooth_border.smooth_distance(there)
        plain = self.region.manifold.plain_gradient(there, gradient)
        if self.chart == POLAR:
            plain = np.einsum("ni,nij->nj", plain, plane_slopes(X))
        return d, self.chart.tangent_gradient(X, plain), laplacian


def test_geometry_of_hyperbolic_space():
    rng, space = np.random.default_rng(0), tmsm.Hyperbolic(3)
    chart = Chart(lorentz, 3)
    X = space.scattered(50, rng)
    V = rng.normal(size=X.shape)
    U = chart.tangent_of(X, space.velocity(X, V))
    np.testing.assert_allclose((U**2).sum(1), (V**2).sum(1), rtol=1e-12)
    np.testing.assert_allclose(chart.velocity(X, U), space.velocity(X, V), atol=1e-12)
    np.testing.assert_allclose(chart.acceleration(X, U), space.acceleration(X, V), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(chart.coordinate_laplacian(X), space.coordinate_laplacian(X), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(chart.log_volume(X), space.log_volume(X), atol=1e-12)
    np.testing.assert_allclose(chart.plain_gradient(X, chart.tangent_gradient(X, V)), V, atol=1e-11)


def test_geometry_of_the_plane_in_polar_coordinates():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0.5, 3.0, 50), rng.uniform(-1.0, 1.0, 50)])
    V = rng.normal(size=X.shape)
    np.testing.assert_allclose(POLAR.coordinate_laplacian(X), np.column_stack([1 / X[:, 0], np.zeros(50)]), atol=1e-13)
    np.testing.assert_allclose(POLAR.log_volume(X), np.log(X[:, 0]), atol=1e-14)
    # The way of a retraction is straight to second order.
    h = 1e-3
    ahead, behind = (to_plane(POLAR.retract(X, s * h * V)) for s in (1, -1))
    np.testing.assert_allclose((ahead - 2 * to_plane(X) + behind) / h**2, 0.0, atol=1e-4)
    np.testing.assert_allclose(((ahead - behind) ** 2).sum(1) / (2 * h) ** 2, (V**2).sum(1), atol=1e-4)


@pytest.mark.parametrize(("kind", "chart"), [("lorentz", HYPERBOLIC), ("polar", POLAR)])
def test_derivatives_of_statistics(kind, chart):
    assert "all derivatives agree" in str(tmsm.check_model(Written(kind), chart))


@pytest.mark.parametrize("weight", ["geodesic", "normal"])
def test_a_fit_by_the_metric_is_that_by_formulas(weight):
    X = scenario.sample("inside", 600, 0)
    by_formulas = tmsm.ScoreMatching(scenario.MODEL, scenario.BALL, weight).fit(X)
    by_metric = tmsm.ScoreMatching(Written(), Pulled(scenario.BALL, HYPERBOLIC), weight).fit(X)
    np.testing.assert_allclose(by_metric.natural_params_, by_formulas.natural_params_, rtol=1e-8)
    np.testing.assert_allclose(by_metric.covariance_, by_formulas.covariance_, rtol=1e-8)


@pytest.mark.parametrize("weight", ["geodesic", "normal"])
def test_a_fit_in_polar_coordinates_is_that_in_the_plane(weight):
    ball, rng = tmsm.Ball([2.0, 1.0], 1.2), np.random.default_rng(0)
    flat = rng.normal([2.0, 0.8], 1.0, size=(3000, 2))
    flat = flat[ball.contains(flat)]
    X = np.column_stack([np.hypot(*flat.T), np.arctan2(*flat.T[::-1])])
    known = tmsm.ScoreMatching(tmsm.MultivariateNormal(isotropic=True), ball, weight).fit(flat).params_
    found = tmsm.ScoreMatching(Written("polar"), Pulled(ball, POLAR), weight).fit(X).natural_params_
    precision = 1 / known.covariance[0, 0]
    np.testing.assert_allclose(found, [*(precision * known.mean), -precision], rtol=1e-8)


def test_an_exposure_of_values_alone_needs_no_geodesics():
    X, region = scenario.sample("inside", 300, 0), Pulled(scenario.BALL, HYPERBOLIC)
    plain = tmsm.ScoreMatching(Written(), region, "geodesic").fit(X).natural_params_
    seen = tmsm.ScoreMatching(Written(), region, "geodesic", log_exposure=lambda X: 0.3 * X[:, 0]).fit(X)
    np.testing.assert_allclose(seen.natural_params_, plain - [0.0, 0.3, 0.0], atol=1e-6)


def test_charts_are_values():
    assert HYPERBOLIC == Chart(lorentz, 2) == pickle.loads(pickle.dumps(HYPERBOLIC))
    assert hash(HYPERBOLIC) == hash(Chart(lorentz, 2))
    assert Chart(polar, 2) != POLAR
    assert repr(POLAR) == "Chart(polar, dim=2, origin=[2.0, 0.5])"
    assert replace(POLAR).origin is not None


def too_large(x):
    return jnp.eye(3)


def indefinite(x):
    return jnp.diag(jnp.array([1.0, x[0]]))


def logarithmic(x):
    return jnp.eye(2) * jnp.log(x[0])


def lopsided(x):
    return jnp.array([[1.0, 0.5], [0.0, 1.0]])


def listed(x):
    return [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (too_large, r"too_large must return the metric.*\(2, 2\); it returns shape \(3, 3\)"),
        (indefinite, "1 of 2 rows at which indefinite is no metric.*row 1.*smallest eigenvalue -3"),
        (logarithmic, "logarithmic is NaN or infinite at 1 of 2 rows.*row 1"),
        (lopsided, "2 of 2 rows at which lopsided is no metric"),
        (listed, "listed must return the metric.*it returns list"),
    ],
)
def test_a_function_that_is_no_metric_is_named_with_the_row(metric, message):
    with pytest.raises(ValueError, match=message):
        Chart(metric, 2).check_points([[3.0, 2.0], [-3.0, 1.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Chart(3, 2), "metric must be a function"),
        (lambda: Chart(polar, 2, origin=[1.0]), "origin must have 2 coordinates"),
        (lambda: POLAR.geodesic_distance(np.ones((1, 2)), np.ones((1, 2))), "no formula for the distance"),
        (lambda: tmsm.GeodesicBall(POLAR, [1.0, 0.0], 1.0), "geodesic ball needs a manifold whose geodesic distance"),
        (lambda: POLAR.check_points([[1.0, 0.0, 0.0]]), "3 columns"),
    ],
)
def test_what_a_chart_does_not_have(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
