"""Robust fits against weighted fits of the families at (1 + c) θ, one after the other until nothing moves."""

from functools import lru_cache

import numpy as np
import pytest

import tmsm
from scenarios import outliers
from tmsm.data.rows import Rows
from tmsm.matching.equations import linearise, row_residuals
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.robust import Robust, densest_half, find_root
from tmsm.weights import Saturating

C = 0.4
BOX = tmsm.Box([0.0, 0.0], [10.0, 10.0])
SIGMA = np.array([[1.0, 0.3], [0.3, 0.6]])
NORMAL = {"mean": [2.0, 1.0], "covariance": SIGMA}
OVAL = {"mean_direction": outliers.MU, "major_axis": [0.0, 0.0, 1.0], "concentration": 20.0, "ovalness": 6.0}
AXIS = {"axis": [0.0, 0.6, 0.8], "concentration": 10.0}
EDGE = tmsm.Hemisphere([-1.0, 0.0, 0.0])


@lru_cache(maxsize=8)
def rows(kind):
    far = outliers.sample(340, 40, 1)[300:]
    if kind == "vMF":
        return outliers.sample(340, 40, 0)
    if kind == "Kent":
        return np.vstack([tmsm.Kent().sample(400, EDGE, random_state=0, **OVAL), far])
    if kind == "Watson":
        return np.vstack([tmsm.Watson().sample(400, EDGE, random_state=0, **AXIS), far])
    good = tmsm.MultivariateNormal().sample(400, BOX, random_state=0, **NORMAL)
    return np.vstack([good, np.random.default_rng(1).uniform(7.0, 10.0, (40, 2))])


# Name of the rows, region, the family of the fit and that of weighted rows.
CASES = {
    "vMF": (EDGE, tmsm.VonMisesFisher(), tmsm.VonMisesFisher()),
    "vMF, known concentration": (EDGE, tmsm.VonMisesFisher(20.0), tmsm.VonMisesFisher((1 + C) * 20.0)),
    "Kent": (EDGE, tmsm.Kent(), tmsm.Kent()),
    "Kent, known ovalness": (EDGE, tmsm.Kent(ovalness=6.0), tmsm.Kent(ovalness=(1 + C) * 6.0)),
    "Watson, known concentration": (EDGE, tmsm.Watson(10.0), tmsm.Watson((1 + C) * 10.0)),
    "normal": (BOX, tmsm.MultivariateNormal(), tmsm.MultivariateNormal()),
    "normal, known covariance": (BOX, tmsm.MultivariateNormal(SIGMA), tmsm.MultivariateNormal(SIGMA / (1 + C))),
    "normal, isotropic": (BOX, tmsm.MultivariateNormal(isotropic=True), tmsm.MultivariateNormal(isotropic=True)),
}


def exposure(X):
    return -0.3 * X[:, 2] + 0.2 * X[:, 1] ** 2


def refitted(X, region, weighted, theta, weight, sample_weight=None, **options):
    """θ where fits of rows with the weights of θ, corrected by 1/(1 + c), end; statistics are those of the family."""
    model = weighted.on(region.manifold)
    own = np.ones(len(X)) if sample_weight is None else sample_weight
    estimator = tmsm.ScoreMatching(weighted, region, weight, standard_errors=False, **options)
    for _ in range(200):
        u = model.statistics(X) @ theta
        new = estimator.fit(X, sample_weight=own * np.exp(C * (u - u.max()))).natural_params_ / (1 + C)
        done = np.abs(new - theta).max() <= 1e-12 * np.abs(theta).max()
        theta = new
        if done:
            return theta
    raise RuntimeError("the weights did not settle")


@pytest.mark.parametrize("name", CASES)
def test_the_fixed_point_of_weighted_fits(name):
    region, model, weighted = CASES[name]
    X, weight = rows(name.split(",")[0]), Saturating(0.3)
    fit = tmsm.ScoreMatching(model, region, weight, robust=C).fit(X)
    # Begins 5 % away, and ends in the same place.
    expected = refitted(X, region, weighted, 1.05 * fit.natural_params_, weight)
    np.testing.assert_allclose(fit.natural_params_, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())
    # The control: a weighted fit that is not corrected is another one.
    u = model.on(region.manifold).statistics(X) @ expected
    plain = tmsm.ScoreMatching(weighted, region, weight).fit(X, sample_weight=np.exp(C * (u - u.max())))
    assert np.abs(plain.natural_params_ - expected).max() > 0.1 * np.abs(expected).max()


def test_sample_weights_and_exposure_stay_as_they_are():
    X = rows("vMF")
    w = np.random.default_rng(3).uniform(0.5, 2.0, len(X))
    model, weight = tmsm.VonMisesFisher(), Saturating(0.3)
    fit = tmsm.ScoreMatching(model, EDGE, weight, robust=C, log_exposure=exposure).fit(X, sample_weight=w)
    expected = refitted(X, EDGE, model, fit.natural_params_ * 1.05, weight, w, log_exposure=exposure)
    np.testing.assert_allclose(fit.natural_params_, expected, rtol=1e-7, atol=1e-7)
    without = tmsm.ScoreMatching(model, EDGE, weight, robust=C).fit(X, sample_weight=w)
    assert np.abs(without.natural_params_ - expected).max() > 0.1


def test_weights_that_count_rows_are_repeated_rows():
    X = rows("vMF")
    times = np.random.default_rng(4).integers(1, 4, len(X))
    estimator = tmsm.ScoreMatching(tmsm.VonMisesFisher(), EDGE, Saturating(0.3), robust=C)
    one = estimator.fit(X, sample_weight=times).natural_params_
    np.testing.assert_allclose(one, estimator.fit(np.repeat(X, times, axis=0)).natural_params_, rtol=1e-9)


@pytest.mark.parametrize("weight", ["auto", "normal", Saturating(0.3)])
def test_no_power_is_the_ordinary_fit_to_the_last_bit(weight):
    X = rows("vMF")
    plain = tmsm.ScoreMatching(tmsm.VonMisesFisher(), EDGE, weight).fit(X)
    for robust in (0, 0.0, np.float64(0.0)):
        fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), EDGE, weight, robust=robust).fit(X)
        assert np.array_equal(fit.natural_params_, plain.natural_params_)
        assert np.array_equal(fit.covariance_, plain.covariance_)
        assert fit.status_ == plain.status_
        assert np.array_equal(fit.row_weights_, np.ones(len(X)))


def test_a_small_power_is_nearly_the_ordinary_fit():
    X = rows("vMF")
    plain, fit = (tmsm.ScoreMatching(tmsm.VonMisesFisher(), EDGE, robust=c).fit(X) for c in (None, 1e-7))
    np.testing.assert_allclose(fit.natural_params_, plain.natural_params_, rtol=1e-4)
    np.testing.assert_allclose(fit.covariance_, plain.covariance_, rtol=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_the_slope_agrees_with_differences(name):
    region, model, _ = CASES[name]
    X = rows(name.split(",")[0])
    fit = tmsm.ScoreMatching(model, region, Saturating(0.3), robust=C).fit(X).result_
    table, equations = fit.kept, fit.influence.equations
    assert isinstance(equations, Robust)
    # At the estimate and away from it.
    for theta in (fit.theta, 0.9 * fit.theta):
        slope = linearise(equations, table, theta)[0]
        for k, unit in enumerate(np.eye(theta.size)):
            h = 1e-5 * max(abs(theta[k]), 0.1 * np.abs(theta).max())
            if name.endswith("known covariance") and k >= 2:
                continue  # the family has no other covariance to weight rows by
            ahead, behind = (row_residuals(equations, table, theta + s * h * unit).mean(axis=0) for s in (1, -1))
            np.testing.assert_allclose(
                slope[:, k], (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-6 * np.abs(slope).max()
            )


@pytest.mark.parametrize("name", CASES)
def test_influence_says_what_a_row_does(name):
    region, model, _ = CASES[name]
    X = rows(name.split(",")[0])
    estimator = tmsm.ScoreMatching(model, region, Saturating(0.3), robust=C)
    fit = estimator.fit(X).result_
    psi = fit.influence.of(fit.kept)
    form = fit.model.to_original()
    for row in (0, 17, len(X) - 1):  # the last one is an outlier
        weight = np.ones(len(X))
        weight[row] = 1.001
        moved = (estimator.fit(X, sample_weight=weight).natural_params_ - form @ fit.theta) * (len(X) + 0.001) / 0.001
        expected = form @ psi[row]
        np.testing.assert_allclose(moved, expected, atol=2e-3 * np.abs(form @ psi.T).max())


def test_outliers_have_no_influence():
    X, model = rows("vMF"), tmsm.VonMisesFisher()
    plain, fit = (tmsm.ScoreMatching(model, EDGE, robust=c).fit(X).result_ for c in (None, C))
    sizes = [np.linalg.norm(one.influence.of(one.kept), axis=1) for one in (plain, fit)]
    assert sizes[0][300:].min() > np.median(sizes[0][:300])
    assert sizes[1][300:].max() < np.median(sizes[1][:300])


def test_under_the_model_the_slope_is_that_of_the_weighted_rows():
    """E[w e tᵀ] = −E[w A] by parts, so that the slope (1 + c) A + c e tᵀ is A on average."""
    X = tmsm.VonMisesFisher().sample(100_000, EDGE, random_state=0, **outliers.TRUTH)
    model, table = tmsm.VonMisesFisher().on(tmsm.Sphere(2)), Rows.of(X, EDGE)
    theta = outliers.KAPPA * outliers.MU
    inner = OneWeight(model, Saturating(0.3))
    equations = Robust.about(inner, C, table, theta)
    slope = linearise(equations, table, theta)[0]
    w = equations.row_weights(X, theta)
    A = linearise(inner, Rows.of(X, EDGE, w), theta)[0] * w.mean()
    np.testing.assert_allclose(slope, A, atol=0.04 * np.abs(A).max())


def test_the_densest_half_does_not_depend_on_units():
    X = rows("normal")
    one = densest_half(Rows.of(X, BOX))
    assert 0.5 <= one.mean() < 0.53
    assert not one[400:].any()
    units = np.array([1000.0, 0.01])
    other = densest_half(Rows.of(X * units, tmsm.Box([0.0, 0.0], 10.0 * units)))
    assert np.array_equal(one, other)
    heavy = np.where(np.arange(len(X)) < 400, 1.0, 100.0)
    assert densest_half(Rows.of(X, BOX, heavy))[400:].mean() > 0.5


def test_columns_in_other_units_have_the_same_robust_fit():
    X, units = rows("normal"), np.array([100.0, 0.01])
    space, other = (tmsm.HalfSpace([1.0, 0.0], 0.0) for _ in range(2))
    one = tmsm.ScoreMatching(tmsm.MultivariateNormal(), space, "normal", robust=C).fit(X)
    two = tmsm.ScoreMatching(tmsm.MultivariateNormal(), other, "normal", robust=C).fit(X * [100.0, 100.0])
    np.testing.assert_allclose(two.params_.mean, 100.0 * one.params_.mean, rtol=1e-8)
    three = tmsm.ScoreMatching(tmsm.MultivariateNormal(), other, "normal", robust=C).fit(X * units)
    assert (np.abs(three.params_.mean / units - one.params_.mean) < 0.1 * one.std_errors_.mean).all()


def test_a_start_in_the_bulk_finds_what_the_ordinary_fit_cannot():
    """Two in five rows in a narrow cluster of their own: from any start the root is that of the majority."""
    good = outliers.sample(600, 0, 0)
    narrow = {"mean_direction": [-0.5, np.sqrt(0.75), 0.0], "concentration": 300.0}
    X = np.vstack([good, tmsm.VonMisesFisher().sample(400, EDGE, random_state=1, **narrow)])
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), EDGE, robust=0.5).fit(X)
    assert fit.params_.mean_direction @ outliers.MU > np.cos(0.1)
    assert (fit.row_weights_[600:] < 0.05).all()
    assert "400 rows have nearly no weight" in fit.status_
    plain = tmsm.ScoreMatching(tmsm.VonMisesFisher(), EDGE).fit(X)
    assert plain.params_.concentration < 3.0
    # The other cluster is a root, too, which a start there finds.
    table = Rows.of(X, EDGE)
    inner = OneWeight(tmsm.VonMisesFisher().on(tmsm.Sphere(2)), fit.weight_)
    there = 300.0 * np.array(narrow["mean_direction"])
    root, others = find_root(inner, table, table, 0.5, [there, fit.natural_params_])
    assert np.linalg.norm(root.theta) == pytest.approx(300.0, rel=0.2)
    np.testing.assert_allclose(others[0].theta, fit.natural_params_, rtol=1e-8)
