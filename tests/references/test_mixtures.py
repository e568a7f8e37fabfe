"""Mixtures against closed forms, differences and integrals that are computed another way."""

import pickle

import numpy as np
import pytest
from scipy.stats import kstest

import tmsm
from tests.registry import unit
from tmsm.data.rows import Rows
from tmsm.matching.density_likelihood import TruncatedDensity
from tmsm.models import NonlinearModel

CAP = tmsm.Cap([0.0, 0.0, 1.0], 0.6)
CENTRES = np.array([unit(0.1, 0.2, 1.0), unit(-0.5, -0.1, 1.0)])
TWO = {"shares": [0.6, 0.4], "mean_direction": CENTRES, "concentration": [60.0, 40.0]}
OVALS = {
    **TWO,
    "concentration": [12.0, 9.0],
    "major_axis": [unit(*np.cross(CENTRES[0], [1.0, 0.3, 0.0])), -unit(*np.cross(CENTRES[1], [0.2, 1.0, 0.0]))],
    "ovalness": [3.0, 2.0],
}
NORMALS = {
    "shares": [0.3, 0.5, 0.2],
    "mean": [[0.0, 0.0], [2.0, 1.0], [-1.0, 3.0]],
    "covariance": [np.eye(2), [[2.0, 0.3], [0.3, 1.0]], 0.5 * np.eye(2)],
}


def bound(model, params, manifold):
    return model.on(manifold), params


CASES = {
    "von Mises–Fisher": lambda: bound(tmsm.Mixture(tmsm.VonMisesFisher(), 2), TWO, tmsm.Sphere(2)),
    "known concentration": lambda: bound(
        tmsm.Mixture(tmsm.VonMisesFisher(concentration=30.0), 2),
        {"shares": TWO["shares"], "mean_direction": CENTRES},
        tmsm.Sphere(2),
    ),
    "Kent": lambda: bound(tmsm.Mixture(tmsm.Kent(), 2), OVALS, tmsm.Sphere(2)),
    "normal": lambda: bound(tmsm.Mixture(tmsm.MultivariateNormal(), 3), NORMALS, tmsm.Euclidean(2)),
    "background": lambda: (
        tmsm.Mixture(tmsm.VonMisesFisher(), 2, background=True).in_region(CAP),
        {**TWO, "shares": [0.3, 0.5], "background_share": 0.2},
    ),
}


@pytest.fixture(params=CASES, ids=str)
def case(request):
    model, params = CASES[request.param]()
    return model, params, model.natural_parameters(**params)


def forms(model, params, theta):
    """The model as it is, and about some rows."""
    region = CAP if model.has_background else None
    X = model.sample(300, region, random_state=0, **params)
    form = model.centred(X)
    return X, [(model, theta), (form, form.natural_parameters(**params))]


def test_names_lead_to_parameters_and_back(case):
    model, params, theta = case
    flat = model.parameters(theta)
    assert list(flat) == [field.name for field in model.fields]
    shown = model.presented(flat)
    for name, value in params.items():
        np.testing.assert_allclose(shown[name], value, atol=1e-9)
    for again in (flat, shown):
        np.testing.assert_allclose(model.natural_parameters(**again), theta, rtol=1e-9, atol=1e-9)


def test_derivatives_in_the_parameters_agree_with_differences(case):
    model, params, theta = case
    X, both = forms(model, params, theta)
    weight = np.random.default_rng(1).standard_normal(len(X))
    h = 1e-5
    for form, at in both:
        s = form.tangent(at).statistics(X)
        for j, step in enumerate(h * np.eye(form.size)):
            slope = (form.log_kernel(X, at + step) - form.log_kernel(X, at - step)) / (2 * h)
            np.testing.assert_allclose(s[:, j], slope, atol=1e-6)
        plain = NonlinearModel.curvature_sum(form, X, weight, at)
        np.testing.assert_allclose(form.curvature_sum(X, weight, at), plain, atol=1e-5 * np.abs(plain).max())
        fast, slow = form.on_points(X), NonlinearModel.on_points(form, X)
        np.testing.assert_allclose(fast.log_kernel(at), form.log_kernel(X, at), atol=1e-10)
        for squares in (True, False):
            for a, b in zip(fast.moments(at, weight, squares), slow.moments(at, weight, squares), strict=True):
                np.testing.assert_allclose(a, b, atol=1e-9 * max(np.abs(b).max(), 1.0))


def test_derivatives_of_the_whole_integral_and_of_named_parameters(case):
    model, params, theta = case
    _, both = forms(model, params, theta)
    for form, at in both:
        value, slope, bend = form.whole_integral(at)
        assert value == pytest.approx(form.log_normaliser(at))
        jacobian = form.parameter_jacobian(at)
        for direction in form.constraint.tangent(at).T:
            h = 1e-6 * np.linalg.norm(at)
            ahead, behind = (form.whole_integral(at + sign * h * direction) for sign in (1, -1))
            assert slope @ direction == pytest.approx((ahead[0] - behind[0]) / (2 * h), abs=1e-6)
            np.testing.assert_allclose(bend @ direction, (ahead[1] - behind[1]) / (2 * h), atol=1e-5)
            ahead, behind = (form.parameters(at + sign * h * direction) for sign in (1, -1))
            for name in ahead:
                change = (np.ravel(ahead[name]) - np.ravel(behind[name])) / (2 * h)
                np.testing.assert_allclose(jacobian[name] @ direction, change, atol=1e-6)


def test_forms_are_the_same_densities(case):
    model, params, theta = case
    X, ((_, _), (form, at)) = forms(model, params, theta)
    np.testing.assert_allclose(form.to_original() @ at, theta, atol=1e-6 * np.abs(theta).max())
    apart = form.log_kernel(X, at) - model.log_kernel(X, theta)
    assert np.ptp(apart) < 1e-8
    for one in (model, form):
        assert pickle.loads(pickle.dumps(one)) == one
        assert type(one).from_arguments(**one.to_arguments()) == one
    assert form != model


def test_a_mixture_is_the_sum_of_its_components():
    model, _ = CASES["von Mises–Fisher"]()
    X = model.sample(200, CAP, random_state=0, **TWO)
    parts = np.array(
        [
            share * np.exp(tmsm.VonMisesFisher().logpdf(X, mean_direction=mu, concentration=kappa))
            for share, mu, kappa in zip(*TWO.values(), strict=True)
        ]
    )
    np.testing.assert_allclose(model.logpdf(X, **TWO), np.log(parts.sum(axis=0)), atol=1e-10)
    np.testing.assert_allclose(model.posterior_shares(X, **TWO), (parts / parts.sum(axis=0)).T, atol=1e-10)
    # Normalised over the cap by the share of each component there.
    seen = [
        np.exp(tmsm.VonMisesFisher().log_mass(CAP, mean_direction=mu, concentration=kappa).value)
        for mu, kappa in zip(CENTRES, TWO["concentration"], strict=True)
    ]
    mass = float(np.dot(TWO["shares"], seen))
    np.testing.assert_allclose(model.logpdf(X, CAP, **TWO), np.log(parts.sum(axis=0) / mass), atol=1e-5)


def test_a_background_is_uniform_and_has_its_share_of_the_rows():
    model = tmsm.Mixture(tmsm.VonMisesFisher(), 1, background=True)
    params = {"shares": [0.6], "background_share": 0.4, "mean_direction": CENTRES[:1], "concentration": [60.0]}
    X = model.sample(20_000, CAP, random_state=0, **params)
    alone = {"mean_direction": CENTRES[0], "concentration": 60.0}
    inside = np.exp(tmsm.VonMisesFisher().log_mass(CAP, **alone).value)
    area = 2 * np.pi * (1 - np.cos(0.6))
    density = 0.6 * np.exp(tmsm.VonMisesFisher().logpdf(X, **alone)) + 0.4 / area
    np.testing.assert_allclose(model.logpdf(X, CAP, **params), np.log(density / (0.6 * inside + 0.4)), atol=1e-5)
    # Far from the cluster there is hardly anything else.
    far = tmsm.Cap(unit(0.3, -0.35, 1.0), 0.1)
    expected = 0.4 * (1 - np.cos(0.1)) / (1 - np.cos(0.6)) / (0.6 * inside + 0.4)
    expected += 0.6 * np.exp(tmsm.VonMisesFisher().log_mass(far, **alone).value) / (0.6 * inside + 0.4)
    found = float(far.contains(X).mean())
    assert found == pytest.approx(expected, abs=4 * np.sqrt(expected / len(X)))
    assert model.log_mass(CAP, **params).value == pytest.approx(np.log(0.6 * inside + 0.4), abs=1e-5)


@pytest.mark.parametrize("radius", [0.003, 0.3])
def test_the_background_of_a_park_is_drawn_as_well_as_that_of_a_continent(radius):
    park = tmsm.Cap(unit(0.3, -0.35, 1.0), radius)
    only = tmsm.Mixture(tmsm.VonMisesFisher(), 1, background=True)
    none = {"shares": [1e-9], "background_share": 1.0 - 1e-9, "mean_direction": CENTRES[:1], "concentration": [60.0]}
    X = only.sample(4000, park, random_state=0, **none)
    # Areas of the caps round the centre through each row: uniform between zero and that of the park.
    area = np.sin(0.5 * tmsm.Sphere(2).geodesic_distance(X, np.tile(park.center, (4000, 1)))) ** 2
    assert kstest(area / np.sin(0.5 * radius) ** 2, "uniform").pvalue > 0.01
    around = np.arctan2(X @ tangent(park.center, 0), X @ tangent(park.center, 1))
    assert kstest((around + np.pi) / (2 * np.pi), "uniform").pvalue > 0.01
    sloping = tmsm.Mixture(tmsm.VonMisesFisher(), 1, background=lambda X: X @ tangent(park.center, 0) / radius)
    Y = sloping.sample(4000, park, random_state=0, **none)
    ahead, expected = Y @ tangent(park.center, 0) / radius, X @ tangent(park.center, 0) / radius
    weight = np.exp(expected)
    assert ahead.mean() == pytest.approx(np.average(expected, weights=weight), abs=0.05)
    assert ahead.mean() > 0.15 > abs(expected.mean())


def tangent(center, k):
    return tmsm.Sphere(2).tangent_frame(np.asarray(center)[None, :])[k][0]


def test_one_component_is_the_family_itself():
    X = tmsm.VonMisesFisher().sample(800, CAP, random_state=0, mean_direction=CENTRES[1], concentration=20.0)
    models = tmsm.VonMisesFisher(), tmsm.Mixture(tmsm.VonMisesFisher(), 1)
    plain, mixed = (tmsm.TruncatedMLE(model, CAP).fit(X) for model in models)
    np.testing.assert_allclose(mixed.natural_params_, plain.natural_params_, rtol=1e-6)
    np.testing.assert_allclose(mixed.covariance_, plain.covariance_, rtol=1e-4)
    assert mixed.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-7)
    assert mixed.bic_ == pytest.approx(plain.bic_, abs=1e-2)
    ends = [[end] for end in plain.confidence_interval(method="profile").concentration]
    np.testing.assert_allclose(mixed.confidence_interval(method="profile").concentration, ends, rtol=1e-3)
    # The default, on the log scale, is next to it.
    np.testing.assert_allclose(mixed.confidence_interval().concentration, ends, rtol=0.01)


@pytest.mark.parametrize("name", CASES)
def test_the_likelihood_has_the_slope_and_bend_that_it_says(name):
    model, params = CASES[name]()
    region = tmsm.HalfSpace([1.0, 0.0], 0.0) if name == "normal" else CAP
    X = model.sample(400, region, random_state=0, **params)
    form = model.centred(X)
    theta = form.natural_parameters(**params)
    likelihood = TruncatedDensity(form, region, Rows.of(X, region)).near(theta)
    _, slope, bend = likelihood(theta)
    h = 1e-4 * form.parameter_sizes(theta)
    for j, unit_step in enumerate(np.eye(form.size)):
        ahead, behind = (likelihood(theta + sign * h[j] * unit_step) for sign in (1, -1))
        assert slope[j] == pytest.approx((ahead[0] - behind[0]) / (2 * h[j]), abs=1e-6 * max(1.0, 1e-4 / h[j]))
        np.testing.assert_allclose(bend[j], (ahead[1] - behind[1]) / (2 * h[j]), atol=1e-4 * np.abs(bend).max())


def test_em_does_not_move_the_maximum():
    """At the maximum the rows and the fitted density agree in their posterior shares and in the means within each."""
    model = tmsm.Mixture(tmsm.VonMisesFisher(), 2)
    X = model.sample(1500, CAP, random_state=3, **TWO)
    fit = tmsm.TruncatedMLE(model, CAP).fit(X)
    Y = fit.result_.model.sample(200_000, CAP, random_state=4, **fit.params_)
    ours, theirs = fit.posterior_shares(X), fit.posterior_shares(Y)
    spread = theirs.std() / np.sqrt(len(Y))
    np.testing.assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), atol=5 * spread)
    for k in range(2):
        np.testing.assert_allclose((ours[:, k] @ X) / len(X), (theirs[:, k] @ Y) / len(Y), atol=5 / np.sqrt(len(Y)))
