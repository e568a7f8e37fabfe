"""Regions and intervals by profiling, against brute force and closed forms."""

import numpy as np
import pytest
from scipy import optimize, stats

import tmsm
from tmsm.foundation.errors import InvalidInputError, TmsmWarning

CAP = tmsm.Cap([0.0, 0.0, 1.0], 0.5)
MISES, KENT = tmsm.VonMisesFisher(), tmsm.Kent()


def beyond(degrees):
    """A direction so far outside the cap."""
    angle = 0.5 + np.radians(degrees)
    return np.array([np.sin(angle), 0.0, np.cos(angle)])


@pytest.fixture(scope="module")
def extrapolated():
    X = MISES.sample(300, CAP, random_state=0, mean_direction=beyond(30), concentration=6.0)
    return {
        "score matching": tmsm.ScoreMatching(MISES, CAP).fit(X),
        "likelihood": tmsm.TruncatedMLE(MISES, CAP).fit(X),
    }


@pytest.fixture(scope="module")
def oval():
    region = tmsm.Hemisphere([-1.0, 0.0, 0.0])
    truth = {"mean_direction": [0, -1, 0], "major_axis": [0, 0, 1], "concentration": 10.0, "ovalness": 3.0}
    X = KENT.sample(400, region, random_state=1, **truth)
    return tmsm.ScoreMatching(KENT, region).fit(X)


def squared_distance(fit, theta):
    away = theta - fit.natural_params_
    return float(away @ np.linalg.solve(fit.covariance_, away))


@pytest.mark.parametrize("degrees", [0.0, 40.0, 120.0])
def test_a_direction_is_judged_by_the_best_density_that_has_it(extrapolated, degrees):
    fit = extrapolated["score matching"]
    m = beyond(degrees)
    lengths = np.linspace(0.0, 60.0, 60_001)
    best = min(squared_distance(fit, length * m) for length in lengths[::20])
    for level in (0.5, 0.9, 0.99):
        assert fit.covers(m, level) == (best <= stats.chi2(2).ppf(level))
    assert fit.confidence_region().distance(m) == pytest.approx(best, rel=1e-3)


def test_a_likelihood_is_judged_by_what_it_loses(extrapolated):
    fit = extrapolated["likelihood"]
    X = MISES.sample(300, CAP, random_state=0, mean_direction=beyond(30), concentration=6.0)

    def loss(kappa, m):
        return -2.0 * float(MISES.logpdf(X, CAP, mean_direction=m, concentration=kappa).sum())

    lowest = loss(fit.params_.concentration, fit.params_.mean_direction)
    m = beyond(5.0)
    found = optimize.minimize_scalar(loss, bounds=(0.01, 60.0), args=(m,), method="bounded")
    assert fit.confidence_region().distance(m) == pytest.approx(found.fun - lowest, abs=0.02)


@pytest.mark.parametrize("name", ["score matching", "likelihood"])
def test_the_border_of_a_region_lies_at_the_critical_distance(extrapolated, name):
    fit = extrapolated[name]
    region = fit.confidence_region("mean_direction", 0.9)
    assert not region.everywhere
    (ring,) = region.rings
    np.testing.assert_allclose(np.linalg.norm(ring, axis=1), 1.0, rtol=1e-12)
    for point in ring[::12]:
        assert region.distance(point) == pytest.approx(stats.chi2(2).ppf(0.9), rel=2e-3)
    # Just inside and just outside, as seen from the estimate.
    middle = fit.params_.mean_direction
    for share, inside in ((0.97, True), (1.03, False)):
        moved = middle + share * (ring[::12] - middle)
        assert (region.contains(moved / np.linalg.norm(moved, axis=1)[:, None]) == inside).all()
    # It is one-sided: the ellipse of the delta method is not.
    away = np.arccos(np.clip(ring @ middle, -1.0, 1.0))
    assert away.max() > 1.5 * np.median(away)
    with pytest.warns(TmsmWarning, match="use confidence_region"):
        fit.mean_direction_ellipse(0.9)


def test_an_interval_of_the_concentration_is_the_range_of_lengths_in_the_ellipsoid(extrapolated):
    fit = extrapolated["score matching"]
    low, high = fit.confidence_interval(0.8).concentration
    square = stats.chi2(1).ppf(0.8)
    rng = np.random.default_rng(0)
    # Points on the ellipsoid of θ: their lengths lie in the interval, and reach its ends.
    sphere = tmsm.Sphere(2).uniform(200_000, rng)
    lengths = np.linalg.norm(
        fit.natural_params_ + np.sqrt(square) * sphere @ np.linalg.cholesky(fit.covariance_).T, axis=1
    )
    assert low <= lengths.min() + 1e-3 * high
    assert lengths.max() <= high * (1 + 1e-3)
    np.testing.assert_allclose([lengths.min(), lengths.max()], [low, high], rtol=0.01)
    wald = fit.confidence_interval(0.8, method="wald").concentration
    assert wald[1] - fit.params_.concentration == pytest.approx(fit.params_.concentration - wald[0])
    assert high - fit.params_.concentration != pytest.approx(fit.params_.concentration - low, rel=0.05)


def test_kent_is_profiled_over_its_other_parameters(oval):
    region = oval.confidence_region()
    distance = region.discrepancy
    m = tmsm.Sphere(2).exponential(oval.params_.mean_direction[None], np.array([[0.03, 0.0, 0.06]]))[0]
    m = m / np.linalg.norm(m)
    first = np.cross(m, [1.0, 0.0, 0.0])
    first /= np.linalg.norm(first)

    def at(values, mean=m):
        kappa, beta, turn = np.exp(values[0]), np.exp(values[1]), values[2]
        major = np.cos(turn) * first + np.sin(turn) * np.cross(m, first)
        theta = KENT.natural_parameters(mean_direction=mean, major_axis=major, concentration=kappa, ovalness=beta)
        return distance(theta)[0]

    best = min(
        optimize.minimize(at, [np.log(10.0), np.log(2.0), turn], method="Nelder-Mead", options={"xatol": 1e-7}).fun
        for turn in (0.0, 0.8, 1.6, 2.4)
    )
    assert region.distance(m) == pytest.approx(best, rel=1e-4)
    low, high = oval.confidence_interval().ovalness
    assert 0.0 < low < oval.params_.ovalness < high
    assert len(region.rings[0]) > 40


def test_an_unimportant_ovalness_has_an_interval_from_zero():
    region = tmsm.Hemisphere([-1.0, 0.0, 0.0])
    X = MISES.sample(300, region, random_state=4, mean_direction=[0.0, -1.0, 0.0], concentration=10.0)
    fit = tmsm.ScoreMatching(KENT, region).fit(X)
    assert fit.confidence_interval().ovalness[0] == 0.0
    assert "The interval of the ovalness reaches zero" in fit.status_


def test_a_normal_density_far_from_the_origin_is_profiled_as_near_it():
    model, box = tmsm.MultivariateNormal(), tmsm.Box([0.0], [np.inf])
    X = model.sample(400, box, random_state=0, mean=[-0.5], covariance=[[1.0]])
    near = tmsm.ScoreMatching(model, box).fit(X)
    far = tmsm.ScoreMatching(model, tmsm.Box([1e6], [np.inf])).fit(X + 1e6)
    for field, shift in (("mean", 1e6), ("covariance", 0.0)):
        one, other = near.confidence_interval()[field], far.confidence_interval()[field]
        np.testing.assert_allclose(np.array(other) - shift, one, rtol=2e-3)
    # The profile: Λ is all that is left where the mean is given, and the range of means follows.
    low, high = near.confidence_interval().mean
    theta, inverse = near.natural_params_, np.linalg.inv(near.covariance_)
    square = stats.chi2(1).ppf(0.95)
    for end in (low[0], high[0]):
        lengths = np.linspace(0.0, 10.0, 200_001)[:, None]
        away = lengths * np.array([end, 1.0]) - theta
        assert np.einsum("ni,ij,nj->n", away, inverse, away).min() == pytest.approx(square, rel=2e-3)


def test_regions_in_other_spaces():
    arc = tmsm.Cap([1.0, 0.0], 0.8)
    X = MISES.sample(300, arc, random_state=0, mean_direction=[0.0, 1.0], concentration=3.0)
    fit = tmsm.ScoreMatching(MISES, arc).fit(X)
    assert fit.covers(fit.params_.mean_direction)
    assert not fit.covers([0.0, -1.0])
    with pytest.raises(InvalidInputError, match="in two dimensions only"):
        _ = fit.confidence_region().rings
    plane, model = tmsm.HalfSpace([1.0, 0.0], 0.0), tmsm.MultivariateNormal()
    X = model.sample(2000, plane, random_state=0, mean=[0.5, 0.0], covariance=np.eye(2))
    fit = tmsm.ScoreMatching(model, plane).fit(X)
    region = fit.confidence_region("mean")
    assert region.contains([[0.5, 0.0], [9.0, 0.0]]).tolist() == [True, False]
    assert len(region.rings) == 1
    assert region.bounded
    with pytest.raises(InvalidInputError, match="region of the centre only"):
        fit.confidence_region("covariance")
    with pytest.raises(InvalidInputError, match="no parameter 'axis'"):
        fit.confidence_region("axis")
    with pytest.raises(InvalidInputError, match="has no centre"):
        tmsm.ScoreMatching(tmsm.FisherBingham(), CAP).fit(
            MISES.sample(500, CAP, random_state=0, mean_direction=[0, 0, 1], concentration=5.0)
        ).covers([0.0, 0.0, 1.0])


def test_a_known_concentration_leaves_a_region_of_directions():
    model = tmsm.VonMisesFisher(6.0)
    X = model.sample(300, CAP, random_state=0, mean_direction=beyond(30))
    fit = tmsm.ScoreMatching(model, CAP).fit(X)
    region = fit.confidence_region()
    assert not region.everywhere
    assert region.contains([beyond(30), -beyond(30)]).tolist() == [True, False]
    assert len(region.rings) == 1


def test_what_is_known_has_an_interval_of_one_point():
    half = tmsm.HalfSpace([1.0, 0.0], 0.0)
    known = tmsm.MultivariateNormal(covariance=np.eye(2))
    X = tmsm.MultivariateNormal().sample(100, half, random_state=0, mean=[0.0, 0.0], covariance=np.eye(2))
    for fit in (tmsm.ScoreMatching(known, half).fit(X), tmsm.TruncatedMLE(known, half).fit(X)):
        for end in fit.confidence_interval().covariance:
            np.testing.assert_array_equal(end, np.eye(2))
    round_ = tmsm.ScoreMatching(tmsm.MultivariateNormal(isotropic=True), half).fit(X).confidence_interval().covariance
    assert round_[0][0, 1] == round_[1][0, 1] == 0.0
    assert 0.0 < round_[0][0, 0] < round_[1][0, 0] < np.inf


def test_few_rows_by_their_weights_are_few():
    cap = tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    X = tmsm.VonMisesFisher().sample(100, cap, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=5.0)
    weight = np.r_[np.ones(6), np.zeros(94)]
    for estimator in (
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), cap),
        tmsm.TruncatedMLE(tmsm.VonMisesFisher(), cap),
        tmsm.NaiveMLE(tmsm.VonMisesFisher()),
    ):
        assert "count like 6, which is few for 3 parameters" in estimator.fit(X, sample_weight=weight).status_
        assert "few" not in estimator.fit(X).status_
