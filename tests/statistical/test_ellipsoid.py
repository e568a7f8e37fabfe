"""Score matching on a manifold, in a region and for a family that are all given by formulas."""

import numpy as np
import pytest

import tmsm
from scenarios import ellipsoid
from tmsm import weights
from tmsm.regions import BorderView

pytestmark = pytest.mark.statistical
CASES = pytest.mark.parametrize(
    ("statistics", "border"),
    [(t, h) for t in (ellipsoid.linear, ellipsoid.quadratic) for h in (ellipsoid.flat, ellipsoid.wavy)],
)


def test_draws_on_the_ellipsoid_are_uniform():
    X = ellipsoid.uniform(100_000, np.random.default_rng(0))
    assert ellipsoid.surface().contains(X).all()
    # By the divergence theorem ∫ Δx_j x_j + |P e_j|² = 0 over a closed surface.
    first = ellipsoid.surface().coordinate_laplacian(X) * X
    second = np.einsum("njj->nj", ellipsoid.surface().tangent_map(X))
    total = first + second
    assert (np.abs(total.mean(0)) < 4 * total.std(0) / np.sqrt(len(X))).all()
    skewed = total[X[:, 0] > 0.5]
    assert np.abs(skewed.mean(0) / skewed.std(0)).max() * np.sqrt(len(skewed)) > 20


@CASES
def test_equations_are_zero_on_average_at_the_truth(statistics, border):
    X = ellipsoid.sample(20_000, statistics, border, 3)
    model, region, theta = ellipsoid.model(statistics), ellipsoid.region(border), ellipsoid.TRUTH[statistics]

    def standardised(weight):
        field = weight.field(BorderView(region, X))
        e = model.weighted_hessian(X, field.isotropic, field.tensor_directions)
        e = e + model.gradient_dot(X, field.flux(model.log_gradient(X, theta)))
        return e.mean(0) / e.std(0) * np.sqrt(len(X))

    view = BorderView(region, X)
    for weight in (weights.Distance("geodesic"), weights.Saturating(), weights.Constraints()):
        assert np.abs(standardised(weight.resolve(view))).max() < 3.5
    assert np.abs(standardised(weights.Constant())).max() > 30  # the border is ignored


@CASES
def test_estimates_are_within_their_errors_and_fail_where_the_border_is_ignored(statistics, border):
    X, theta = ellipsoid.sample(3000, statistics, border, 11), ellipsoid.TRUTH[statistics]
    model, region = ellipsoid.model(statistics), ellipsoid.region(border)

    def squared(fit):
        away = fit.natural_params_ - theta
        return away @ np.linalg.solve(fit.covariance_, away)

    for weight in ("geodesic", "saturating", "auto"):
        # χ² with p degrees of freedom: below p + 4 √(2p) but for one in some thousands.
        assert squared(tmsm.ScoreMatching(model, region, weight).fit(X)) < len(theta) + 4 * np.sqrt(2 * len(theta))
    assert squared(tmsm.ScoreMatching(model, tmsm.Everywhere(ellipsoid.surface())).fit(X)) > 200
