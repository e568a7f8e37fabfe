"""Densities that are given by their logarithm alone, against closed forms and finite differences."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

import tmsm
from tests.registry import MANIFOLDS
from tmsm.data.rows import Rows
from tmsm.matching import search
from tmsm.matching.equations import linearise, row_residuals
from tmsm.matching.one_weight import OneWeight
from tmsm.models import NonlinearModel
from tmsm.regions import BorderView
from tmsm.weights import Distance, Normal

SPHERE = tmsm.Sphere(2)
CAP = tmsm.Cap([0.0, 0.0, 1.0], 1.0)
TRUTH = {"mean_direction": [0.6, 0.0, 0.8], "concentration": 5.0}


def linear(params, x):
    return params @ x


def curved(params, x):
    wave = jnp.cos(params["place"][0] * x[-1]) * jnp.tanh(0.3 * (x @ x) + x[0] * x[-1])
    return jnp.sin(params["place"] @ x) + jnp.exp(params["size"]) * wave


def bent(params, x):
    return jnp.exp(params["a"]) * x[0] + params["b"] * jnp.sin(2.0 * x[1] + params["a"]) + params["b"] ** 2 * x[2]


def in_product(params, x):
    return params["pull"] @ x[:3] + params["place"] * x[3] - 0.5 * jnp.exp(params["log"]) * x[3] ** 2 * (2.0 + x[0])


def in_even(params, x):
    pairs = params["place"][0] * x[0] * x[1] + params["place"][1] * x[2] * x[3]
    return pairs + jnp.exp(params["size"]) * x[0] ** 2 + jnp.cos(params["place"] @ x * x[0])


def cap_rows(n=1500):
    return tmsm.VonMisesFisher().sample(n, CAP, random_state=0, **TRUTH)


def model_on(manifold):
    even = bool(manifold.same_points(np.empty((0, manifold.embedding_dim))))
    init = {"place": np.linspace(0.3, 1.0, 4 if even else manifold.embedding_dim), "size": 0.1}
    return tmsm.LogDensity(in_even if even else curved, init, manifold)


@pytest.mark.parametrize(
    "manifold", [MANIFOLDS[k] for k in (1, 3, 9, 12, 15, 17)], ids=lambda manifold: repr(manifold)[:40]
)
def test_derivatives_agree_with_finite_differences(manifold):
    report = tmsm.check_model(model_on(manifold), manifold, n=15)
    assert max(report.deviations.values()) < 1e-7


@pytest.mark.parametrize(
    ("weight", "settings"), [("normal", ()), ("geodesic", ("sample_weight",)), ("saturating", ("groups", "exposure"))]
)
def test_von_mises_fisher_is_the_closed_form(weight, settings):
    X = cap_rows()
    given = {"sample_weight": np.random.default_rng(0).uniform(0.1, 2.0, len(X)), "groups": np.arange(len(X)) // 5}
    given = {name: given[name] for name in settings if name in given}
    options = {"log_exposure": lambda Y: 0.4 * Y[:, 1]} if "exposure" in settings else {}
    exact = tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP, weight, **options).fit(X, **given)
    own = tmsm.ScoreMatching(tmsm.LogDensity(linear, np.zeros(3), SPHERE), CAP, exact.weight_, **options)
    own.fit(X, **given)
    np.testing.assert_allclose(own.natural_params_, exact.natural_params_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(own.covariance_, exact.covariance_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(own.objective_, exact.objective_, rtol=1e-10)
    assert own.goodness_of_fit_.df == exact.goodness_of_fit_.df
    np.testing.assert_allclose(own.goodness_of_fit_.statistic, exact.goodness_of_fit_.statistic, rtol=1e-6)
    np.testing.assert_allclose(own.information_criterion_, exact.information_criterion_, rtol=1e-9)


def test_a_normal_density_by_other_parameters():
    ball = tmsm.Ball([0.0, 0.0], 2.0)
    truth = {"mean": [0.5, -1.0], "covariance": [[1.0, 0.3], [0.3, 0.8]]}
    X = tmsm.MultivariateNormal().sample(2000, ball, random_state=0, **truth)

    def by_factor(params, x):
        away = params["mean"] - x
        root = jnp.array([[jnp.exp(params["log"][0]), 0.0], [params["off"], jnp.exp(params["log"][1])]])
        return -0.5 * jnp.sum((root @ away) ** 2)

    init = {"mean": [0.1, 0.2], "log": [0.0, 0.0], "off": 0.0}
    init = {name: np.array(value) for name, value in init.items()}
    exact = tmsm.ScoreMatching(tmsm.MultivariateNormal(), ball, "normal").fit(X)
    own = tmsm.ScoreMatching(tmsm.LogDensity(by_factor, init, tmsm.Euclidean(2)), ball, exact.weight_).fit(X)
    np.testing.assert_allclose(own.params_["mean"], exact.params_.mean, rtol=1e-8)
    np.testing.assert_allclose(own.std_errors_["mean"], exact.std_errors_.mean, rtol=1e-6)
    diagonal, off = np.exp(own.params_["log"]), own.params_["off"]
    root = np.array([[diagonal[0], 0.0], [off, diagonal[1]]])
    np.testing.assert_allclose(np.linalg.inv(root.T @ root), exact.params_.covariance, rtol=1e-8)


def test_sums_and_their_derivatives_are_those_of_the_rows():
    X, theta = cap_rows(700), np.array([0.3, 1.4])
    model = tmsm.LogDensity(bent, {"a": 0.0, "b": 1.0}, SPHERE)
    w = np.random.default_rng(1).uniform(0.1, 3.0, len(X))
    rows = Rows.of(X, CAP, w)
    equations = OneWeight(model, Normal().resolve(BorderView(CAP, X)))
    e = row_residuals(equations, rows, theta)
    plain = NonlinearModel.tangent(model, theta)
    terms = [equations.terms(block) for block in [*rows.map(lambda block: block)]]
    by_differences = np.concatenate(
        [
            plain.residual_rows(
                term.X,
                term.field.isotropic,
                term.field.tensor_directions,
                term.field.flux(model.log_gradient(term.X, theta)),
            )
            for term in terms
        ]
    )
    np.testing.assert_allclose(e, by_differences, atol=1e-7)
    A, b = linearise(equations, rows, theta)
    np.testing.assert_allclose(A @ theta + b, w @ e / w.sum(), rtol=1e-10)
    np.testing.assert_allclose(A, A.T, atol=1e-12)
    for k, unit in enumerate(np.eye(2)):
        ahead, behind = (w @ row_residuals(equations, rows, theta + s * 1e-5 * unit) / w.sum() for s in (1.0, -1.0))
        np.testing.assert_allclose(A[:, k], (ahead - behind) / 2e-5, rtol=1e-7, atol=1e-8)
    objective = sum(term.expansion(theta, None, slope=False).objective for term in terms)
    np.testing.assert_allclose(objective, sum(term.objective(theta).sum() for term in terms), rtol=1e-12)
    own, default = (kind.curvature_sum(model, X, w - 1.0, theta) for kind in (tmsm.LogDensity, NonlinearModel))
    np.testing.assert_allclose(own, default, rtol=1e-6, atol=1e-5)


def test_blocks_of_a_product_are_what_the_whole_is():
    space = SPHERE * tmsm.Euclidean(1)
    region = CAP * tmsm.HalfSpace([1.0], 0.3)
    X = np.column_stack([cap_rows(600), 0.3 + np.abs(np.random.default_rng(2).standard_normal(600))])
    init = {"pull": np.array([1.0, 0.5, 2.0]), "place": 0.5, "log": -0.5}
    model = tmsm.LogDensity(in_product, init, space)
    fit = tmsm.ScoreMatching(model, region).fit(X)
    equations, rows = fit.result_.influence.equations, Rows.of(X, region)
    assert equations.weight.field(rows.sample().view).blocks
    e = row_residuals(equations, rows, fit.natural_params_)
    # The sums come from W and ω in all coordinates, the rows from each factor alone.
    A, b = linearise(equations, rows, fit.natural_params_)
    assert np.abs(e).mean() > 0.01
    np.testing.assert_allclose(e.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(A @ fit.natural_params_ + b, 0.0, atol=1e-9)
    tangent, frame = model.tangent(fit.natural_params_), space.factors[0].tangent_frame(X[:, :3])
    for k in (0, 1):
        factor = tangent.in_factor(space, k)
        ones = np.ones(len(X))
        wide = [np.pad(v, [(0, 0), (0, 1)]) for v in frame] if k == 0 else [np.tile([0.0, 0.0, 0.0, 1.0], (len(X), 1))]
        own = [v[:, :3] if k == 0 else v[:, 3:] for v in wide]
        whole = tangent.weighted_hessian(X, 0.0, [(v, ones) for v in wide])
        np.testing.assert_allclose(factor.weighted_hessian(X, 1.0, []), whole, atol=1e-10)
        gram = sum(tangent.gradient_dot(X, v).T @ tangent.gradient_dot(X, v) for v in wide)
        np.testing.assert_allclose(factor.gradient_gram(X, 1.0), gram, atol=1e-9)
        np.testing.assert_allclose(factor.gradient_dot(X, own[0]), tangent.gradient_dot(X, wide[0]), atol=1e-12)


WAVES = np.arange(1, 7)


def waves(x):
    turn = jnp.arctan2(x[1], x[0])
    return jnp.concatenate([jnp.cos(WAVES * turn), jnp.sin(WAVES * turn)])


def sum_of_waves(params, x):
    return jnp.concatenate([params["cos"], params["sin"]]) @ waves(x)


def test_many_parameters_are_sought_by_steps(monkeypatch):
    circle = tmsm.Sphere(1)
    region = tmsm.Everywhere(circle)
    X = tmsm.VonMisesFisher().sample(1000, random_state=0, mean_direction=[0.0, 1.0], concentration=1.0)
    exact = tmsm.ScoreMatching(tmsm.ExponentialFamily(waves, circle), region).fit(X)
    model = tmsm.LogDensity(sum_of_waves, {"cos": np.zeros(6), "sin": np.zeros(6)}, circle)
    statuses = []
    for most, known in ((10, 1000), (10, 0)):
        monkeypatch.setattr(search, "_NEWTON_PARAMETERS", most)
        monkeypatch.setattr(search, "_WHITENED_PARAMETERS", known)
        own = tmsm.ScoreMatching(model, region).fit(X)
        np.testing.assert_allclose(own.natural_params_, exact.natural_params_, atol=1e-10)
        np.testing.assert_allclose(own.covariance_, exact.covariance_, atol=1e-9 * np.abs(exact.covariance_).max())
        statuses.append(own.result_.status)
    assert statuses[0] == statuses[1] == "The lowest minimum found by L-BFGS from 3 starts, all of which lead to it."


def hidden(params, x):
    return (params + 2.0 * jnp.sin(2.0 * params)) * x[0] + 5.0 * x[2]


def mirrored(params, x):
    return params**2 * x[0] + 5.0 * x[2]


def test_starts_that_do_not_agree_are_counted():
    X = cap_rows()
    fit = tmsm.ScoreMatching(tmsm.LogDensity(hidden, 2.0, SPHERE), CAP, "normal").fit(X)
    assert fit.result_.status == "The lowest minimum found by Newton's method from 5 starts, of which 1 leads to it."
    # The lowest of all, by a scan.
    grid = np.linspace(-1.0, 6.0, 141)
    equations = fit.result_.influence.equations
    values = [search.mean_objective(equations, Rows.of(X, CAP), np.array([theta])) for theta in grid]
    assert fit.objective_ <= min(values) + 1e-9
    # The control: there are other minima.
    assert sum(values[k - 1] > values[k] < values[k + 1] for k in range(1, 140)) > 1
    # Of mirror images the one on the side of init.
    for init in (1.0, -1.0):
        assert init * tmsm.ScoreMatching(tmsm.LogDensity(mirrored, init, SPHERE), CAP, "normal").fit(X).params_ > 0.5


def many(params, x):
    return params[0] * x[1] + params[1] * jnp.sum(jnp.linspace(0.0, 1.0, x.size) * x**4) * x.size


def test_above_dimension_100_laplacians_are_estimated_and_it_is_said():
    D = 120
    space, axis = tmsm.Sphere(D - 1), np.eye(D)[1]
    region = tmsm.Hemisphere(np.eye(D)[0])
    X = tmsm.VonMisesFisher().sample(600, region, random_state=0, mean_direction=axis, concentration=60.0)
    model, theta = tmsm.LogDensity(many, [50.0, 0.1], space), np.array([50.0, 0.8])
    # Exact, with derivatives by hand: t = Σ q x⁴ D, Δt = ⟨P, D²t⟩ − (D − 1) x·Dt.
    q = np.linspace(0.0, 1.0, D) * D
    first, second = 4.0 * q * X**3, 12.0 * q * X**2
    exact = second.sum(axis=1) - (second * X**2).sum(axis=1) - (D - 1) * (first * X).sum(axis=1)
    exact = theta[1] * exact - theta[0] * (D - 1) * X[:, 1]
    found = model.log_laplacian(X, theta)
    noise = found - exact
    assert noise.std() > 0.0
    assert abs(noise.mean()) < 4.0 * noise.std() / np.sqrt(len(X))
    # The random direction belongs to the row, whatever stands beside it.
    np.testing.assert_allclose(found[::-1][:50], model.log_laplacian(X[::-1][:50], theta), rtol=1e-12)
    # Rows of e stay the slope of J, with the same signs.
    equations = OneWeight(model, Distance("geodesic"))
    rows, h = Rows.of(X, region), 1e-4
    e = row_residuals(equations, rows, theta).mean(axis=0)
    for k, unit in enumerate(np.eye(2)):
        ahead, behind = (search.mean_objective(equations, rows, theta + s * h * unit) for s in (1.0, -1.0))
        np.testing.assert_allclose(2.0 * e[k], (ahead - behind) / (2.0 * h), rtol=1e-6, atol=1e-6)
    fit = tmsm.ScoreMatching(model, region, "geodesic").fit(X)
    assert "In dimension 119 the Laplacian of many is Hutchinson's estimate" in fit.status_
    assert "about half of the rows' own noise" in fit.status_
    assert (np.abs(fit.natural_params_ - [60.0, 0.0]) < 4.5 * np.sqrt(np.diag(fit.covariance_))).all()
    small = tmsm.LogDensity(many, [5.0, 0.1], SPHERE)
    assert small.cautions(theta, np.eye(2)) == []


def test_the_likelihood_under_truncation_is_that_of_the_family():
    X = cap_rows(800)
    model = tmsm.LogDensity(linear, np.array([1.0, 0.0, 1.0]), SPHERE)
    exact = tmsm.TruncatedMLE(tmsm.VonMisesFisher(), CAP).fit(X)
    own = tmsm.TruncatedMLE(model, CAP).fit(X)
    np.testing.assert_allclose(own.natural_params_, exact.natural_params_, rtol=1e-6)
    np.testing.assert_allclose(own.covariance_, exact.covariance_, rtol=1e-4)
    refined = tmsm.ScoreMatching(model, CAP, refine="mle").fit(X)
    np.testing.assert_allclose(refined.natural_params_, exact.natural_params_, rtol=1e-6)
    params = exact.params_
    np.testing.assert_allclose(
        model.logpdf(X[:20], CAP, params=exact.natural_params_),
        tmsm.VonMisesFisher().logpdf(X[:20], CAP, **params),
        rtol=1e-8,
    )
    np.testing.assert_allclose(
        model.logpdf(X[:20], params=exact.natural_params_), tmsm.VonMisesFisher().logpdf(X[:20], **params), rtol=1e-8
    )


def test_intervals_are_profiles_where_the_likelihood_bends():
    """Twice the loss of log-likelihood at an end, the other parameters free, is the quantile of χ²."""

    def wavy(params, x):
        return params["pull"] @ x + params["height"] * jnp.sin(3.0 * x[0])

    region = tmsm.Cap([0.0, 0.0, 1.0], 0.5)
    X = tmsm.VonMisesFisher().sample(800, region, random_state=3, mean_direction=[0.6, 0.0, 0.8], concentration=4.0)
    model = tmsm.LogDensity(wavy, {"pull": np.array([1.0, 0.0, 1.0]), "height": 0.0}, tmsm.Sphere(2))
    fit = tmsm.TruncatedMLE(model, region).fit(X)
    low, high = fit.confidence_interval()["height"]
    assert low < fit.params_["height"] < high
    theta, objective = fit.natural_params_, fit.result_.likelihood
    place = next(k for k in range(4) if np.isclose(theta[k], fit.params_["height"]))
    for end in (low, high):
        others = minimize(lambda z, end=end: objective(np.insert(z, place, end))[0], np.delete(theta, place))
        assert 2.0 * len(X) * (others.fun - objective(theta)[0]) == pytest.approx(3.841, abs=0.02)
