"""Rows in a ball of the hyperbolic plane: estimates within their errors, and what forgets the metric fails."""

import numpy as np
import pytest

import tmsm
from scenarios import hyperbolic as scenario
from tmsm.regions import BorderView

SEEDS = 60
PLACE = pytest.mark.parametrize("place", ["inside", "border", "outside"])


@PLACE
def test_estimates_are_within_their_errors(place):
    theta = scenario.theta(place)
    scores, squares, covered = [], [], []
    for seed in range(SEEDS):
        fit = tmsm.ScoreMatching(scenario.MODEL, scenario.BALL).fit(scenario.sample(place, 2000, seed))
        away = fit.natural_params_ - theta
        scores.append(away / np.sqrt(np.diag(fit.covariance_)))
        squares.append(away @ np.linalg.solve(fit.covariance_, away))
        covered.append(np.abs(scores[-1]) < 1.96)
    # Of normal scores the mean is within 3.5/√60 of zero, of χ² on 3 df within 3.5 √(6/60) of three.
    assert np.abs(np.mean(scores, axis=0)).max() < 3.5 / np.sqrt(SEEDS)
    assert abs(np.mean(squares) - 3.0) < 3.5 * np.sqrt(6.0 / SEEDS)
    assert 0.90 <= np.mean(covered) <= 0.99


def flat_fit(X):
    """The same statistics and distances as if the coordinates were those of flat space: det G is forgotten."""
    d, inward = scenario.BALL.border_distance(X)
    slope = scenario.PLANE.plain_gradient(X, inward)
    _, gradient, laplacian = scenario.flat_family(X)
    A = np.einsum("n,nad,nbd->ab", d, gradient, gradient)
    b = (d[:, None] * laplacian + np.einsum("nad,nd->na", gradient, slope)).sum(axis=0)
    return np.linalg.solve(A, -b)


def test_negative_control_flat_coordinates_are_biased():
    place = {"mean": [0.0, 0.0], "concentration": 3.0}
    estimates, wrong = [], []
    for seed in range(10):
        X = scenario.MODEL.sample(4000, scenario.BALL, random_state=seed, **place)
        estimates.append(tmsm.ScoreMatching(scenario.MODEL, scenario.BALL, "geodesic").fit(X).natural_params_[0])
        wrong.append(flat_fit(X)[0])
    error = np.std(estimates, ddof=1) / np.sqrt(10)
    assert abs(np.mean(estimates) + 3.0) < 4 * error
    assert np.mean(wrong) + 3.0 < -8 * error
    assert np.mean(wrong) == pytest.approx(-3.7, abs=0.15)


@pytest.mark.parametrize("place", scenario.PLACES)
def test_efficiency_of_the_automatic_weight(place):
    """Trace of the Cramér–Rao bound over that of the asymptotic covariance, by quadrature."""
    X, area = scenario.polar_nodes()
    p, theta, model = scenario.density_on(place, X, area), scenario.theta(place), scenario.MODEL.on(scenario.PLANE)
    away = model.statistics(X) - p @ model.statistics(X)
    bound = np.linalg.inv((away * p[:, None]).T @ away)
    found = {}
    for weight in ("auto", "geodesic"):
        chosen = tmsm.ScoreMatching(scenario.MODEL, scenario.BALL, weight).fit(scenario.sample(place, 3000, 0)).weight_
        field = chosen.field(BorderView(scenario.BALL, X))
        gradient = model.gradient(X)
        A = np.einsum("nad,nbd->nab", gradient, np.stack([field.apply(gradient[:, a]) for a in range(3)], axis=1))
        b = model.weighted_hessian(X, field.isotropic, list(field.tensor_directions))
        e = A @ theta + b + model.gradient_dot(X, field.divergence(X))
        np.testing.assert_allclose(p @ e, 0.0, atol=1e-12)  # the identity of score matching, border included
        inverse = np.linalg.inv(np.einsum("n,nab->ab", p, A))
        found[weight] = np.trace(bound) / np.trace(inverse @ ((e * p[:, None]).T @ e) @ inverse)
    assert found["auto"] >= 0.97
    assert found["geodesic"] < found["auto"] < 1.0


@PLACE
def test_confidence_regions_hold_the_mean(place):
    mean = scenario.truth(place)["mean"]
    held = 0
    for seed in range(30):
        fit = tmsm.ScoreMatching(scenario.MODEL, scenario.BALL).fit(scenario.sample(place, 1500, seed))
        held += bool(fit.confidence_region("mean").contains(mean[None, :])[0])
    assert held >= 25  # of 30 at 95 %: fewer in one of 500 runs


def test_confidence_region_is_the_same_wherever_the_plane_is_seen_from():
    X, space = scenario.sample("inside", 1500, 0), scenario.PLANE
    here = tmsm.ScoreMatching(scenario.MODEL, scenario.BALL).fit(X).confidence_region("mean")
    origin = np.array([[-4.0, 3.0]])

    def moved(points):
        return space.seen_from(np.broadcast_to(origin, points.shape), points)

    ball = tmsm.GeodesicBall(space, moved(scenario.CENTRE[None, :])[0], scenario.BALL.radius)
    there = tmsm.ScoreMatching(scenario.MODEL, ball).fit(moved(X)).confidence_region("mean")
    np.testing.assert_allclose(there.half_axes, here.half_axes, rtol=1e-3)
    ring = there.contains(
        moved(
            space.exponential(
                np.broadcast_to(here.estimate, (60, 2)),
                space.logarithm(np.broadcast_to(here.estimate, (60, 2)), here.rings[0][::3])
                * np.tile([0.97, 1.03], 30)[:, None],
            )
        )
    )
    np.testing.assert_array_equal(ring, np.tile([True, False], 30))


def test_likelihoods_agree_with_score_matching():
    X, theta = scenario.sample("border", 3000, 1), scenario.theta("border")
    exact = tmsm.TruncatedMLE(scenario.MODEL, scenario.BALL).fit(X)
    refined = tmsm.ScoreMatching(scenario.MODEL, scenario.BALL, refine="mle").fit(X)
    np.testing.assert_allclose(refined.natural_params_, exact.natural_params_, atol=0.02)
    assert (np.abs(exact.natural_params_ - theta) < 4 * np.sqrt(np.diag(exact.covariance_))).all()
    whole = scenario.MODEL.sample(3000, random_state=2, **scenario.truth("border"))
    naive = tmsm.NaiveMLE(scenario.MODEL).fit(whole)
    assert (np.abs(naive.natural_params_ - theta) < 4 * np.sqrt(np.diag(naive.covariance_))).all()
    # On truncated rows the estimator that ignores the border fails.
    cut = tmsm.NaiveMLE(scenario.MODEL).fit(X)
    assert cut.params_.concentration > scenario.CONCENTRATION + 10 * cut.std_errors_.concentration


def test_a_mean_far_out_has_a_summary():
    """Rays that are followed without end once ended where coordinates are no numbers."""
    model, ball = tmsm.models.HyperboloidDistribution(), tmsm.GeodesicBall(tmsm.Hyperbolic(2), [0.1, 0.0], 0.8)
    X = model.sample(1500, ball, random_state=3, mean=[1.3, 0.3], concentration=3.0)
    fit = tmsm.ScoreMatching(model, ball).fit(X)
    assert "The data do not determine a centre" in fit.status_
    assert "mean" in fit.summary()
