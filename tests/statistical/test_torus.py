"""Several angles that were seen inside a box: the settings of the study of weights, means inside and outside."""

import numpy as np
import pytest

import tmsm
from scenarios.torus import BOX, SETTINGS, pair
from tests.registry import chosen
from tmsm import weights
from tmsm.data.rows import Rows
from tmsm.matching.moments import accumulate
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.solve import solve
from tmsm.models import CosineVonMises, TrigonometricFamily
from tmsm.models.torus_orbits import TorusPoint


def setting(name):
    truth, box = SETTINGS[name]
    return tmsm.SineVonMises(), box, truth


def standardised(fit, truth):
    """Deviations of the estimates from the truth in standard errors, of all entries that are free."""
    z = []
    for name, value in truth.items():
        error = np.asarray(fit.std_errors_[name])
        free = error > 0.0
        z.append(((np.asarray(fit.params_[name]) - value)[free] / error[free]).ravel())
    return np.concatenate(z)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_truth_is_within_its_errors_and_the_naive_likelihood_is_not(name):
    model, box, truth = setting(name)
    X = model.sample(20_000, box, random_state=1, **truth)
    single = chosen(weights.Auto(combine=False), box, X[:1000])
    assert np.abs(standardised(tmsm.ScoreMatching(model, box, single).fit(X), truth)).max() < 3.6
    assert np.abs(standardised(tmsm.NaiveMLE(model).fit(X), truth)).max() > 20


@pytest.mark.parametrize("family", [CosineVonMises(), TrigonometricFamily(2)], ids=repr)
def test_other_families_are_found_in_a_box(family):
    torus = tmsm.Torus(2)
    truth = {"mean_angles": [0.8, 0.2], "concentration": [2.0, 2.0], "interaction": pair(-1.5)}
    if "coefficients" in [field.name for field in family.fields]:
        truth = {"coefficients": np.array([1.0, 0.5, -0.4, 0.3, 0.2, 0.6, -0.3, 0.4, 0.1, -0.2, 0.3, 0.5])}
    X = family.sample(20_000, BOX, random_state=2, **truth)
    fit = tmsm.ScoreMatching(family.on(torus), BOX, weights.Auto(combine=False)).fit(X)
    assert np.abs(standardised(fit, truth)).max() < 3.6
    wrong = tmsm.ScoreMatching(family.on(torus), tmsm.Everywhere(torus)).fit(X)
    assert np.abs(standardised(wrong, truth)).max() > 20


def test_stated_errors_are_those_of_repeated_samples():
    model, box, truth = setting("inside")
    n, repeats = 2000, 60
    X = model.sample(n * repeats, box, random_state=5, **truth)
    single = chosen(weights.Auto(combine=False), box, X[:1000])
    z = np.array(
        [standardised(tmsm.ScoreMatching(model, box, single).fit(part), truth) for part in np.split(X, repeats)]
    )
    spread = np.sqrt((z**2).mean(axis=0))
    assert (spread > 0.7).all()
    assert (spread < 1.35).all()


@pytest.mark.parametrize("name", ["corner", "three angles"])
def test_the_search_finds_what_many_starts_find(name):
    model, box, truth = setting(name)
    torus = box.manifold
    bound, d, n = model.on(torus), torus.dim, 300
    constraint = bound.constraint
    X = model.sample(n * 8, box, random_state=11, **truth)
    weight = chosen(weights.Auto(combine=False), box, X)
    for part in np.split(X, 8):
        moments = accumulate(OneWeight(bound, weight), Rows.of(part, box))
        A, b = moments.A, moments.b

        def value(theta, A=A, b=b):
            return theta @ A @ theta + 2.0 * b @ theta

        found = solve(constraint, A, b)
        assert constraint.allows(found.theta)
        # Shapes with a positive matrix M = LLᵀ and means all over the torus, each improved by its best scale.
        rng = np.random.default_rng(0)
        for _ in range(300):
            root = np.tril(rng.normal(size=(d, d)))
            shape = np.tensordot(constraint.to_shape, root @ root.T, axes=2)
            theta = TorusPoint(constraint, rng.uniform(-np.pi, np.pi, d), shape).theta
            theta = theta * max(-(b @ theta) / (theta @ A @ theta), 0.0)
            assert value(found.theta) <= value(theta) + 1e-9


def test_resampled_angles_do_not_jump_at_a_half_turn():
    model, box = tmsm.SineVonMises(), tmsm.AngleBox([2.0, -1.2], [-2.0, 1.0])
    truth = {"mean_angles": [np.pi - 0.01, -0.3], "concentration": [3.0, 2.0], "interaction": pair(1.2)}
    X = model.sample(4000, box, random_state=3, **truth)
    fit = tmsm.ScoreMatching(model, box, weights.Auto(combine=False)).fit(X)
    again = fit.bootstrap(X, 60, random_state=0, n_jobs=1)
    assert np.ptp(again.params.mean_angles[:, 0]) > 6.0  # it does wrap
    np.testing.assert_allclose(again.std_errors.mean_angles, fit.std_errors_.mean_angles, rtol=0.4)
    low, high = again.confidence_interval().mean_angles
    assert (high - low < 0.5).all()
    assert (np.abs(0.5 * (low + high) - fit.params_.mean_angles) < 0.1).all()


def test_intervals_of_angles_in_a_product_are_profiles_too():
    truth, box = SETTINGS["edge"]
    model = tmsm.SineVonMises()
    X = model.sample(1500, box, random_state=1, **truth)
    y = np.abs(np.random.default_rng(0).normal(1.0, 1.0, (1500, 1)))
    both = tmsm.ScoreMatching(model * tmsm.MultivariateNormal(), box * tmsm.Box([0.0], [np.inf])).fit(np.hstack([X, y]))
    wald, profile = (both.confidence_interval(method=method).mean_angles for method in ("wald", "profile"))
    assert np.abs(profile[1] - wald[1]).max() > 0.05
    assert all(
        low <= angle <= high for low, angle, high in zip(profile[0], truth["mean_angles"], profile[1], strict=True)
    )
