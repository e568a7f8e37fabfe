"""The stacked equations: their functions, their means under the truth, and the sums that a stream needs."""

import numpy as np
import pytest

import tmsm
from tests.registry import inside_points, random_tangents, sampled, star, tangent_basis, walk
from tmsm.data.rows import Rows
from tmsm.inference import stein
from tmsm.matching.combination import independent_equations
from tmsm.matching.equations import row_residuals, sum_equations, sum_residuals, tilt_equations
from tmsm.matching.exposure import KnownExposure
from tmsm.matching.polynomials import LocalPolynomials
from tmsm.matching.stacked import Stacked
from tmsm.regions import BorderView
from tmsm.weights import Combined, Constant, EquationPart

ROUGH = tmsm.SphericalPolygon([star(60, 1)])
MISES = {"mean_direction": tmsm.lonlat_to_xyz(20.0, 15.0), "concentration": 8.0}
KENT = {
    "mean_direction": [1.0, 0, 0], "major_axis": [0, 0.6, 0.8], "minor_axis": [0, -0.8, 0.6],
    "concentration": 8.0, "ovalness": 2.0,
}  # fmt: skip
NORMAL = {"mean": [0.5, 1.0], "covariance": [[1.5, 0.4], [0.4, 1.0]]}

CASES = [
    (tmsm.VonMisesFisher(), MISES, ROUGH),
    (tmsm.Kent(), KENT, ROUGH),
    (tmsm.VonMisesFisher(), MISES, tmsm.LonLatBox(-30, -20, 40, 50)),
    (tmsm.VonMisesFisher(), MISES, tmsm.LonLatBox(-180, -20, 180, 50)),
    (tmsm.VonMisesFisher(), MISES, tmsm.LonLatBox(-60, -10, 80, 90)),
    (tmsm.MultivariateNormal(), NORMAL, tmsm.Polygon([[-1, -1], [3, -0.5], [2, 3], [0.5, 1.5], [-1, 3]])),
    (tmsm.MultivariateNormal(np.eye(3)), {"mean": [0.2, 0, 0]}, tmsm.Box([-1, -1, 0], [1, 2, np.inf])),
    (tmsm.MultivariateNormal(), NORMAL, ~tmsm.Ball([0.0, 0.0], 1.0)),
    (tmsm.VonMisesFisher(), {"mean_direction": np.eye(5)[0], "concentration": 5.0}, tmsm.Cap(np.eye(5)[1], 1.3)),
    (tmsm.VonMisesFisher(), MISES, tmsm.Everywhere(tmsm.Sphere(2))),
]
EVERY_CASE = pytest.mark.parametrize(("model", "params", "region"), CASES, ids=lambda value: type(value).__name__)


BORDERLESS = (
    EquationPart("statistics", Constant()),
    EquationPart("gradients", Constant(), (2, 3)),
    EquationPart("streams", Constant(), (0, 1, 2, 3)),
)


def spec_for(model, region, X, log_exposure=None, level=5):
    view = BorderView(region, X)
    known = None if log_exposure is None else KnownExposure(log_exposure, region.manifold)
    parts = Combined(level).resolved(view).parts(region.manifold) if region.has_border else BORDERLESS
    return Stacked(model.on(region.manifold), parts, LocalPolynomials.of(region.manifold, X), known)


@pytest.mark.parametrize("region", [ROUGH, tmsm.Cap(np.eye(5)[0], 1.0), tmsm.Box([-1.0, 0.0], [1.0, 3.0])], ids=repr)
def test_polynomials_agree_with_finite_differences(region):
    manifold, h = region.manifold, 1e-4
    X = inside_points(region, 30)
    V = random_tangents(manifold, X)
    polynomials = LocalPolynomials.of(manifold, X)
    here = polynomials.evaluate(X, 3)
    assert len(here.values) == EquationPart("gradients", Constant(), (0, 1, 2, 3)).size(0, manifold.dim)
    ahead, behind = (polynomials.evaluate(walk(manifold, X, V, s), 3).values for s in (h, -h))
    np.testing.assert_allclose(here.gradient_dot(V), (ahead - behind) / (2 * h), atol=1e-5)
    total = np.zeros_like(here.values)
    for k, x in enumerate(X):
        for e in tangent_basis(manifold, x):
            ends = walk(manifold, np.array([x, x]), np.array([e, e]), np.array([h, -h]))
            total[:, k] += (polynomials.evaluate(ends, 3).values - here.values[:, [k]]).sum(axis=1) / h**2
    np.testing.assert_allclose(here.laplacians, total, atol=1e-4 * (1 + np.abs(total).max()))


@pytest.mark.parametrize(
    ("model", "params", "region"),
    sampled(CASES, lambda model, params, region: type(model), lambda model, params, region: type(region.manifold)),
    ids=lambda value: type(value).__name__,
)
def test_every_equation_holds_under_the_truth(model, params, region):
    X = model.sample(60_000, region, random_state=1, **params)
    rows, spec = Rows.of(X, region), spec_for(model, region, X)
    sums = sum_residuals(spec, rows, model.natural_parameters(**params))
    deviation = sums.mean / np.sqrt(np.maximum(np.diag(sums.covariance), 1e-300))
    assert np.abs(deviation[np.diag(sums.covariance) > 0.0]).max() < 4.5


def test_equations_fail_where_the_border_is_wrong():
    """Negative control: rows that stop before the border that is believed in."""
    model = tmsm.VonMisesFisher()
    inner = ROUGH & tmsm.Cap([1.0, 0, 0], 0.5)
    X = model.sample(60_000, inner, random_state=1, **MISES)
    spec = spec_for(model, ROUGH, X)
    sums = sum_residuals(spec, Rows.of(X, ROUGH), model.natural_parameters(**MISES))
    deviation = np.abs(sums.mean) / np.sqrt(np.diag(sums.covariance))
    start = 0
    for part in spec.parts:
        size = spec.size_of(part)
        assert deviation[start : start + size].max() > 8, part
        start += size
    assert start == len(deviation)


def test_a_known_exposure_is_part_of_every_equation():
    model = tmsm.VonMisesFisher()
    X = model.sample(120_000, ROUGH, random_state=2, **MISES)
    keep = np.random.default_rng(0).random(len(X)) < np.exp(2.0 * (X[:, 1] - 1.0))

    def exposure(Y):
        return 2.0 * Y[:, 1], np.broadcast_to([0.0, 2.0, 0.0], Y.shape)

    theta = model.natural_parameters(**MISES)
    for log_exposure, limit in ((exposure, (0.0, 4.5)), (None, (6.0, np.inf))):
        sums = sum_residuals(spec_for(model, ROUGH, X, log_exposure), Rows.of(X[keep], ROUGH), theta)
        assert limit[0] <= np.abs(sums.mean / np.sqrt(np.diag(sums.covariance))).max() < limit[1]


@EVERY_CASE
def test_sums_are_those_of_the_rows(model, params, region):
    X = model.sample(400, region, random_state=3, **params)
    w = np.random.default_rng(0).random(400) + 0.1
    spec, theta = spec_for(model, region, X), model.natural_parameters(**params)
    rows = Rows.of(X, region, w)
    sums, residuals = sum_equations(spec, rows), sum_residuals(spec, rows, theta)
    np.testing.assert_allclose(sums.A @ theta + sums.b, residuals.mean, rtol=1e-9, atol=1e-9)
    e = row_residuals(spec, rows, theta)
    np.testing.assert_allclose(residuals.mean, w @ e / w.sum(), atol=1e-11)
    away = (e - residuals.mean) * (w / w.sum())[:, None]
    np.testing.assert_allclose(residuals.covariance, away.T @ away, rtol=1e-7, atol=1e-13)
    halves = [sum_equations(spec, Rows.of(X[part], region, w[part])) for part in (slice(0, 150), slice(150, 400))]
    np.testing.assert_allclose((halves[0] + halves[1]).A, sums.A, rtol=1e-10, atol=1e-12)
    # A multiplier of zero tilts nothing.
    m = len(sums.b)
    same = tilt_equations(spec, rows, theta, residuals.mean, np.zeros(m), np.zeros((m, m)), sums.weight_sum)
    np.testing.assert_allclose(same.equations.A, sums.A, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(same.plain / sums.weight_sum**2, residuals.covariance, rtol=1e-7, atol=1e-13)


def test_dependent_equations_are_left_out():
    rng = np.random.default_rng(0)
    e = rng.normal(size=(500, 4))
    e = np.column_stack([e[:, 0], 1e-6 * e[:, 0], e[:, 1], e[:, 0] + e[:, 1], np.zeros(500), e[:, 2]])
    assert independent_equations(np.cov(e.T)) == [0, 2, 5]


def test_stein_kernel_agrees_with_finite_differences():
    """h(x, y) = Σ_j of the operator V ↦ div V + ⟨V, ψ⟩ in x and in y on g(x) g(y) k(x, y) P e_j ⊗ P e_j."""
    model, h, width = tmsm.VonMisesFisher(), 1e-4, 0.7
    X = model.sample(50, ROUGH, random_state=4, **MISES)
    fit = tmsm.ScoreMatching(model, ROUGH, "saturating").fit(X)
    rows = Rows.of(X, ROUGH)
    features = stein._features(fit.result_, rows)
    _, H, _ = stein._stein_kernel(features, features, width)
    np.testing.assert_allclose(H, H.T, atol=1e-10)
    assert np.linalg.eigvalsh(H).min() > -1e-8
    scale, theta = fit.weight_.scale, fit.natural_params_

    def g(x):
        return -np.expm1(-ROUGH.border_distance(x[None, :])[0][0] / scale)

    def operator(field, x):
        """Of a tangent field (a function of x that returns vectors with a trailing axis), by steps along a basis."""
        total = np.tensordot(theta - x * (x @ theta), field(x), (0, 0))
        for e in np.linalg.svd(x[None, :])[2][1:]:
            ends = walk(tmsm.Sphere(2), np.array([x, x]), np.array([e, e]), np.array([h, -h]))
            total = total + np.tensordot(e, (field(ends[0]) - field(ends[1])) / (2 * h), (0, 0))
        return total

    def tensor(x, y):
        """g g k P_x P_y, shape (3, 3): rows belong to x, columns to y."""
        k = np.exp(-((x - y) @ (x - y)) / (2 * width**2))
        return g(x) * g(y) * k * (np.eye(3) - np.outer(x, x)) @ (np.eye(3) - np.outer(y, y))

    for i, j in ((0, 1), (2, 5), (3, 3)):
        x, y = X[i], X[j]
        found = operator(lambda b, x=x: operator(lambda a, b=b: tensor(a, b), x), y)
        assert found == pytest.approx(H[i, j], rel=1e-3, abs=1e-3)
